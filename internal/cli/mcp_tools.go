package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/plugins/mcp"
	"github.com/flowrun/flowrun/sdk"
)

// toolsAsked is what `mcp tools` is given.
type toolsAsked struct {
	file, tokenEnv string
	env            []string // names of variables that the program gets
}

func (a *app) mcpToolsCommand() *cobra.Command {
	var asked toolsAsked
	c := &cobra.Command{
		Use: "tools URL | -- PROGRAM [ARGUMENT...]", Short: "Ask an MCP server for its tools, for the plugin mcp",
		Long: "Tools starts an MCP server, or reaches one, asks it for its tools, and writes them to a file: what the plugin\n" +
			"mcp makes actions of. Look at the file, name it in flowrun.yaml, and keep it under version control:\n" +
			"  plugins: {notes: {source: bundled:mcp, with: {tools: notes.tools.json}}}\n" +
			"The program runs with your rights, as any that you start; it gets PATH, HOME, TMPDIR, LANG and TZ, and the\n" +
			"variables that --env names.",
		Example: "  flowrun mcp tools --write notes.tools.json -- npx -y @example/notes-server\n" +
			"  flowrun mcp tools --write crm.tools.json --token-env CRM_TOKEN https://mcp.example.com/mcp",
		RunE: func(c *cobra.Command, args []string) error { return a.captureTools(c.Context(), args, asked) },
	}
	flags := c.Flags()
	flags.StringVar(&asked.file, "write", "", "write the tools to this file (default: print them)")
	flags.StringVar(&asked.tokenEnv, "token-env", "", "of a server at an address: the environment variable with its token")
	flags.StringSliceVar(&asked.env, "env", nil, "of a program: a variable of this environment that it gets")
	c.ValidArgsFunction = cobra.NoFileCompletions
	return c
}

func (a *app) captureTools(ctx context.Context, args []string, asked toolsAsked) error {
	config, err := a.serverAsked(args, asked)
	if err != nil {
		return err
	}
	tools, err := mcp.Capture(ctx, config, mcp.Options{Dir: a.sys.Dir, Environ: a.sys.Environ}, func(text string) { a.note("%s", sdk.Shown(text, 500)) })
	if err != nil {
		failure, is := errors.AsType[*sdk.Error](err)
		if !is {
			return fmt.Errorf("ask the server for its tools: %w", err)
		}
		hint := failure.Hint
		if failure.Code == sdk.CodeUnauthorized {
			hint = "name the variable with its token: --token-env NAME"
		}
		return &codedError{code: exitFailed, err: fmt.Errorf("ask the server for its tools: %s", failure.Message), hint: hint}
	}
	if asked.file == "" {
		_, err = a.sys.Stdout.Write(tools)
		return err
	}
	if err := os.WriteFile(a.abs(asked.file), tools, 0o644); err != nil { //nolint:gosec // a file of the project, for everybody who works on it
		return fmt.Errorf("write the tools: %w", err)
	}
	a.say("%s has the tools of the server", safePath(asked.file))
	return nil
}

// serverAsked is the server that the arguments name.
func (a *app) serverAsked(args []string, asked toolsAsked) (mcp.Config, error) {
	if len(args) == 0 {
		return mcp.Config{}, usageError(errors.New("the server is missing"), "name an address, or a program behind --")
	}
	variable := func(flag, name string) (string, error) {
		at := slices.IndexFunc(a.sys.Environ, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		if name == "" || at < 0 {
			return "", usageError(fmt.Errorf("--%s: the environment has no variable %q", flag, name), "")
		}
		return a.sys.Environ[at][len(name)+1:], nil
	}
	if strings.HasPrefix(args[0], "http://") || strings.HasPrefix(args[0], "https://") {
		config := mcp.Config{URL: args[0]}
		switch {
		case len(args) > 1:
			return config, usageError(fmt.Errorf("unexpected argument %q", args[1]), "a server at an address takes no arguments")
		case len(asked.env) > 0:
			return config, usageError(errors.New("--env is for a program"), "name the variable with the token: --token-env NAME")
		case asked.tokenEnv != "":
			token, err := variable("token-env", asked.tokenEnv)
			config.Token = token
			return config, err
		}
		return config, nil
	}
	if asked.tokenEnv != "" {
		return mcp.Config{}, usageError(errors.New("--token-env is for a server at an address"), "give a program its variables by name: --env NAME")
	}
	config := mcp.Config{Command: args, SecretEnv: map[string]string{}}
	for _, name := range asked.env {
		value, err := variable("env", name)
		if err != nil {
			return config, err
		}
		config.SecretEnv[name] = value
	}
	return config, nil
}
