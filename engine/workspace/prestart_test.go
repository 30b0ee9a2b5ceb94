package workspace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/spec"
)

// TestWhatIsCalledFirst: a plugin is started ahead of its call where the call is sure, and
// near.
func TestWhatIsCalledFirst(t *testing.T) {
	for name, c := range map[string]struct {
		steps string
		want  []string
	}{
		"two, once each":      {"- {uses: a.x}\n  - {uses: b.x}\n  - {uses: a.y}", []string{"a", "b"}},
		"behind a condition":  {"- {uses: a.x, if: inputs.go}\n  - {uses: b.x}", []string{"b"}},
		"perhaps in a cache":  {"- {uses: a.x, cache: 1h}", nil},
		"in a loop":           {"- {foreach: [1], steps: [{uses: a.x}]}", nil},
		"behind an approval":  {"- {uses: a.x}\n  - {uses: core.approve}\n  - {uses: b.x}", []string{"a"}},
		"behind a line":       {"- {uses: core.log, with: {text: x}}\n  - {uses: b.x}", []string{"b"}},
		"another workflow":    {"- {uses: ./other.yaml}\n  - {let: {n: 1}}", nil},
		"more than are early": {"- {uses: a.x}\n  - {uses: b.x}\n  - {uses: c.x}\n  - {uses: d.x}\n  - {uses: e.x}", []string{"a", "b", "c", "d"}},
		"by a handler":        {"- {let: {n: 1}}\nfinally:\n  - {uses: a.x}", nil},
	} {
		tree, problems := spec.Parse("w.yaml", []byte("flowrun: v1\nname: w\nsteps:\n  "+c.steps+"\n"))
		if tree == nil || problems.HasErrors() {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		if diff := cmp.Diff(c.want, calledFirst(tree)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAWorkflowThatWasReadAheadIsReadOnce: by the check of the same bytes under the same
// name, and by no other.
func TestAWorkflowThatWasReadAheadIsReadOnce(t *testing.T) {
	src := "flowrun: v1\nname: w\nsteps:\n  - {let: {n: 1}}\n"
	ahead := &readAhead{}
	tree, problems := ahead.parse("w.yaml", []byte(src), spec.Parse)
	ahead.keep("w.yaml", []byte(src), tree, problems)
	if other, _ := ahead.parse("v.yaml", []byte(src), spec.Parse); other == tree || other.File != "v.yaml" {
		t.Error("the file of another name is taken")
	}
	if other, _ := ahead.parse("w.yaml", []byte(strings.Replace(src, "1}", "2}", 1)), spec.Parse); other == tree {
		t.Error("the file as it was before is taken")
	}
	if again, _ := ahead.parse("w.yaml", []byte(src), spec.Parse); again != tree {
		t.Error("what was read ahead is read again")
	}
	if again, _ := ahead.parse("w.yaml", []byte(src), spec.Parse); again == tree {
		t.Error("one tree is given to two checks, which write to it")
	}
}
