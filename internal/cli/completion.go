package cli

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
)

// bashFallback stands before the script for bash: without the package bash-completion the
// script of the library prints errors into the shell.
//
//go:embed templates/completion.bash
var bashFallback string

// completedShells are those that flowrun completes in.
var completedShells = []string{"bash", "fish", "powershell", "zsh"}

// ownCompletion adds to the library's command what it does not have.
func (a *app) ownCompletion(c *cobra.Command) {
	group(c, a.completionInstallCommand())
	for _, sub := range c.Commands() {
		if sub.Name() == "bash" {
			sub.RunE = func(*cobra.Command, []string) error { return writeScript(c.Root(), "bash", a.sys.Stdout) }
		}
	}
}

// writeScript writes the script of a shell.
func writeScript(root *cobra.Command, shell string, out io.Writer) error {
	switch shell {
	case "bash":
		if _, err := io.WriteString(out, bashFallback); err != nil {
			return fmt.Errorf("write the script: %w", err)
		}
		return root.GenBashCompletionV2(out, true)
	case "fish":
		return root.GenFishCompletion(out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(out)
	}
	return root.GenZshCompletion(out)
}

func (a *app) completionInstallCommand() *cobra.Command {
	return withText(&cobra.Command{
		Use: "install [SHELL]", Short: "Put the completion in place for a shell", Args: rangeArgs(0, "SHELL"),
		Long: "Install writes the completion to where the shell looks for it: bash, zsh, fish or powershell, or the one of\n" +
			"$SHELL. It asks nothing and changes no file of yours: where your rc file needs a line, it prints the line.",
		Example:           "  flowrun completion install\n  flowrun completion install zsh",
		ValidArgsFunction: cobra.FixedCompletions(completedShells, cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(c *cobra.Command, args []string) error { return a.installCompletion(c.Root(), argument(args, 0)) },
	})
}

// installed is what was done.
type installed struct {
	Shell   string `json:"shell"`
	File    string `json:"file"`
	Changed bool   `json:"changed"`
	RC      string `json:"rc,omitempty"`   // the file that needs a line
	Line    string `json:"line,omitempty"` // that it needs
}

func (a *app) installCompletion(root *cobra.Command, shell string) error {
	if shell == "" {
		if shell = strings.TrimSuffix(filepath.Base(a.env("SHELL")), ".exe"); shell == "pwsh" {
			shell = "powershell"
		}
		if !slices.Contains(completedShells, shell) {
			return usageError(errors.New("$SHELL names no shell that flowrun completes in"), "name one: flowrun completion install "+strings.Join(completedShells, "|"))
		}
	}
	if !slices.Contains(completedShells, shell) {
		return usageError(fmt.Errorf("there is no completion for the shell %q", shell), diag.DidYouMean(shell, completedShells).Or(diag.Say("one of "+strings.Join(completedShells, ", "))).Text)
	}
	if a.env("HOME") == "" {
		return usageError(errors.New("$HOME is not set"), "`flowrun completion "+shell+"` prints the script")
	}
	done := a.placeOfCompletion(shell)
	var script bytes.Buffer
	if err := writeScript(root, shell, &script); err != nil {
		return err
	}
	if before, err := os.ReadFile(done.File); err != nil || !bytes.Equal(before, script.Bytes()) {
		done.Changed = true
		if err := os.MkdirAll(filepath.Dir(done.File), 0o755); err != nil {
			return fmt.Errorf("make the folder of the completion: %w", err)
		}
		if err := writeFile(done.File, script.Bytes()); err != nil {
			return fmt.Errorf("write the completion: %w", err)
		}
	}
	if rc, err := os.ReadFile(done.RC); err == nil && strings.Contains(string(rc), done.Line) {
		done.RC, done.Line = "", ""
	}
	return a.print(done, func() { a.tellInstalled(done) })
}

func (a *app) tellInstalled(done installed) {
	if done.Changed {
		a.say("wrote %s", safePath(done.File))
	} else {
		a.say("%s is as it should be", safePath(done.File))
	}
	switch {
	case done.Shell == "bash":
		a.say("bash reads it by itself where its package bash-completion is in use; else add this line to %s:\n\n    %s\n", safePath(done.RC), safePath(done.Line))
	case done.Line != "":
		a.say("add this line to %s:\n\n    %s\n", safePath(done.RC), safePath(done.Line))
	}
	a.say("a new shell completes flowrun")
}

// placeOfCompletion is where a shell looks for completions of a person's own, and the line
// that its rc file needs.
func (a *app) placeOfCompletion(shell string) installed {
	home := a.env("HOME")
	data := cmp.Or(a.env("XDG_DATA_HOME"), filepath.Join(home, ".local", "share"))
	config := cmp.Or(a.env("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	done := installed{Shell: shell}
	switch shell {
	case "bash":
		folder := cmp.Or(a.env("BASH_COMPLETION_USER_DIR"), filepath.Join(data, "bash-completion"))
		done.File, done.RC = filepath.Join(folder, "completions", "flowrun"), filepath.Join(home, ".bashrc")
		done.Line = "source " + diag.ShellWord(done.File)
	case "zsh":
		folder := filepath.Join(data, "zsh", "site-functions")
		done.File, done.RC = filepath.Join(folder, "_flowrun"), filepath.Join(cmp.Or(a.env("ZDOTDIR"), home), ".zshrc")
		done.Line = "fpath=(" + diag.ShellWord(folder) + " $fpath); autoload -U compinit; compinit"
	case "fish":
		done.File = filepath.Join(config, "fish", "completions", "flowrun.fish")
	case "powershell":
		done.File, done.RC = filepath.Join(data, "flowrun", "completion.ps1"), filepath.Join(config, "powershell", "Microsoft.PowerShell_profile.ps1")
		done.Line = ". '" + strings.ReplaceAll(done.File, "'", "''") + "'"
	}
	return done
}
