package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// denseFile is a workflow of n steps of which each has up to k edges: by `needs` or by
// what it reads, up or down in the file.
func denseFile(kind string, n, k int) (text string, edges int) {
	var b strings.Builder
	b.WriteString("flowrun: v1\nname: dense\nsteps:\n")
	for i := range n {
		from, to := max(0, i-k), i
		if strings.HasSuffix(kind, "ahead") {
			from, to = i+1, min(n, i+1+k)
		}
		var ids, reads []string
		for j := from; j < to; j++ {
			ids = append(ids, fmt.Sprintf("s%d", j))
			reads = append(reads, fmt.Sprintf(`"${{ steps.s%d.outputs }}"`, j))
		}
		edges += len(ids)
		switch {
		case strings.HasPrefix(kind, "reads"):
			fmt.Fprintf(&b, "  - {id: s%d, needs: [], let: {v: [%s]}}\n", i, strings.Join(reads, ", "))
		case kind == "asserts" && i%2 == 0:
			fmt.Fprintf(&b, "  - {id: s%d, needs: [%s], uses: core.assert, with: {that: \"${{ %d > 1 }}\"}}\n", i, strings.Join(ids, ", "), i)
		default:
			fmt.Fprintf(&b, "  - {id: s%d, needs: [%s], let: {v: 1}}\n", i, strings.Join(ids, ", "))
		}
	}
	return b.String(), edges
}

func denseKinds() map[string][2]int {
	return map[string][2]int{
		"needs": {250, 200}, "needs ahead": {250, 200}, "asserts": {250, 200}, "reads": {150, 40}, "reads ahead": {150, 40},
	}
}

func checkDense(tb testing.TB, tree *spec.Workflow) *checker {
	tb.Helper()
	c := newChecker(context.Background(), tree, fake())
	c.run()
	if len(c.problems) > 0 {
		tb.Fatal(c.problems)
	}
	return c
}

func parseDense(tb testing.TB, kind string, n, k int) (tree *spec.Workflow, edges int) {
	tb.Helper()
	text, edges := denseFile(kind, n, k)
	tree, problems := spec.Parse("dense.yaml", []byte(text))
	if len(problems) > 0 {
		tb.Fatal(problems)
	}
	return tree, edges
}

// TestIssue17EdgesAreWalkedAFewTimes: the work of the checker is linear in the edges,
// counted. It was the square of them: 250 steps that need 200 others each took 2.6 s.
func TestIssue17EdgesAreWalkedAFewTimes(t *testing.T) {
	const times = 6
	for kind, size := range denseKinds() {
		t.Run(kind, func(t *testing.T) {
			tree, edges := parseDense(t, kind, size[0], size[1])
			if walked := checkDense(t, tree).walked; walked > times*edges {
				t.Errorf("%d edges are looked at %d times", edges, walked)
			}
		})
	}
}

// TestIssue17AllocationsGrowWithTheEdges: four times the edges take about four times
// the memory.
func TestIssue17AllocationsGrowWithTheEdges(t *testing.T) {
	allocations := func(n, k int) (float64, int) {
		tree, edges := parseDense(t, "needs", n, k)
		return testing.AllocsPerRun(1, func() { checkDense(t, tree) }), edges
	}
	small, few := allocations(125, 100)
	large, many := allocations(250, 200)
	if ratio, edges := large/small, float64(many)/float64(few); ratio > 1.5*edges {
		t.Errorf("%.1f times the edges take %.1f times the allocations (%.0f, %.0f)", edges, ratio, small, large)
	}
}

// BenchmarkDense is a file of 30,000 edges: 250 steps that need up to 200 others each.
func BenchmarkDense(b *testing.B) {
	for kind, size := range denseKinds() {
		b.Run(kind, func(b *testing.B) {
			tree, _ := parseDense(b, kind, size[0], size[1])
			for b.Loop() {
				checkDense(b, tree)
			}
		})
	}
}

// TestCirclesOfManySteps: a file full of circles is told of within bounds, and what is
// left has an order.
func TestCirclesOfManySteps(t *testing.T) {
	const n = 120
	var b strings.Builder
	b.WriteString("flowrun: v1\nname: circles\nsteps:\n")
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("s%d", i))
	}
	for i := range n {
		fmt.Fprintf(&b, "  - {id: s%d, needs: [%s], let: {v: 1}}\n", i, strings.Join(all, ", "))
	}
	tree, _ := spec.Parse("circles.yaml", []byte(b.String()))
	c := newChecker(context.Background(), tree, fake())
	c.run()
	if told := len(c.problems); told != maxCycles {
		t.Errorf("%d circles are told", told)
	}
	if c.walked > 200*n*n {
		t.Errorf("%d edges are looked at %d times", n*n, c.walked)
	}
	for _, s := range c.main.steps {
		for _, e := range s.needs {
			if e.to.rank >= s.rank {
				t.Fatalf("%s needs %s, which the order has behind it", s.id, e.to.id)
			}
		}
	}
}

