package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) secretsCommand() *cobra.Command {
	return listGroup(&cobra.Command{Use: "secrets", Short: "The secrets: where they come from, who needs them, store, remove"},
		a.inSandbox("the secrets of the sandbox, which has its own",
			withText(&cobra.Command{
				Use: "list", Short: "List the secrets, where they come from and who uses them", Args: exactArgs(),
				Example: "  flowrun secrets\n  flowrun secrets list -o json",
				Long: "List shows names, never values: of secrets in the environment (FLOWRUN_SECRET_NAME), in the store, and of\n" +
					"those that nobody has set and that a connection, a target of messages, a webhook, a poll or a step names.",
				RunE: func(c *cobra.Command, _ []string) error { return a.listSecrets(c.Context()) },
			}),
			a.secretsSetCommand(),
			withText(&cobra.Command{
				Use: "rm NAME", Short: "Remove a stored secret", Args: exactArgs("NAME"),
				Example: "  flowrun secrets rm TASKS_TOKEN",
				RunE:    func(c *cobra.Command, args []string) error { return a.removeSecret(c.Context(), args[0]) },
			}),
		))
}

func (a *app) listSecrets(ctx context.Context) error {
	secrets, err := askOr(ctx, a, func(c *web.Client) ([]workspace.SecretInfo, error) { return c.Secrets(ctx) },
		func(project *workspace.Workspace) ([]workspace.SecretInfo, error) {
			return project.ListSecrets(ctx), nil
		})
	return printList(a, secrets, err, "no secrets; `"+a.commandText("secrets", "set", "NAME")+"` stores one", view.Page.Secrets)
}

// setFlags are the flags of secrets set.
type setFlags struct {
	file        string
	keepNewline bool
}

func (a *app) secretsSetCommand() *cobra.Command {
	flags := new(setFlags)
	c := &cobra.Command{
		Use: "set NAME", Short: "Store a secret, from a prompt, stdin or a file", Args: secretArgs,
		Long: "Set stores a value, sealed, for ${{ secrets.NAME }}. It asks for it on a terminal, without showing it, and\n" +
			"reads it from stdin or --from-file otherwise. One line feed at the end is no part of the value.",
		Example: "  flowrun secrets set TASKS_TOKEN\n  pass show tasks | flowrun secrets set TASKS_TOKEN\n  flowrun secrets set CLIENT_KEY --from-file key.pem --keep-newline",
		RunE:    func(c *cobra.Command, args []string) error { return a.setSecret(c.Context(), args[0], flags) },
	}
	c.Flags().StringVar(&flags.file, "from-file", "", "read the value from this file")
	c.Flags().BoolVar(&flags.keepNewline, "keep-newline", false, "keep the line feed at the end of what is read")
	c.SetFlagErrorFunc(func(_ *cobra.Command, _ error) error { // what is wrong may be the value
		return usageError(errors.New("secrets set has no such flag, or the flag lacks its value"), "its flags are --from-file, --keep-newline, --sandbox and -o; a value is never one")
	})
	return withText(c)
}

// secretArgs takes the name of a secret alone. What else stands there may be the
// value: it is not told again.
func secretArgs(_ *cobra.Command, args []string) error {
	const hint = "type it at the prompt, or pipe it: … | flowrun secrets set NAME; or name a file with --from-file"
	switch {
	case len(args) == 0:
		return usageError(errors.New("NAME is missing"), "usage: flowrun secrets set NAME")
	case len(args) > 1:
		return usageError(errors.New("a secret's value is not taken from the arguments: shells and process lists keep them"), hint)
	case strings.Contains(args[0], "="):
		return usageError(errors.New("a secret's value is not taken from the arguments, NAME=VALUE neither: shells and process lists keep them"), hint)
	case !workspace.ValidSecretName(args[0]):
		return usageError(errors.New("this is not the name of a secret"), "letters, digits and _, not beginning with a digit, such as TASKS_TOKEN")
	}
	return nil
}

