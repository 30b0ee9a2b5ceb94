package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowrun/flowrun/engine/diag"
)

func (a *app) manCommand() *cobra.Command {
	dir := ""
	c := &cobra.Command{
		Use: "man [COMMAND..]", Short: "Print the manual page of a command, or write all of them into a folder",
		Long: "Man prints a page in the language of man(1); without a command it is flowrun's own. With --dir it writes a page\n" +
			"for each command, such as flowrun-runs-list.1. Their date is SOURCE_DATE_EPOCH, else that of the commit that\n" +
			"flowrun was built from.",
		Example: "  flowrun man runs list | man -l -\n  flowrun man --dir ~/.local/share/man/man1",
		RunE: func(c *cobra.Command, args []string) error {
			manual, err := a.newManual()
			if err != nil {
				return err
			}
			if dir != "" {
				if len(args) > 0 {
					return usageError(errors.New("--dir writes the pages of all commands"), "leave out the command, or --dir")
				}
				return a.writeManual(manual, c.Root(), a.abs(dir))
			}
			command, err := commandNamed(c.Root(), args)
			if err != nil {
				return err
			}
			_, err = io.WriteString(a.sys.Stdout, manual.page(command))
			return err
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "write the pages of all commands into this folder")
	c.ValidArgsFunction = cobra.NoFileCompletions
	return c
}

// manual is what all manual pages have in common.
type manual struct {
	version string
	date    time.Time
}

func (a *app) newManual() (manual, error) {
	m := manual{a.sys.Version, a.sys.Now()}
	if !a.sys.Build.At.IsZero() {
		m.date = a.sys.Build.At
	}
	if text := a.env("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return m, usageError(fmt.Errorf("SOURCE_DATE_EPOCH takes seconds since 1970, not %q", text), "such as SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)")
		}
		m.date = time.Unix(seconds, 0)
	}
	return m, nil
}

// commandNamed finds a command by its words.
func commandNamed(root *cobra.Command, words []string) (*cobra.Command, error) {
	command := root
	for _, word := range words {
		next := slices.IndexFunc(command.Commands(), func(sub *cobra.Command) bool { return sub.Name() == word })
		if next < 0 {
			return nil, subcommandArgs(command, []string{word})
		}
		command = command.Commands()[next]
	}
	return command, nil
}

// writeManual writes a page for each command into a folder.
func (a *app) writeManual(m manual, root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("the folder %s can't be made: %w", safePath(dir), withoutPath(err))
	}
	commands := documented(root)
	for _, c := range commands {
		if err := os.WriteFile(filepath.Join(dir, pageName(c)+".1"), []byte(m.page(c)), 0o644); err != nil {
			return fmt.Errorf("write a manual page: %w", err)
		}
	}
	a.note("%s written to %s", diag.Count(len(commands), "page"), safePath(dir))
	return nil
}

// documented lists a command and all below it that people see.
func documented(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, documented(sub)...)
		}
	}
	return all
}

// pageName is the name under which man(1) knows the page of a command.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page is the manual page of a command.
func (m manual) page(c *cobra.Command) string {
	c.InitDefaultHelpFlag()
	b := new(strings.Builder)
	fmt.Fprintf(b, ".TH %s 1 %s %s %s\n", roffWord(strings.ToUpper(pageName(c))), roffWord(m.date.UTC().Format(time.DateOnly)), roffWord("flowrun "+m.version), roffWord("flowrun manual"))
	fmt.Fprintf(b, ".nh\n.ad l\n.SH NAME\n%s \\- %s\n", roff(pageName(c)), roff(c.Short))
	fmt.Fprintf(b, ".SH SYNOPSIS\n.B %s\n", roff(c.CommandPath()))
	if rest := strings.TrimPrefix(c.UseLine(), c.CommandPath()); rest != "" {
		fmt.Fprintf(b, "%s\n", roff(strings.TrimSpace(rest)))
	}
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	fmt.Fprintf(b, ".SH DESCRIPTION\n%s\n", roffText(about))
	subs := slices.DeleteFunc(slices.Clone(c.Commands()), func(sub *cobra.Command) bool { return !sub.IsAvailableCommand() })
	if len(subs) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range subs {
			fmt.Fprintf(b, ".TP\n.BR %s (1)\n%s\n", roff(pageName(sub)), roff(sub.Short))
		}
	}
	manFlags(b, "OPTIONS", c.NonInheritedFlags())
	manFlags(b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		fmt.Fprintf(b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roffLines(c.Example))
	}
	if !c.HasParent() {
		manExits(b)
	}
	manSeeAlso(b, c)
	return b.String()
}

