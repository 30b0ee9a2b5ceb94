package cli

import (
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return withText(&cobra.Command{
		Use: "version", Short: "Print the version", Args: exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			answer := map[string]string{"version": a.sys.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
			return a.print(answer, func() {
				a.say("flowrun %s (%s, %s/%s)", a.sys.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			})
		},
	})
}
