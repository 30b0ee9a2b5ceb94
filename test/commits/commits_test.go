// Package commits counts what the store writes for work of a known size: fsyncs and
// pages, by bucket, through the whole engine and a plugin's process. No clock decides but
// the one by which the engine itself commits (ADR 74).
package commits

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/drive"
)

// scenario is work of a known size, and the most that it may write for each of its steps.
type scenario struct {
	name   string
	steps  int
	before int // runs of three steps that the store has
	work   func(c *counted)
	fsyncs float64
	pages  float64
	late   bool // results are not waited for: a machine that is slow makes more commits of them
}

// The bounds are what was counted when they were set, with room where it depends on the
// machine how many results a commit holds.
func scenarios() []scenario {
	one := func(source string) func(*counted) { return func(c *counted) { c.run(source) } }
	three := steps(3, "write", false)
	return []scenario{
		{name: "S2", steps: 1000, work: one(steps(1000, "write", false)), fsyncs: 2.05, pages: 4.45},
		{name: "S2 beside other runs", before: 100, steps: 1000, work: one(steps(1000, "write", false)), fsyncs: 2.05, pages: 5.05},
		{name: "S2r", steps: 1000, work: one(steps(1000, "read", false)), fsyncs: 0.1, pages: 0.33, late: true},
		{name: "S3", steps: 1000, work: one(steps(1000, "write", true)), fsyncs: 0.1, pages: 0.36, late: true},
		{name: "S4", steps: 3000, work: func(c *counted) { c.atOnce(three, 1000, 64) }, fsyncs: 0.1, pages: 1.65},
	}
}

// tries is how often a scenario may be counted: how many results a commit holds depends on
// what else the machine does. What is too much each time is too much.
const tries = 4

// TestWhatAStepWrites: an effect is two fsyncs and its pages, all else shares them.
func TestWhatAStepWrites(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			for try := 1; ; try++ {
				got := sc.count(t)
				t.Log(got)
				fsyncs, pages := sc.most(got)
				if got.fsyncs <= fsyncs && got.pages <= pages {
					return
				}
				if try == tries || t.Failed() {
					t.Fatalf("a step took %.3f fsyncs and %.2f pages; at most %.2f and %.2f are allowed", got.fsyncs, got.pages, fsyncs, pages)
				}
			}
		})
	}
}

// The pages of a commit of results that are not waited for, and how many such commits are in
// the bounds of a scenario.
const (
	pagesOfLate = 4.6
	lateCommits = 28
)

// most are the bounds for what was counted. A result that is not waited for is handed to the
// store after drive.FlushDelay at the latest: a machine on which the work took longer was
// due more commits, each with its pages, and one that made more of them than that fails.
func (sc *scenario) most(got cost) (fsyncs, pages float64) {
	if !sc.late {
		return sc.fsyncs, sc.pages
	}
	due := float64(got.took/drive.FlushDelay) + 5
	fsyncs = max(sc.fsyncs, 2*due/float64(sc.steps))
	pages = sc.pages + pagesOfLate*max(0, min(due, float64(got.commits))-lateCommits)/float64(sc.steps)
	return fsyncs, pages
}

// cost is what a scenario has written, for each step.
type cost struct {
	commits       int
	took          time.Duration
	fsyncs, pages float64
	of            written // all of it, by bucket
	steps         int
}

func (sc *scenario) count(t *testing.T) cost {
	t.Helper()
	c := open(t)
	c.run(steps(1, "write", false))
	c.atOnce(steps(3, "write", false), sc.before, 16)
	if _, err := c.watch.take(); err != nil {
		t.Fatal(err)
	}
	before := c.StoreStats()
	begun := time.Now()
	sc.work(c)
	took := time.Since(begun)
	after := c.StoreStats()
	commits, err := c.watch.take()
	if err != nil {
		t.Fatal(err)
	}
	got := cost{commits: len(commits), took: took, of: written{}, steps: sc.steps}
	got.fsyncs = float64(after.Fsyncs-before.Fsyncs) / float64(sc.steps)
	for _, commit := range commits {
		for bucket, pages := range commit {
			got.of[bucket] += pages
		}
	}
	got.pages = float64(got.of.pages()) / float64(sc.steps)
	return got
}

func (c cost) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d commits, %.3f fsyncs and %.3f pages (%.0f bytes) a step, %.2f pages a commit\n", c.commits, c.fsyncs, c.pages, c.pages*pageSize, c.pages*float64(c.steps)/float64(c.commits))
	for _, bucket := range slices.Sorted(maps.Keys(c.of)) {
		fmt.Fprintf(&text, "  %-24s %7.3f a step %7.2f a commit\n", bucket, float64(c.of[bucket])/float64(c.steps), float64(c.of[bucket])/float64(c.commits))
	}
	return text.String()
}
