package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/sandbox"
	"github.com/flowrun/flowrun/plugins/analytics"
	"github.com/flowrun/flowrun/plugins/auth"
	"github.com/flowrun/flowrun/plugins/dictionary"
	"github.com/flowrun/flowrun/plugins/exec"
	"github.com/flowrun/flowrun/plugins/files"
	"github.com/flowrun/flowrun/plugins/http"
	"github.com/flowrun/flowrun/plugins/mail"
	"github.com/flowrun/flowrun/plugins/mcp"
	"github.com/flowrun/flowrun/plugins/netinfo"
	"github.com/flowrun/flowrun/plugins/openapi"
	"github.com/flowrun/flowrun/plugins/tasks"
	"github.com/flowrun/flowrun/sdk"
)

// bundled returns the plugins that this binary serves when it is run again.
func bundled() map[string]func() *sdk.Plugin {
	return map[string]func() *sdk.Plugin{
		"analytics":  analytics.New,
		"auth":       auth.New,
		"dictionary": dictionary.New,
		"exec":       exec.New,
		"files":      files.New,
		"http":       http.New,
		"mail":       mail.New,
		"mcp":        newMCP,
		"netinfo":    netinfo.New,
		"openapi":    newOpenAPI,
		"tasks":      tasks.New,
	}
}

// newOpenAPI is the plugin openapi, whose simulator is this binary too.
func newOpenAPI() *sdk.Plugin {
	return openapi.NewWith(openapi.Options{Simulator: []string{"flowrun", "plugins", "simulate", "openapi"}})
}

// newMCP is the plugin mcp, whose simulator is this binary too.
func newMCP() *sdk.Plugin { return mcp.New("flowrun", "plugins", "simulate", "mcp") }

// simulate is `flowrun plugins simulate openapi SETTINGS` or `… mcp`, which a sandbox runs.
func simulate(args []string, system System) int {
	if len(args) == 1 && args[0] == "mcp" {
		if err := mcp.Simulate(system.Stdin, system.Stdout); err != nil {
			fmt.Fprintf(system.Stderr, "error: %v\n", err)
			return exitFailed
		}
		return exitOK
	}
	if len(args) != 2 || args[0] != "openapi" {
		fmt.Fprintln(system.Stderr, "error: plugins simulate takes mcp, or openapi and the settings of the plugin as JSON")
		return exitUsage
	}
	if err := sandbox.Simulate(context.Background(), args[1], system.Stdin, system.Stdout, system.Now); err != nil {
		fmt.Fprintf(system.Stderr, "error: %v\n", err)
		return exitFailed
	}
	return exitOK
}

func bundledNames() []string { return slices.Sorted(maps.Keys(bundled())) }

// servePlugin is `flowrun plugins serve NAME`, which the engine runs.
func servePlugin(args []string, stderr io.Writer) int {
	if len(args) == 2 && args[1] == "--debug" {
		args = args[:1] // the plugin sees it in the arguments of the process
	}
	if len(args) != 1 {
		fmt.Fprintln(stderr, "error: plugins serve takes the name of one bundled plugin")
		return exitUsage
	}
	construct, ok := bundled()[args[0]]
	if !ok {
		fmt.Fprintf(stderr, "error: there is no bundled plugin %q\n", args[0])
		if hint := diag.DidYouMean(args[0], bundledNames()).Text; hint != "" {
			fmt.Fprintf(stderr, "help: %s\n", hint)
		}
		return exitNotFound
	}
	construct().Serve()
	return exitOK
}
