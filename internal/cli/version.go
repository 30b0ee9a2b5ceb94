package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/internal/cli/view"
)

func (a *app) versionCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			if output == "json" {
				return view.JSON(a.sys.Stdout, map[string]string{
					"version": a.sys.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
				})
			}
			fmt.Fprintf(a.sys.Stdout, "flowrun %s (%s, %s/%s)\n", a.sys.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}
