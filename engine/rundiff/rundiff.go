// Package rundiff compares two runs: what they were given, what they went by, what came
// of them and how long their steps took. It reads nothing: who asks brings both runs.
package rundiff

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// MaxSteps is how many steps a comparison holds: those that differ before others.
const MaxSteps = 1000

// Side is one of the runs. Secrets stand in its values as references.
type Side struct {
	Run      runs.Run
	Inputs   json.RawMessage // an object
	Workflow *plan.Workflow
	Outputs  map[string]json.RawMessage
	Steps    []runs.Step // in the order of the file; long outputs may be left out
}

// Diff is how two runs differ.
type Diff struct {
	A           runs.Run   `json:"a"`
	B           runs.Run   `json:"b"`
	Inputs      []Value    `json:"inputs"` // those that differ, by name
	Plan        Plan       `json:"plan"`
	Outputs     []Value    `json:"outputs"`      // those that differ, by name
	Steps       []StepPair `json:"steps"`        // of both runs, in the order of the files
	StepsLeft   int        `json:"steps_left"`   // how many are left out, the list being too long
	StepsDiffer int        `json:"steps_differ"` // how many ended otherwise, in one run alone, or with another output
}

// Value is a named value that differs. A side that does not have it lacks the field.
type Value struct {
	Name string          `json:"name"`
	A    json.RawMessage `json:"a,omitempty"`
	B    json.RawMessage `json:"b,omitempty"`
}

// Plan is how the workflows differ that two runs went by.
type Plan struct {
	Same    bool         `json:"same"`              // nothing differs that a run depends on
	Sources *Sources     `json:"sources,omitempty"` // where the text of the files differs
	Steps   []PlanStep   `json:"steps"`             // that differ, by their places in the file
	Plugins []PluginPair `json:"plugins"`           // that differ, by name
}

// Sources are the texts of two files.
type Sources struct {
	A string `json:"a"`
	B string `json:"b"`
}

// Change says how a step of a plan differs.
type Change string

// The changes of a step.
const (
	Added   Change = "added"
	Removed Change = "removed"
	Changed Change = "changed"
)

// PlanStep is a step that one plan alone has, or both with another content.
type PlanStep struct {
	Path   string `json:"path"`
	Change Change `json:"change"`
}

// PluginPair is a plugin that differs. A side that does not use it is absent.
type PluginPair struct {
	Plugin string          `json:"plugin"`
	A      *plan.PluginPin `json:"a,omitempty"`
	B      *plan.PluginPin `json:"b,omitempty"`
}

// StepPair is a step of both runs, or of one of them.
type StepPair struct {
	Path    string    `json:"path"`
	Differs bool      `json:"differs"`           // in its status, its error or its output, or one run does not have it
	Outputs string    `json:"outputs,omitempty"` // "same" or "differ"; absent where they are too long to be compared
	A       *StepSide `json:"a,omitempty"`
	B       *StepSide `json:"b,omitempty"`
}

// StepSide is what a step did in one of the runs.
type StepSide struct {
	Status     runs.StepStatus `json:"status"`
	Attempts   int             `json:"attempts"`
	DurationMS *int64          `json:"duration_ms,omitempty"` // of a step that has ended
	WaitedMS   int64           `json:"waited_ms,omitempty"`   // of it, for the rate limit
	TakenFrom  string          `json:"taken_from,omitempty"`  // of a rerun: the run whose result this is
	Error      *runs.Error     `json:"error,omitempty"`
}

// The words of StepPair.Outputs.
const (
	OutputsSame   = "same"
	OutputsDiffer = "differ"
)

// Of compares two runs.
func Of(a, b *Side) *Diff {
	d := &Diff{
		A: a.Run, B: b.Run, Inputs: values(members(a.Inputs), members(b.Inputs)), Outputs: values(a.Outputs, b.Outputs),
		Plan: plans(a.Workflow, b.Workflow),
	}
	d.pair(a.Steps, b.Steps)
	return d
}

// Same reports whether nothing differs but times.
func (d *Diff) Same() bool {
	return d.Plan.Same && d.StepsDiffer == 0 && len(d.Inputs) == 0 && len(d.Outputs) == 0 && d.A.Status == d.B.Status
}

