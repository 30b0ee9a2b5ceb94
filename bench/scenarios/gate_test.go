package main

import (
	"context"
	"os"
	"testing"

	"github.com/flowrun/flowrun/bench/figures"
)

// gate is a ratio to the floor that holds in every job: twice the goal, so that it fails
// for a step that got slow, and not for a machine that has other work.
type gate struct {
	what  string
	ours  turn
	floor turn
	most  float64 // times the floor's time
}

// The gate is measured in turns; what counts is the best of each side, which other work
// disturbs least. It ends when it is passed, and after so many turns at the latest.
const (
	fewestTurns = 3
	mostTurns   = 12
)

// TestSpeedBesideTheFloor holds S2r, of a file that is known, at twice its goal of 1.5 times the floor, and S4 at
// half of its goal of 0.6 of the floor. CI runs it by itself, when no other test has the
// processors. That it can fail is tried beside it: with half a millisecond of processor
// time more for each call it must.
func TestSpeedBesideTheFloor(t *testing.T) {
	if os.Getenv("FLOWRUN_SPEED") == "" {
		t.Skip("SKIPPED: FLOWRUN_SPEED is not set; CI runs this alone")
	}
	self, o := programs(t)
	b, err := newBench(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b.self = self
	defer func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}()
	for _, g := range gates(t.Context(), b, "0s") {
		t.Run(g.what, func(t *testing.T) {
			ratio, turns := g.measure(t, mostTurns)
			t.Logf("%.2f times the floor, at most %.2f, after %d turns", ratio, g.most, turns)
			if ratio > g.most {
				t.Errorf("%.2f times the floor, at most %.2f: the best of %d turns", ratio, g.most, turns)
			}
		})
	}
	for _, g := range gates(t.Context(), b, "500us") {
		t.Run("slower: "+g.what, func(t *testing.T) {
			if ratio, turns := g.measure(t, fewestTurns); ratio <= g.most {
				t.Errorf("the gate passes with %.2f times the floor, at most %.2f, after %d turns, though each call is slower", ratio, g.most, turns)
			}
		})
	}
}

// measure takes turns until the ratio of the best is within the bound, and so many at
// most.
func (g gate) measure(t *testing.T, most int) (ratio float64, turns int) {
	t.Helper()
	var ours, its []float64
	for turns = 1; ; turns++ {
		ours, its = append(ours, perUnit(t, g.ours)), append(its, perUnit(t, g.floor))
		ratio = figures.Least(ours) / figures.Least(its)
		if turns == most || turns >= fewestTurns && ratio <= g.most {
			t.Logf("a unit takes %.0f us, %.0f on the floor", figures.Least(ours), figures.Least(its))
			return ratio, turns
		}
	}
}

// gates are the bounds; slower is how much processor time each call of flowrun takes more.
func gates(ctx context.Context, b *bench, slower string) []gate {
	return []gate{
		{
			what: "S2r, 1,000 reads one after the other", most: 2 * 1.5,
			ours:  b.ofWorker(ctx, "S2r", "", "-what", "steps", "-action", "read", "-before", "1", "-slower", slower),
			floor: b.ofFloor(ctx, "S2r", "steps", "-policy", "reads"),
		},
		{
			what: "S4, runs of 3 steps, 64 at a time", most: 2 / 0.6,
			ours:  b.ofWorker(ctx, "S4", "", "-what", "runs", "-n", "640", "-slower", slower),
			floor: b.ofFloor(ctx, "S4", "runs", "-n", "640"),
		},
	}
}

// perUnit measures once and returns the microseconds of a unit.
func perUnit(t *testing.T, one turn) float64 {
	t.Helper()
	s, err := one.measure()
	if err != nil {
		t.Fatal(err)
	}
	return float64(s.Wall.Microseconds()) / float64(s.Units)
}
