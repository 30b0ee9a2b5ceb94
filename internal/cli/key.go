package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) keyCommand() *cobra.Command {
	return group(&cobra.Command{Use: "key", Short: "The key that seals logins, secrets and plugin state in the store"},
		a.inSandbox("the key of the sandbox",
			withText(&cobra.Command{
				Use: "check", Short: "Look whether the key file opens every sealed value", Args: exactArgs(),
				Example: "  flowrun key check",
				Long: "Check opens every login, secret, secret output and plugin state of the store, and names those that the key\n" +
					"file does not open: it is another store's then, or an old one. That exits with 76. No value is shown.",
				RunE: func(c *cobra.Command, _ []string) error { return a.checkKey(c.Context()) },
			}),
			withText(&cobra.Command{
				Use: "rotate", Short: "Exchange the key, and seal every value anew", Args: exactArgs(),
				Example: "  flowrun key rotate",
				Long: "Rotate puts a new key in the place of the old one and seals every value anew, while runs go on. An\n" +
					"interrupted rotation loses nothing, and the next one finishes it. The old key is kept in a file beside:\n" +
					"backups from before need it. Remove it when you need them no more.",
				RunE: func(c *cobra.Command, _ []string) error { return a.rotateKey(c.Context()) },
			}),
		)...)
}

func (a *app) checkKey(ctx context.Context) error {
	report, err := ask(ctx, a, func(c *web.Client) (*services.KeyReport, error) { return c.CheckKey(ctx) })
	err = a.tell(report, a.noDB(err), func() {
		report.File = a.shown(report.File)
		a.page(a.sys.Stdout).KeyReport(a.sys.Stdout, report)
		switch {
		case len(report.Lost) > 0:
			a.note("put the key file back that belongs to this store, or log in and set the secrets anew")
		case report.Keys > 1:
			a.note("a rotation was interrupted: the key file holds %d keys", report.Keys)
			a.next("finish it:", "key", "rotate")
		}
	})
	if err == nil && len(report.Lost) > 0 {
		return exitWith(exitStoreCorrupt)
	}
	return err
}

func (a *app) rotateKey(ctx context.Context) error {
	rotation, err := long(ctx, a, "sealing every value anew", func(ctx context.Context) (*services.KeyRotation, error) {
		return ask(ctx, a, func(c *web.Client) (*services.KeyRotation, error) { return c.RotateKey(ctx) })
	})
	return a.tell(rotation, a.notYet(err, "there is no key yet: nothing has run here"), func() {
		if rotation.Continued {
			a.note("a rotation that was interrupted is finished")
		}
		a.say("rotated %s: %s sealed anew", a.shown(rotation.File), diag.Count(rotation.Values, "value"))
		if len(rotation.Removed) > 0 {
			a.note("%s of still older keys removed: the newest three are kept", diag.Count(len(rotation.Removed), "file"))
		}
		a.note("the old key is kept in %s: backups from before need it; remove it when you need them no more", a.shown(rotation.OldKey))
		a.next("back up under the new key:", "db", "backup")
	})
}