func members(object json.RawMessage) map[string]json.RawMessage {
	var list map[string]json.RawMessage
	if json.Unmarshal(object, &list) != nil {
		return nil // a run without inputs has none
	}
	return list
}

func values(a, b map[string]json.RawMessage) []Value {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, b)
	list := []Value{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !equal(a[name], b[name]) {
			list = append(list, Value{Name: name, A: a[name], B: b[name]})
		}
	}
	return list
}

// equal compares values: the order of the members of an object says nothing.
func equal(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 || bytes.Equal(a, b) {
		return len(a) == len(b)
	}
	return bytes.Equal(canonical(a), canonical(b))
}

// canonical is a value with its members in order and its numbers as they were written.
func canonical(raw json.RawMessage) []byte {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return raw
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return encoded
}

// pair brings the steps of both runs together: those of b alone stand behind the step that
// they follow there.
func (d *Diff) pair(a, b []runs.Step) {
	inA, inB := index(a), index(b)
	behind, last := map[string][]*runs.Step{}, ""
	for i := range b {
		if path := b[i].Path; inA[path] != nil {
			last = path
		} else {
			behind[last] = append(behind[last], &b[i])
		}
	}
	var pairs []StepPair
	add := func(path string, one, other *runs.Step) {
		pair := stepPair(path, one, other)
		pair.Differs = pair.Differs && !(one == nil && takenOver(inA, path)) && !(other == nil && takenOver(inB, path))
		pairs = append(pairs, pair)
	}
	alone := func(after string) {
		for _, step := range behind[after] {
			add(step.Path, nil, step)
		}
	}
	alone("")
	for i := range a {
		path := a[i].Path
		add(path, &a[i], inB[path])
		alone(path)
	}
	d.keep(pairs)
}

// takenOver reports whether a rerun took over the loop that a step stands in: its result
// alone, without the steps of its items.
func takenOver(steps map[string]*runs.Step, path string) bool {
	top := steps[runs.ParsePath(path).Top().String()]
	return top != nil && top.TakenFrom != ""
}

func index(steps []runs.Step) map[string]*runs.Step {
	byPath := make(map[string]*runs.Step, len(steps))
	for i := range steps {
		byPath[steps[i].Path] = &steps[i]
	}
	return byPath
}

// keep takes the steps that differ before others, up to the bound, in their order.
func (d *Diff) keep(pairs []StepPair) {
	for i := range pairs {
		if pairs[i].Differs {
			d.StepsDiffer++
		}
	}
	differing := min(d.StepsDiffer, MaxSteps)
	others := min(len(pairs)-d.StepsDiffer, MaxSteps-differing)
	d.Steps = make([]StepPair, 0, differing+others)
	for i := range pairs {
		room := &others
		if pairs[i].Differs {
			room = &differing
		}
		if *room == 0 {
			continue
		}
		*room--
		d.Steps = append(d.Steps, pairs[i])
	}
	d.StepsLeft = len(pairs) - len(d.Steps)
}

func stepPair(path string, a, b *runs.Step) StepPair {
	pair := StepPair{Path: path, A: sideOf(a), B: sideOf(b), Differs: true}
	if a == nil || b == nil {
		return pair
	}
	pair.Outputs = outputsOf(a, b)
	pair.Differs = a.Status != b.Status || pair.Outputs == OutputsDiffer || !sameError(a.Error, b.Error)
	return pair
}

// outputsOf compares the outputs of a step, which may be left out where they are long.
func outputsOf(a, b *runs.Step) string {
	switch {
	case a.OutputsBytes > 0 && b.OutputsBytes > 0:
		return ""
	case a.OutputsBytes > 0 || b.OutputsBytes > 0, !equal(a.Outputs, b.Outputs):
		return OutputsDiffer
	}
	return OutputsSame
}

// sameError compares what went wrong; which attempt it was is no difference.
func sameError(a, b *runs.Error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Message == b.Message && a.Reason == b.Reason
}

func sideOf(step *runs.Step) *StepSide {
	if step == nil {
		return nil
	}
	side := &StepSide{Status: step.Status, Attempts: step.Attempts, WaitedMS: step.WaitedMS, TakenFrom: step.TakenFrom, Error: step.Error}
	if step.StartedAt != nil && step.FinishedAt != nil {
		took := step.FinishedAt.Sub(*step.StartedAt).Milliseconds()
		side.DurationMS = &took
	}
	return side
}
