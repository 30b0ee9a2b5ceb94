package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) dbCommand() *cobra.Command {
	subs := []*cobra.Command{
		a.dbStatsCommand(),
		withText(&cobra.Command{
			Use: "check [FILE]", Short: "Look for damage in the store, or in a backup", Args: rangeArgs(0, "FILE"),
			Long: "Check reads all of the store: its pages, the checksum of every record, the indexes and what they refer to.\n" +
				"It changes nothing. While a process owns the store, a copy made by it is checked. Damage exits with 76.",
			Example: "  flowrun db check\n  flowrun db check backups/before-upgrade.db",
			RunE:    func(c *cobra.Command, args []string) error { return a.checkDB(c.Context(), argument(args, 0)) },
		}),
		withText(&cobra.Command{
			Use: "backup [FILE|FOLDER]", Short: "Write a copy of the store, while runs go on", Args: rangeArgs(0, "FILE"),
			Long: "Backup writes a copy that holds all that was acknowledged before, checks it, and writes its SHA-256 beside\n" +
				"it. It never overwrites. Without a name the copy goes to the folder backups of the state folder, with the\n" +
				"time in its name. The key file is not part of it: keep it apart, for without it the logins and secrets of\n" +
				"the backup stay sealed.",
			Example: "  flowrun db backup\n  flowrun db backup /mnt/backups\n  flowrun db backup before-upgrade.db",
			RunE:    func(c *cobra.Command, args []string) error { return a.backupDB(c.Context(), argument(args, 0)) },
		}),
		withText(&cobra.Command{
			Use: "restore FILE", Short: "Put a backup in the place of the store", Args: exactArgs("FILE"),
			Long: "Restore checks a backup and puts it in the place of the store; the store that was there is kept beside, with\n" +
				".bak at its name. Nothing may run. Runs that had not ended when the backup was made are paused: what they\n" +
				"did afterwards is not known. It works in another state folder and on another machine too; there the key\n" +
				"file must be put beside the store.",
			Example: "  flowrun db restore .flowrun/state/backups/flowrun-20260301T090000Z.db\n  flowrun db restore /mnt/backups/flowrun.db --state /srv/flowrun",
			RunE:    func(c *cobra.Command, args []string) error { return a.restoreDB(c.Context(), args[0]) },
		}),
		withText(&cobra.Command{
			Use: "compact", Short: "Give the free room inside the store's file back", Args: exactArgs(),
			Example: "  flowrun db compact",
			Long: "Compact writes the store anew without its free room, checks it, and puts it in the place of the old one.\n" +
				"Nothing may run. Without it free room is used again by later runs.",
			RunE: func(c *cobra.Command, _ []string) error { return a.compactDB(c.Context()) },
		}),
	}
	for _, sub := range subs {
		a.sandboxFlag(sub, "the store of the sandbox")
	}
	return listGroup(&cobra.Command{Use: "db", Short: "The store: check, back up, restore, make smaller, look inside"}, subs)
}

// noDB is the refusal where there is no store.
func (a *app) noDB(err error) error {
	return a.notYet(err, "there is no store yet: nothing has run here")
}

func (a *app) dbStatsCommand() *cobra.Command {
	var by string
	c := &cobra.Command{
		Use: "stats", Short: "Show what the store holds and what room it has, or who takes it", Args: exactArgs(),
		Example: "  flowrun db stats\n  flowrun db stats --by plugin",
		RunE: func(c *cobra.Command, _ []string) error {
			if by != "" || c.Flags().Changed("by") {
				return a.dbOwners(c.Context(), by)
			}
			return a.dbStats(c.Context())
		},
	}
	c.Flags().StringVar(&by, "by", "", "who takes the room, by "+strings.Join(upkeep.DBOwnerKinds(), ", "))
	completeFlag(c, "by", upkeep.DBOwnerKinds()...)
	return withText(c)
}

func (a *app) dbOwners(ctx context.Context, by string) error {
	if kinds := upkeep.DBOwnerKinds(); !slices.Contains(kinds, by) {
		return usageError(fmt.Errorf("--by takes %s, not %q", strings.Join(kinds, ", "), by), diag.DidYouMean(by, kinds).Text)
	}
	owners, err := ask(ctx, a, func(c *web.Client) ([]upkeep.DBOwner, error) { return c.DBOwners(ctx, by) })
	return printList(a, owners, a.noDB(err), "nothing is stored yet", func(page view.Page, out io.Writer, owners []upkeep.DBOwner) { page.DBOwners(out, by, owners) })
}

func (a *app) dbStats(ctx context.Context) error {
	stats, err := ask(ctx, a, func(c *web.Client) (*upkeep.DBStats, error) { return c.DBStats(ctx) })
	return a.tell(stats, a.noDB(err), func() { a.printStats(stats) })
}