func (a *app) setSecret(ctx context.Context, name string, flags *setFlags) error {
	value, err := a.readSecret(name, flags)
	if err != nil {
		return err
	}
	info, err := act(ctx, a, func(c *web.Client) (*workspace.SecretInfo, error) { return c.SetSecret(ctx, name, value) })
	return a.tell(info, err, func() {
		a.say("stored secret %s", name)
		a.secretNotes(info, value)
	})
}

// shortSecret is below what can be masked in logs: short texts stand in many
// places that are no secret.
const shortSecret = 6

func (a *app) secretNotes(info *workspace.SecretInfo, value string) {
	if first := slices.Index(info.Sources, services.SecretFromEnv); first == 0 {
		a.note("the environment variable of the same secret is set too, and counts before the store")
	}
	if len(value) < shortSecret {
		a.note("it has fewer than %d characters: it can't be masked where a service sends it back", shortSecret)
	}
}

// readSecret takes the value from --from-file, a prompt on a terminal, or stdin.
func (a *app) readSecret(name string, flags *setFlags) (string, error) {
	if flags.file == "" && term.IsTerminalInput(a.sys.Stdin) {
		return a.askSecret(name)
	}
	reader, from := a.sys.Stdin, "stdin"
	if flags.file != "" && flags.file != "-" {
		opened, err := os.Open(a.abs(flags.file))
		if err != nil {
			return "", usageError(fmt.Errorf("--from-file: %s can't be read: %w", safePath(flags.file), withoutPath(err)), "")
		}
		defer opened.Close()
		reader, from = opened, safePath(flags.file)
	}
	data, err := io.ReadAll(io.LimitReader(reader, engine.MaxSecret+2))
	if err != nil {
		return "", usageError(fmt.Errorf("%s can't be read: %w", from, withoutPath(err)), "")
	}
	if !flags.keepNewline {
		data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
	}
	if len(data) == 0 {
		return "", usageError(fmt.Errorf("%s holds no value", from), "pipe it: … | flowrun secrets set "+name+", or name a file with --from-file")
	}
	if len(data) > engine.MaxSecret {
		return "", usageError(fmt.Errorf("%s holds more than %d bytes", from, engine.MaxSecret), "")
	}
	if !utf8.Valid(data) { // on its way to the store it would be changed
		return "", usageError(fmt.Errorf("%s holds no UTF-8 text", from), "encode it as the service wants it, such as with base64")
	}
	return string(data), nil
}

// askHidden asks for a line on the terminal without showing it.
func (a *app) askHidden(text string) ([]byte, error) {
	signals, stop := a.sys.Signals()
	defer stop()
	line, signal, err := term.ReadPassword(a.sys.Stdin, a.sys.Stderr, text, signals)
	fmt.Fprintln(a.sys.Stderr)
	switch {
	case signal != nil:
		return nil, &codedError{code: exitOfSignal(signal), err: errSilent, silent: true}
	case errors.Is(err, io.EOF):
		return nil, usageError(errors.New("no value was given"), "")
	}
	return line, err
}

// askSecret asks twice, so that a slip is seen.
func (a *app) askSecret(name string) (string, error) {
	first, err := a.askHidden("value of " + name + " (not shown): ")
	if err != nil {
		return "", err
	}
	if len(first) == 0 {
		return "", usageError(errors.New("no value was given"), "")
	}
	second, err := a.askHidden("once more: ")
	if err != nil {
		return "", err
	}
	if !bytes.Equal(first, second) {
		return "", usageError(errors.New("the two values differ; nothing was stored"), "")
	}
	return string(first), nil
}

func (a *app) removeSecret(ctx context.Context, name string) error {
	if !workspace.ValidSecretName(name) {
		return notFoundError(errors.New("there is no such secret"), "`flowrun secrets` lists the secrets")
	}
	_, err := askOr(ctx, a, func(c *web.Client) (any, error) { return nil, c.RemoveSecret(ctx, name) },
		func(project *workspace.Workspace) (any, error) { return nil, project.UnknownSecret(name, nil) })
	return a.tell(map[string]string{"removed": name}, unknownAsNotFound(err), func() { a.say("removed secret %s", name) })
}
