package rundiff

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// plans compares what two runs went by.
func plans(a, b *plan.Workflow) Plan {
	p := Plan{Steps: planSteps(a, b), Plugins: plugins(pinsOf(a), pinsOf(b))}
	if a.Source != b.Source {
		p.Sources = &Sources{A: a.Source, B: b.Source}
	}
	p.Same = len(p.Plugins) == 0 && bytes.Equal(withoutPlaces(encoded(bare(a))), withoutPlaces(encoded(bare(b))))
	return p
}

// bare is a plan without the file that it was made of: its name and its text say nothing
// that a run depends on.
func bare(w *plan.Workflow) *plan.Workflow {
	kept := *w
	kept.File, kept.Source = "", ""
	kept.Workflows = make(map[string]*plan.Workflow, len(w.Workflows))
	for name, sub := range w.Workflows {
		kept.Workflows[name] = bare(sub)
	}
	return &kept
}

// planSteps are the steps that differ, those of a in their order before those of b alone.
func planSteps(a, b *plan.Workflow) []PlanStep {
	before, order := textsOf(a)
	after, orderAfter := textsOf(b)
	list := []PlanStep{}
	for _, path := range order {
		text, there := after[path]
		switch {
		case !there:
			list = append(list, PlanStep{path, Removed})
		case !bytes.Equal(text, before[path]):
			list = append(list, PlanStep{path, Changed})
		}
	}
	for _, path := range orderAfter {
		if _, there := before[path]; !there {
			list = append(list, PlanStep{path, Added})
		}
	}
	return list
}

// textsOf are the steps of a plan, each without the steps of its loop.
func textsOf(w *plan.Workflow) (texts map[string][]byte, order []string) {
	texts = map[string][]byte{}
	runs.EachStep(w, func(path string, step *plan.Step, _ bool) bool {
		kept := *step
		if step.Loop != nil {
			loop := *step.Loop
			loop.Steps, kept.Loop = nil, &loop
		}
		order = append(order, path)
		texts[path] = withoutPlaces(encoded(&kept))
		return true
	})
	return texts, order
}

func encoded(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		return nil // plain data that was read as JSON
	}
	return text
}

// withoutPlaces leaves out where in the file something stands: a line more above a step is
// no change of it.
func withoutPlaces(text []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return text
	}
	return encoded(dropPlaces(value))
}

func dropPlaces(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if isPlace(name, member) {
				delete(value, name)
				continue
			}
			value[name] = dropPlaces(member)
		}
	case []any:
		for i := range value {
			value[i] = dropPlaces(value[i])
		}
	}
	return value
}

// isPlace reports whether a member is a plan.Pos.
func isPlace(name string, member any) bool {
	place, ok := member.(map[string]any)
	if name != "pos" || !ok || len(place) != 2 {
		return false
	}
	_, line := place["line"]
	_, column := place["column"]
	return line && column
}

// pinsOf are the plugins of a workflow and of its sub-workflows, by name.
func pinsOf(w *plan.Workflow) map[string]plan.PluginPin {
	pins := map[string]plan.PluginPin{}
	for _, name := range slices.Sorted(maps.Keys(w.Workflows)) {
		maps.Copy(pins, pinsOf(w.Workflows[name]))
	}
	for _, pin := range plan.PinsOf(w.Actions, runs.CorePlugin) {
		pins[pin.Plugin] = pin
	}
	return pins
}

func plugins(a, b map[string]plan.PluginPin) []PluginPair {
	all := maps.Clone(a)
	maps.Copy(all, b)
	list := []PluginPair{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one, inA := a[name]
		other, inB := b[name]
		if inA && inB && one == other {
			continue
		}
		pair := PluginPair{Plugin: name}
		if inA {
			pair.A = &one
		}
		if inB {
			pair.B = &other
		}
		list = append(list, pair)
	}
	return list
}
