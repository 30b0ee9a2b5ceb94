package testpage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Typist types what pages show, in a folder, with a shell.
type Typist struct {
	Dir     string   // where the person is
	Environ []string // of the shell
	Scratch string   // a folder beside, for what the shell hands from one command to the next
	// Stays are the first words of commands that go on until somebody ends them. They are
	// left running when what the page shows is printed.
	Stays []string
	// Instead is what is typed where the page has a command, such as another port; nil =
	// the same.
	Instead func(typed string) string

	code    int // of the last command
	running []*staying
	shownAs map[string]string // addresses of the page, to those that were printed
}

// staying is a command that goes on.
type staying struct {
	command *exec.Cmd
	output  *buffer
	ended   chan struct{} // closed when it has
}

// address is where a server of a page listens.
var address = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// TypeFile writes a file of a page.
func (p *Typist) TypeFile(b Block) error {
	name := filepath.Join(p.Dir, b.File)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(b.Text), 0o644) //nolint:gosec // a file of a page
}

// Type types a command and compares what is printed with what the page shows. It returns
// what was printed.
func (p *Typist) Type(ctx context.Context, c Command, nextSaysCode bool) (string, error) {
	typed := c.Typed
	if p.Instead != nil {
		typed = p.Instead(typed)
	}
	for shown, real := range p.shownAs {
		typed = strings.ReplaceAll(typed, shown, real)
	}
	if typed == "echo $?" {
		said := strconv.Itoa(p.code)
		return said, Compare(c.Shown, said)
	}
	if p.stays(c.Typed) && !c.Fails() {
		return p.leaveRunning(ctx, typed, c)
	}
	printed, _, err := p.Run(ctx, typed)
	if err != nil {
		return printed, err
	}
	if !nextSaysCode && (p.code != 0) != c.Fails() {
		return printed, fmt.Errorf("%s ends with %d, and the page shows otherwise:\n%s", c.Typed, p.code, printed)
	}
	return printed, p.compare(c, printed)
}

func (p *Typist) compare(c Command, printed string) error {
	for shown, real := range p.shownAs {
		printed = strings.ReplaceAll(printed, real, shown)
	}
	if err := Compare(c.Shown, printed); err != nil {
		return fmt.Errorf("%s: %w", c.Typed, err)
	}
	return nil
}

func (p *Typist) stays(typed string) bool {
	for _, first := range p.Stays {
		if typed == first || strings.HasPrefix(typed, first+" ") {
			return true
		}
	}
	return false
}

// Run runs a command to its end, and returns what is printed and its exit code. Folder
// and variables last until the next one.
func (p *Typist) Run(ctx context.Context, typed string) (printed string, code int, err error) {
	where, variables := filepath.Join(p.Scratch, "where"), filepath.Join(p.Scratch, "variables")
	script := "set -a\n[ ! -e '" + variables + "' ] || . '" + variables + "'\n" + typed +
		"\ncode=$?\npwd > '" + where + "'\nunset -v PWD OLDPWD\nexport -p > '" + variables + "'\nexit $code\n"
	command := exec.CommandContext(ctx, "sh", "-c", script)
	command.Dir, command.Env = p.Dir, p.Environ
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return string(output), 0, fmt.Errorf("typing %s: %w", typed, err)
	}
	p.code = command.ProcessState.ExitCode()
	now, err := os.ReadFile(where)
	if err != nil {
		return string(output), p.code, fmt.Errorf("the shell of %q ended: %w\n%s", typed, err, output)
	}
	p.Dir = strings.TrimSpace(string(now))
	return string(output), p.code, nil
}

// longest is how long a command that stays may take to print what the page shows.
const longest = 2 * time.Minute

// leaveRunning starts a command, and waits until it has printed what the page shows.
func (p *Typist) leaveRunning(ctx context.Context, typed string, c Command) (string, error) {
	s := &staying{command: exec.Command("sh", "-c", typed), output: &buffer{}, ended: make(chan struct{})}
	s.command.Dir, s.command.Env = p.Dir, p.Environ
	s.command.Stdout, s.command.Stderr = s.output, s.output
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches the shell and its children
	if err := s.command.Start(); err != nil {
		return "", err
	}
	p.running = append(p.running, s)
	go func() {
		defer close(s.ended)
		_ = s.command.Wait() // ProcessState has it
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for {
		printed := s.output.String()
		p.learn(c.Shown, printed)
		err := p.compare(Command{Typed: c.Typed, Shown: strings.TrimRight(c.Shown, "\n") + "\n" + Omitted + "\n"}, printed)
		if err == nil && address.MatchString(c.Shown) == address.MatchString(printed) {
			return printed, nil
		}
		select {
		case <-s.ended:
			return s.output.String(), fmt.Errorf("%s ended (%s): %w", typed, s.command.ProcessState, err)
		case <-ctx.Done():
			return printed, err
		case <-tick.C:
		}
	}
}

// learn remembers the address that a server has in place of the page's.
func (p *Typist) learn(shown, printed string) {
	page, real := address.FindString(shown), address.FindString(printed)
	if page != "" && real != "" && page != real {
		if p.shownAs == nil {
			p.shownAs = map[string]string{}
		}
		p.shownAs[page] = real
	}
}

// Close ends what is left running, as Ctrl-C does.
func (p *Typist) Close() error {
	var all []error
	for _, s := range p.running {
		_ = syscall.Kill(-s.command.Process.Pid, syscall.SIGINT) // it may have ended
		select {
		case <-s.ended:
		case <-time.After(longest):
			all = append(all, fmt.Errorf("%v does not end", s.command.Args), syscall.Kill(-s.command.Process.Pid, syscall.SIGKILL))
		}
	}
	p.running = nil
	return errors.Join(all...)
}

// buffer may be read while a process writes it.
type buffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *buffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(data)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}