// manFlags writes the section of a set of flags, nothing for an empty one.
func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := valueWord(f), f.Usage+defaultOf(f)
		name := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
		}
		if value != "" {
			name += ` \fI` + roff(value) + `\fR`
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", name, roff(usage))
	})
}

// manExits says what flowrun's exit codes mean, family by family.
func manExits(b *strings.Builder) {
	b.WriteString(".SH EXIT STATUS\n")
	for _, exit := range exitMeanings() {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", exit.code, roff(exit.meaning))
	}
}

// manSeeAlso names the pages above, beside and below.
func manSeeAlso(b *strings.Builder, c *cobra.Command) {
	var pages []string
	if c.HasParent() {
		pages = append(pages, pageName(c.Parent()))
		for _, sub := range c.Parent().Commands() {
			if sub != c && sub.IsAvailableCommand() && c.Parent().HasParent() {
				pages = append(pages, pageName(sub))
			}
		}
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, pageName(sub))
		}
	}
	slices.Sort(pages)
	b.WriteString(".SH SEE ALSO\n")
	for i, page := range pages {
		end := " ,"
		if i == len(pages)-1 {
			end = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", roff(page), end)
	}
}

// roff writes a line of text so that nothing of it is an instruction.
func roff(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\n':
			b.WriteByte(' ')
		case i == 0 && (r == '.' || r == '\''):
			b.WriteString(`\&` + string(r))
		case r > unicode.MaxASCII:
			fmt.Fprintf(&b, `\[u%04X]`, r) // what reads the page may know no UTF-8
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// roffWord is an argument of an instruction.
func roffWord(text string) string { return `"` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"` }

// roffLines is roff for lines that stay as they are.
func roffLines(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	return strings.Join(texts(lines, roff), "\n")
}

// roffText is roff for text: an empty line begins a paragraph, lines that are
// indented stay as they are.
func roffText(text string) string {
	var out []string
	isFixed := false
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		fixed := strings.HasPrefix(line, " ")
		if fixed != isFixed {
			out = append(out, map[bool]string{true: ".nf", false: ".fi"}[fixed])
			isFixed = fixed
		}
		if strings.TrimSpace(line) == "" {
			out = append(out, ".PP")
			continue
		}
		out = append(out, roff(line))
	}
	if isFixed {
		out = append(out, ".fi")
	}
	return strings.Join(out, "\n")
}

// exitMeaning is an exit code with what it means.
type exitMeaning struct{ code, meaning string }

// exitMeanings are those of docs/commands.md.
func exitMeanings() []exitMeaning {
	return []exitMeaning{
		{"0", "it went well"},
		{"1", "an internal error"},
		{"2", "wrong usage, or a missing or wrong input"},
		{"3", "the workflow or flowrun.yaml is invalid; a call was refused before it was sent; `plugins upgrade --check` found what would break"},
		{"4", "a login is needed"},
		{"5", "the run or the call failed; a case of `plugins test` failed"},
		{"6", "the run was canceled"},
		{"7", "the run timed out"},
		{"8", "it waits for a person, or is paused"},
		{"9", "there is no such run, step, workflow, …"},
		{"10", "the run's state does not allow it, or a cursor or state has moved"},
		{"11", "a plugin does not start, shake hands, or is another one than the run began with"},
		{"12", "no process owns the store, and the command needs one; the server takes no requests; the listing of releases gives no answer"},
		{"73", "the store is locked, and its owner does not answer"},
		{"74", "the store can't be read or written, others could change the state folder, or this process may not use the owner's socket"},
		{"75", "the disk or the store is full"},
		{"76", "the store is damaged, or was put back to an older copy"},
		{"77", "a newer flowrun wrote the store"},
		{"130, 143", "ended by Ctrl-C or SIGTERM"},
	}
}