// TestTheOrderIsThatOfALookAtAllEdges: on random workflows the edges that stay, the
// circles that are told and the reads that come too early are those of a plain search
// from each edge.
func TestTheOrderIsThatOfALookAtAllEdges(t *testing.T) {
	source := rand.New(rand.NewPCG(17, 80)) //nolint:gosec // a test's
	for range 400 {
		text := randomSteps(source)
		tree, problems := spec.Parse("random.yaml", []byte(text))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		c := newChecker(context.Background(), tree, fake())
		c.run()
		wanted := searchedOrder(t, tree)
		var found []string
		for _, p := range c.problems {
			if p.Code == CodeCycle || p.Code == CodeTooEarly {
				found = append(found, p.Code+" "+p.Pos.String())
			}
		}
		for _, s := range c.main.steps {
			for _, e := range s.needs {
				found = append(found, s.id+" follows "+e.to.id)
				if e.to.rank >= s.rank {
					t.Errorf("%s follows %s, which the order has behind it", s.id, e.to.id)
				}
			}
		}
		slices.Sort(found)
		if diff := cmp.Diff(wanted, found); diff != "" {
			t.Fatalf("(-want +got)\n%s\n%s", diff, text)
		}
	}
}

func randomSteps(source *rand.Rand) string {
	var b strings.Builder
	b.WriteString("flowrun: v1\nname: random\nsteps:\n")
	n := 2 + source.IntN(9)
	pick := func() string { return fmt.Sprintf("s%d", source.IntN(n)) }
	for i := range n {
		fmt.Fprintf(&b, "  - id: s%d\n", i)
		if source.IntN(4) > 0 {
			var needs []string
			for range source.IntN(3) {
				needs = append(needs, pick())
			}
			fmt.Fprintf(&b, "    needs: [%s]\n", strings.Join(needs, ", "))
		}
		b.WriteString("    let:\n      v: 1\n")
		for j := range source.IntN(3) {
			fmt.Fprintf(&b, "      r%d: ${{ steps.%s.status }}\n", j, pick())
		}
	}
	return b.String()
}

// searchedOrder is what the checker's order has to come to, by a search of its own for
// each edge.
func searchedOrder(t *testing.T, tree *spec.Workflow) []string {
	t.Helper()
	c := newChecker(context.Background(), tree, fake())
	c.main = c.newList(tree.Steps, nil, handlerNone)
	c.writtenIDs(c.main)
	c.defaultIDs(c.main)
	c.needs(c.main)
	var told []string
	for _, s := range c.main.steps {
		for i := 0; i < len(s.needs); i++ {
			if e := s.needs[i]; e.written && searched(e.to, s, map[*step]bool{}) {
				told = append(told, CodeCycle+" "+e.pos.String())
				s.needs = slices.Delete(s.needs, i, i+1)
				i--
			}
		}
	}
	for _, s := range c.main.steps {
		once := map[string]bool{}
		s.src.Let.EachScalar(func(n *spec.Node) {
			for _, r := range readsOfText(c, n) {
				target := c.byID[r.id]
				switch early := searched(target, s, map[*step]bool{}); {
				case once[r.id]:
				case early:
					told = append(told, CodeTooEarly+" "+r.pos.String())
				case !slices.ContainsFunc(s.needs, func(e edge) bool { return e.to == target }):
					s.needs = append(s.needs, edge{to: target, read: true})
				}
				once[r.id] = true
			}
		})
	}
	for _, s := range c.main.steps {
		for _, e := range s.needs {
			told = append(told, s.id+" follows "+e.to.id)
		}
	}
	slices.Sort(told)
	return told
}

type placedRead struct {
	id  string
	pos diag.Pos
}

func readsOfText(c *checker, n *spec.Node) (found []placedRead) {
	for _, p := range c.text(n).parts {
		if p.parsed == nil {
			continue
		}
		for _, r := range p.parsed.Reads() {
			found = append(found, placedRead{r.Path[1], place(n, p.offset, r.Places[1])})
		}
	}
	return found
}

// searched reports whether one step is or follows another one.
func searched(from, to *step, seen map[*step]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	return slices.ContainsFunc(from.needs, func(e edge) bool { return searched(e.to, to, seen) })
}
