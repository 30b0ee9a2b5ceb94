// Package rows shows every row of the requirements through the front door: the
// built program, its plugins as processes, and a service that replays bytes.
// README.md explains the table.
package rows

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/suitesize"
)

// callers is how many commands run at the same time.
const callers = 6

// TestRows takes every case through `flowrun call` and through `flowrun run`.
func TestRows(t *testing.T) {
	cases, err := loadAll("cases", os.Getenv("FLOWRUN_ROWS"))
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "flowrun")
	if err := build(t, binary, ""); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("FLOWRUN_ROWS") == "" { // these were asked for by name
		cases = suitesize.Part(t, cases)
	}
	acts := actsOf(cases)
	performAll(t, binary, acts)
	report(t, acts)
}

// actsOf takes each case both ways where it goes both ways.
func actsOf(cases []*example) []*act {
	var acts []*act
	for _, e := range cases {
		if len(e.command) > 0 {
			acts = append(acts, &act{example: e, way: byCall})
			continue
		}
		for _, w := range []way{byCall, byStep} {
			if e.goes(w) {
				acts = append(acts, &act{example: e, way: w})
			}
		}
	}
	return acts
}

// performAll runs the acts: those of one project together, those whose project
// is refused each in its own, commands in an empty one.
func performAll(t *testing.T, binary string, acts []*act) {
	t.Helper()
	var together, apart, commands []*act
	for _, a := range acts {
		switch {
		case len(a.command) > 0:
			commands = append(commands, a)
		case a.alone:
			apart = append(apart, a)
		default:
			together = append(together, a)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	// flowrun.yaml holds up to 1,000 connections
	for chunk := range slices.Chunk(together, 450) {
		s := newStage(t, binary, chunk)
		s.own(t)
		s.perform(ctx, callers)
	}
	t.Run("alone", func(t *testing.T) {
		for i, a := range apart {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				performAlone(ctx, t, binary, a)
			})
		}
	})
	for _, a := range commands {
		s := &program{binary: binary, dir: t.TempDir()}
		s.env = []string{"HOME=" + s.dir}
		r, err := s.run(ctx, a.command...)
		if err != nil || r.code != 0 {
			t.Errorf("%s: exit code %d, %v\n%s", a, r.code, err, r.stderr)
		}
		a.seen.text = r.stdout + r.stderr
	}
}

// performAlone takes a case in a project of its own.
func performAlone(ctx context.Context, t *testing.T, binary string, a *act) {
	t.Helper()
	s := newStage(t, binary, []*act{a})
	c := a.calls[0]
	with, err := s.with(a, c, nil)
	s.must(err)
	a.play()
	args := []string{"call", c.action, "--connection", a.id, "--with", string(with)}
	if a.way == byStep {
		steps, err := s.steps(a, map[string]any{})
		s.must(err)
		s.write("alone.yaml", map[string]any{"flowrun": "v1", "name": "alone", "steps": steps})
		args = []string{"run", "alone.yaml"}
	}
	r, err := s.run(ctx, args...)
	s.must(err)
	a.seen.code, a.seen.text = r.code, r.stdout+r.stderr
	a.note()
}

// report judges all acts. A case that is known to fail must fail, one way at
// least: else its mark is to be taken out.
func report(t *testing.T, acts []*act) {
	t.Helper()
	known, failing := map[string]bool{}, map[string]bool{}
	for _, a := range acts {
		wrong := judge(a)
		if a.today != "" {
			at := fmt.Sprintf("%s:%d", a.file, a.line) // one mark for all that it is like
			known[at], failing[at] = true, failing[at] || len(wrong) > 0
			if len(wrong) > 0 {
				t.Logf("known: %s by %s: %s (%s)", a, a.way, shorten(wrong[0]), a.today)
			}
			continue
		}
		if len(wrong) > 0 {
			t.Errorf("%s by %s:\n- %s", a, a.way, strings.Join(wrong, "\n- "))
		}
	}
	for at := range known {
		if !failing[at] {
			t.Errorf("%s passes: take out its fails_today", at)
		}
	}
	t.Logf("%d ways through the binary", len(acts))
}
