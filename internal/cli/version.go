package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/internal/plugintemplate"
)

// Build is where the program comes from: what `go build` stamps into it.
type Build struct {
	Commit   string    // of the source, "" when it is not known
	At       time.Time // of the commit, zero when it is not known
	Modified bool      // the source had changes that were not committed
}

// versionAnswer is what `flowrun version -o json` prints.
type versionAnswer struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"commit_time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func (a *app) versionCommand() *cobra.Command {
	return withText(&cobra.Command{
		Use: "version", Short: "Print the version, and the commit that it was built from", Args: exactArgs(),
		Example: "  flowrun version\n  flowrun version -o json",
		RunE: func(*cobra.Command, []string) error {
			build := a.sys.Build
			answer := versionAnswer{a.sys.Version, build.Commit, "", build.Modified, runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if !build.At.IsZero() {
				answer.Time = build.At.UTC().Format(time.RFC3339)
			}
			return a.print(answer, func() {
				a.say("%s", a.versionLine())
			})
		},
	})
}

// versionLine is what `flowrun version` and `flowrun --version` print.
func (a *app) versionLine() string {
	return fmt.Sprintf("flowrun %s (%s%s, %s/%s)", a.sys.Version, a.sys.Build.words(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// words say where a program comes from, with what separates them from the next.
func (b Build) words() string {
	switch {
	case b.Commit == "":
		return ""
	case b.Modified:
		return "commit " + b.Commit + " with changes, "
	}
	return "commit " + b.Commit + ", "
}

// buildVersion is the module's version, or "dev" where it has none.
func buildVersion(info *debug.BuildInfo) string {
	if info == nil || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

// buildOf is what the go command knew of the source.
func buildOf(info *debug.BuildInfo) (b Build) {
	if info == nil {
		return b
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		case "vcs.time":
			if at, err := time.Parse(time.RFC3339Nano, setting.Value); err == nil {
				b.At = at
			}
		}
	}
	return b
}

// sdkOf is the version of the SDK for Go that the program was built with.
func sdkOf(info *debug.BuildInfo) string {
	if info == nil {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == plugintemplate.SDKModule {
			return module.Version
		}
	}
	return ""
}