func (a *app) printStats(stats *upkeep.DBStats) {
	stats.Path = a.shown(stats.Path)
	if stats.LastBackup != nil {
		stats.LastBackup.Path = a.shown(stats.LastBackup.Path)
	}
	a.page(a.sys.Stdout).DBStats(a.sys.Stdout, stats)
	if stats.Pressure != "" {
		a.note("no run is accepted: %s", stats.Pressure)
	}
	if stats.Kernel != "" {
		a.note("%s", stats.Kernel)
	}
	switch {
	case stats.LastBackup == nil:
		a.next("back it up:", "db", "backup")
	case stats.FreeBytes > stats.FileBytes/2 && stats.FreeBytes > 64<<20:
		a.next("give free room back, when nothing runs:", "db", "compact")
	}
}

func (a *app) backupDB(ctx context.Context, path string) error {
	if path != "" {
		path = a.abs(path)
	}
	report, err := long(ctx, a, "writing and checking the backup", func(ctx context.Context) (*upkeep.BackupReport, error) {
		return ask(ctx, a, func(c *web.Client) (*upkeep.BackupReport, error) {
			return c.Backup(ctx, upkeep.BackupRequest{Path: path})
		})
	})
	return a.tell(report, inputAsUsage(a.noDB(err)), func() {
		a.say("backup %s", a.shown(report.Path))
		a.say("%s, sha256 %s", view.Size(report.Bytes), report.SHA256)
		if report.LargeValues > 0 {
			a.say("%s (%s) in %s: keep the folder with the file", diag.Count(report.LargeValues, "large value"), view.Size(report.LargeBytes), a.shown(report.Path+".blobs"))
		}
		if report.Sealed > 0 {
			a.note("the key file is not part of it: keep %s apart; without it the %s in the backup stay sealed (logins, secrets, plugin state)",
				a.shown(report.KeyFile), diag.Count(report.Sealed, "sealed value"))
		} else {
			a.note("the key file is not part of it: keep %s apart", a.shown(report.KeyFile))
		}
		a.next("to go back to it, when nothing runs:", "db", "restore", a.shown(report.Path))
	})
}

// The times at which a long command says that it still works.
const (
	workingFirst = 2 * time.Second
	workingEvery = 10 * time.Second
)

// long does what may take long: it says now and then that it still works, and
// Ctrl-C ends it in good order, a second one at once.
func long[T any](ctx context.Context, a *app, what string, work func(context.Context) (T, error)) (result T, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals, stop := a.sys.Signals()
	done := make(chan struct{})
	begun := a.sys.Now()
	go func() {
		defer close(done)
		result, err = work(ctx)
	}()
	interrupted := 0
	for wait := workingFirst; ; wait = workingEvery {
		select {
		case <-done:
			stop()
			if interrupted > 0 && errors.Is(err, context.Canceled) {
				err = &codedError{code: interrupted, err: fmt.Errorf("interrupted while %s", what)}
			}
			return result, err
		case signal := <-signals:
			interrupted = exitOfSignal(signal)
			cancel()
			stop() // the next one has its usual effect
		case <-time.After(wait):
			a.note("%s: %s so far", what, duration.Brief(a.sys.Now().Sub(begun)))
		}
	}
}

// alone runs work on a store file that nobody may have open meanwhile. A process
// that only looks gives it back soon and is waited for. Where one owns it for
// longer, who it is and the client of its API are returned: no client where it
// does not answer, which is an error.
func (a *app) alone(ctx context.Context, at place, work func(workspace.Config) error) (*web.Owner, *web.Client, error) {
	config := a.engineConfig(at)
	for deadline := a.sys.Now().Add(connectFor); ; {
		err := work(config)
		var locked *fault.LockedError
		if !errors.As(err, &locked) {
			return nil, nil, err
		}
		if client, owner, err := web.Dial(ctx, at.stateDir); err == nil {
			return owner, client, nil
		}
		if a.sys.Now().After(deadline) {
			return nil, nil, lockedError(locked)
		}
		select {
		case <-time.After(connectStep):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// busyError refuses what needs a store that nobody has open.
func (a *app) busyError(at place, owner *web.Owner, what string) error {
	return &codedError{
		code: exitLocked, err: fmt.Errorf("%s: process %d owns the store %s", what, owner.PID, storePath(at)),
		hint: fmt.Sprintf("let it end, or stop it (Ctrl-C there, or `kill %d`: its runs can be resumed), then try again", owner.PID),
	}
}

// shown is how a path is printed: from the working directory on, where it lies
// in it.
func (a *app) shown(path string) string {
	return safePath(a.shownPath(path))
}

func storePath(at place) string { return filepath.Join(at.stateDir, workspace.StoreFile) }

// exists reports whether there is something of that name; what else is wrong
// with it is told by whoever opens it.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}
