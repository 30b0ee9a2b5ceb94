package graph

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/plan"
)

// drawnSteps draws a list of steps of any shape: edges lead back to earlier
// ones.
func drawnSteps(t *rapid.T, depth int) []plan.Step {
	steps := make([]plan.Step, rapid.IntRange(1, 9).Draw(t, "steps"))
	for i := range steps {
		s := &steps[i]
		s.ID, s.Kind, s.Uses, s.RunIf = fmt.Sprintf("step_%d", i), plan.StepAction, "svc.read", plan.RunIfOK
		for j := range i {
			switch rapid.IntRange(0, 5).Draw(t, "edge") {
			case 0:
				s.Needs = append(s.Needs, steps[j].ID)
			case 1:
				s.Reads = append(s.Reads, steps[j].ID)
			}
		}
		switch kind := rapid.IntRange(0, 7).Draw(t, "kind"); {
		case kind == 0 && depth < 2:
			s.Kind, s.Uses = plan.StepLoop, ""
			s.Loop = &plan.Loop{As: "item", MaxParallel: 4, Steps: drawnSteps(t, depth+1)}
		case kind == 1:
			s.If = &plan.Expr{Source: rapid.StringN(0, 90, -1).Draw(t, "if")}
		case kind == 2:
			s.Uses = "svc.write"
		}
	}
	return steps
}

func drawnWorkflow(t *rapid.T) *plan.Workflow {
	return &plan.Workflow{
		Name: "drawn", Steps: drawnSteps(t, 0), Finally: []plan.Step{{ID: "end", Kind: plan.StepAction, Uses: "core.log"}},
		Actions: map[string]*plan.Action{
			"svc.read":  {Plugin: "svc", Name: "read", Effect: plan.EffectRead},
			"svc.write": {Plugin: "svc", Name: "write", Effect: plan.EffectOnce},
		},
	}
}

func TestPropertyNothingOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawnWorkflow(t)
		checkFrame(t, newFrame(w, w.Steps, ""))
	})
}

type failing interface{ Fatalf(string, ...any) }

func checkFrame(t failing, f *frame) {
	for i, b := range f.boxes {
		if b.x < 0 || b.y < 0 || b.x+b.w > f.width || b.y+b.h > f.height {
			t.Fatalf("%s stands outside of its frame", b.path)
		}
		for _, other := range f.boxes[:i] {
			if b.x < other.x+other.w && other.x < b.x+b.w && b.y < other.y+other.h && other.y < b.y+b.h {
				t.Fatalf("%s and %s overlap", b.path, other.path)
			}
		}
		for _, line := range b.lines() {
			if textWidth(line, charWide) > b.w-2*padX {
				t.Fatalf("%s: %q does not fit", b.path, line)
			}
		}
		if b.inner != nil {
			if b.inner.width > b.w || b.innerY+b.inner.height > b.h {
				t.Fatalf("%s is smaller than what is in it", b.path)
			}
			checkFrame(t, b.inner)
		}
	}
	for _, e := range f.edges {
		checkEdge(t, f, e)
	}
}

// checkEdge follows an arrow and wants it outside of every box.
func checkEdge(t failing, f *frame, e *edge) {
	first, last := e.points[0], e.points[len(e.points)-1]
	if first.y != e.from.y+e.from.h || first.x < e.from.x || first.x > e.from.x+e.from.w || last.y != e.to.y || last.x < e.to.x || last.x > e.to.x+e.to.w {
		t.Fatalf("the arrow from %s to %s does not join them", e.from.path, e.to.path)
	}
	for i := 1; i < len(e.points); i++ {
		a, b := e.points[i-1], e.points[i]
		if i%2 == 1 && a.x != b.x || b.y < a.y {
			t.Fatalf("the arrow from %s to %s does not go down", e.from.path, e.to.path)
		}
		for k := range 21 {
			s := float64(k) / 20
			x := float64(a.x) + (float64(b.x)-float64(a.x))*s*s*(3-2*s)
			y := float64(a.y) + (float64(b.y)-float64(a.y))*s
			for _, box := range f.boxes {
				if x > float64(box.x) && x < float64(box.x+box.w) && y > float64(box.y) && y < float64(box.y+box.h) {
					t.Fatalf("the arrow from %s to %s runs through %s", e.from.path, e.to.path, box.path)
				}
			}
		}
	}
}

func TestPropertySVGIsWellFormedAndAlwaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawnWorkflow(t)
		w.Description = rapid.String().Draw(t, "description")
		first := SVG(w)
		if first != SVG(w) {
			t.Fatalf("two drawings differ")
		}
		decoder := xml.NewDecoder(strings.NewReader(first))
		for {
			_, err := decoder.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("not XML: %v\n%s", err, first)
			}
		}
	})
}

func TestChainStandsInOneColumn(t *testing.T) {
	w := &plan.Workflow{Name: "chain", Steps: []plan.Step{
		{ID: "a", Kind: plan.StepLet}, {ID: "b", Kind: plan.StepLet, Needs: []string{"a"}}, {ID: "c", Kind: plan.StepLet, Needs: []string{"b"}, Reads: []string{"a"}},
	}}
	f := newFrame(w, w.Steps, "")
	if f.boxes[0].y >= f.boxes[1].y || f.boxes[1].y >= f.boxes[2].y {
		t.Errorf("not one below the other: %+v", f.boxes)
	}
	if len(f.edges[2].points) < 4 { // the arrow past b has a way of its own
		t.Errorf("the long arrow has no passage: %v", f.edges[2].points)
	}
}
