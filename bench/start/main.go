// Command start measures how soon the short commands of flowrun answer: `version`, `validate`
// of one file, the completion of a word; beside Terraform and gh where they are installed.
// The programs are started in turns, and the medians printed, or written into a page.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowrun/flowrun/bench/figures"
	"github.com/flowrun/flowrun/bench/probe"
	"github.com/flowrun/flowrun/bench/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(1) //nolint:gocritic // nothing of the signals is left to undo
	}
}

// measured is a command that is started again and again.
type measured struct {
	what    string // the row of the table that it belongs to
	program string // the column
	dir     string
	args    []string
	env     []string
	goal    time.Duration // 0 = it has none

	wall, cpu []time.Duration
}

func command(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("start", flag.ContinueOnError)
	repeat := flags.Int("repeat", 41, "how often each is started")
	flowrun := flags.String("flowrun", "", "the program to measure; built from this source otherwise")
	page := flags.String("doc", "", "write the table into this page")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "flowrun-start-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if *flowrun == "" {
		*flowrun = filepath.Join(dir, "flowrun")
		if err := program.Build(ctx, *flowrun, "cmd/flowrun", true); err != nil {
			return err
		}
	}
	all, err := prepare(ctx, dir, *flowrun)
	if err != nil {
		return err
	}
	for turn := range *repeat + 2 {
		for _, m := range all {
			if err := m.start(ctx, turn >= 2); err != nil { // what is made once is not measured
				return err
			}
		}
	}
	text := table(all, *repeat)
	fmt.Fprint(out, text)
	if *page == "" {
		return nil
	}
	return write(*page, text)
}

// prepare makes what the commands look at.
func prepare(ctx context.Context, dir, flowrun string) ([]*measured, error) {
	project := filepath.Join(dir, "project")
	run := func(dir, program string, args ...string) error {
		command := exec.CommandContext(ctx, program, args...)
		command.Dir, command.Env = dir, environ(dir, nil)
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, output)
		}
		return nil
	}
	if err := os.MkdirAll(project, 0o700); err != nil {
		return nil, err
	}
	if err := run(project, flowrun, "init", "--template", "etl"); err != nil {
		return nil, err
	}
	for range 10 {
		if err := run(project, flowrun, "run", "sales"); err != nil {
			return nil, err
		}
	}
	all := []*measured{
		{what: "version", program: "flowrun", dir: project, args: []string{flowrun, "version"}, goal: 8 * time.Millisecond},
		{what: "validate one file", program: "flowrun", dir: project, args: []string{flowrun, "validate", "workflows/sales.yaml"}, goal: 40 * time.Millisecond},
		{what: "complete a word", program: "flowrun", dir: project, args: []string{flowrun, "__complete", "runs", "show", ""}, goal: 60 * time.Millisecond},
	}
	if terraform, err := exec.LookPath("terraform"); err == nil {
		module := filepath.Join(dir, "module")
		if err := os.MkdirAll(module, 0o700); err != nil {
			return nil, err
		}
		const config = "variable \"file\" {\n  type    = string\n  default = \"sales.csv\"\n}\n\nlocals {\n  parts = split(\".\", var.file)\n}\n\noutput \"name\" {\n  value = local.parts[0]\n}\n"
		if err := os.WriteFile(filepath.Join(module, "main.tf"), []byte(config), 0o600); err != nil {
			return nil, err
		}
		all = append(all,
			&measured{what: "version", program: "terraform", dir: module, args: []string{terraform, "version"}},
			&measured{what: "validate one file", program: "terraform", dir: module, args: []string{terraform, "validate"}},
			&measured{what: "complete a word", program: "terraform", dir: module, args: []string{terraform}, env: []string{"COMP_LINE=terraform va"}})
	}
	if gh, err := exec.LookPath("gh"); err == nil {
		all = append(all,
			&measured{what: "version", program: "gh", dir: project, args: []string{gh, "version"}},
			&measured{what: "complete a word", program: "gh", dir: project, args: []string{gh, "__complete", "pr", ""}})
	}
	return all, nil
}

// environ keeps the machine's settings out; Terraform is not to ask for a newer one.
func environ(dir string, more []string) []string {
	return append([]string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1"}, more...)
}

// start starts the command once.
func (m *measured) start(ctx context.Context, counts bool) error {
	command := exec.CommandContext(ctx, m.args[0], m.args[1:]...)
	command.Dir, command.Env = m.dir, environ(m.dir, m.env)
	began := time.Now()
	output, err := command.CombinedOutput()
	took := time.Since(began)
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(m.args, " "), err, output)
	}
	if counts {
		m.wall = append(m.wall, took)
		m.cpu = append(m.cpu, command.ProcessState.UserTime()+command.ProcessState.SystemTime())
	}
	return nil
}

// table shows the medians.
func table(all []*measured, repeat int) string {
	var b strings.Builder
	load, _ := probe.Load()
	fmt.Fprintf(&b, "Medians of %d starts in turns, on %s; load of the machine %.1f. Processor time is that of the process, in user and kernel.\n\n", repeat, probe.Machine(), load)
	b.WriteString("| command | program | median | best | processor time | goal |  |\n|---|---|---|---|---|---|---|\n")
	for _, what := range []string{"version", "validate one file", "complete a word"} {
		for _, m := range all {
			if m.what != what {
				continue
			}
			goal, kept := "", ""
			if m.goal > 0 {
				goal, kept = fmt.Sprint(m.goal), "kept"
				if figures.Median(m.wall) > m.goal {
					kept = "missed"
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", what, m.program, shown(figures.Median(m.wall)), shown(figures.Least(m.wall)), shown(figures.Median(m.cpu)), goal, kept)
		}
	}
	return b.String()
}

func shown(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

// Where the table stands in a page.
const (
	begins = "<!-- start: `make bench-start` writes what stands from here -->\n"
	ends   = "<!-- to here: end of the starts -->\n"
)

// write puts the table into its place of a page.
func write(page, text string) error {
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(content), begins)
	_, after, closed := strings.Cut(rest, ends)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the starts", page)
	}
	return os.WriteFile(page, []byte(before+begins+"\n"+text+"\n"+ends+after), 0o644)
}
