package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/bench/figures"
)

// expressions are what is done with the rows, after a step that reads them.
func expressions() map[string]string {
	return map[string]string{
		"read":       "",
		"filter":     "  - {id: f, let: {big: \"${{ filter(steps.read.outputs.items, .amount > 10) }}\"}}\n",
		"map":        "  - {id: f, let: {small: \"${{ map(steps.read.outputs.items, {{id: .id, email: .email}}) }}\"}}\n",
		"dedupe":     "  - {id: s, let: {seen: \"${{ 1..9000 }}\"}}\n  - {id: f, let: {new: \"${{ len(filter(steps.read.outputs.items, not (.id in steps.s.outputs.seen))) }}\"}}\n",
		"loopfilter": "  - id: l\n    foreach: ${{ filter(steps.read.outputs.items, .amount > 10) }}\n    as: x\n    key: ${{ x.id }}\n    steps: [{id: g, let: {v: \"${{ x.id }}\"}}]\n    collect: ${{ steps.g.outputs.v }}\n",
		"loop":       "  - id: l\n    foreach: ${{ steps.read.outputs.items }}\n    as: x\n    key: ${{ x.id }}\n    steps: [{id: g, let: {v: \"${{ x.id }}\"}}]\n    collect: ${{ steps.g.outputs.v }}\n",
	}
}

// raised are the limits of the larger table.
const raised = "limits: {journal: 256MiB, expression_steps: 2000000, expression_result: 4MiB, loop_items: 100000}\n"

// realSize runs each expression by the built program, beside a run that only reads.
func realSize(ctx context.Context, b *bench) error {
	for _, rows := range []int{b.size(10_000, 200), b.size(50_000, 400)} {
		name := "10,000"
		limits := keepAll
		if rows == b.size(50_000, 400) {
			name, limits = "50,000", keepAll+raised
		}
		var turns []turn
		for _, kind := range slices.Sorted(maps.Keys(expressions())) {
			turns = append(turns, turn{scenario: "data", variant: kind + ", " + name + " rows", measure: func() (figures.Sample, error) {
				return b.withRows(ctx, rows, limits, expressions()[kind])
			}})
		}
		if err := b.inTurnsOf(max(1, b.repeat/2), turns...); err != nil {
			return err
		}
	}
	return nil
}

// withRows reads a table of so many rows in a fresh store and goes on with it. A run that
// fails is a sample too, which says why.
func (b *bench) withRows(ctx context.Context, rows int, limits, then string) (s figures.Sample, err error) {
	dir, err := b.project(limits)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	err = writeFiles(dir, map[string]string{"first.yaml": sequence(1, "read"), "rows.yaml": fmt.Sprintf(
		"flowrun: v1\nname: rows\nsteps:\n  - id: read\n    uses: bench.list\n    with: {rows: %d, pages: %d}\n    paginate: {max_pages: 1000, max_items: 100000}\n%s", rows, max(1, rows/1000), then)})
	if err != nil {
		return s, err
	}
	if _, err := b.command(ctx, dir, b.flowrun, "run", "first.yaml", "--state", "state"); err != nil {
		return s, err
	}
	before, err := b.inUse(ctx, dir)
	if err != nil {
		return s, err
	}
	s, err = b.heldBy(ctx, dir, b.flowrun, "run", "rows.yaml", "--state", "state")
	if err != nil {
		_, message, _ := strings.Cut(err.Error(), "\n")
		return figures.Sample{Units: rows, Unit: "row", Skipped: "it fails: " + shorten(reason(message))}, nil
	}
	after, err := b.inUse(ctx, dir)
	if err != nil {
		return s, err
	}
	s.Units, s.Unit, s.Values["store growth"] = rows, "row", float64(after-before)
	return s, nil
}

// inUse is how many bytes of the store of a project hold something: its file grows in steps,
// and keeps free pages.
func (b *bench) inUse(ctx context.Context, dir string) (int64, error) {
	command := exec.CommandContext(ctx, b.flowrun, "db", "stats", "--state", "state", "-o", "json")
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		return 0, fmt.Errorf("look at the store: %w", err)
	}
	var stats struct {
		Used int64 `json:"used_bytes"`
	}
	if err := json.Unmarshal(out, &stats); err != nil || stats.Used == 0 {
		return 0, fmt.Errorf("`db stats` says no used_bytes: %w\n%s", err, out)
	}
	return stats.Used, nil
}

// reason is the line of an output that says why a run failed, or did not begin.
func reason(output string) string {
	for line := range strings.Lines(output) {
		if strings.Contains(line, ": error[") || strings.HasPrefix(line, "error[") {
			return line
		}
		if _, why, found := strings.Cut(line, " failed"); found && strings.TrimSpace(why) != "" {
			return strings.TrimLeft(why, " ·")
		}
	}
	return output
}

// shorten cuts a message to a line for a table.
func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 120 {
		text = text[:117] + "..."
	}
	return text
}
