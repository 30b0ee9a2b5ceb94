package testrun

import (
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// MaxFile is how large a test file may be in bytes: recordings hold whole answers.
const MaxFile = 4 << 20

func limits() spec.Limits {
	return spec.Limits{Bytes: MaxFile, Nodes: 500_000, Depth: 64, Keys: 10_000, ScalarBytes: 1 << 20}
}

// readSuite reads the words of a test file. The suite is nil when nothing can
// be done with it.
func readSuite(file string, src []byte) (*suite, diag.List) {
	root, problems := spec.ParseNode(file, src, limits())
	r := &reader{problems: problems}
	if root == nil {
		return nil, r.problems
	}
	s := &suite{file: file, shared: caseNode{pos: root.Pos}}
	version := root.Get("flowrun_test")
	var cases *spec.Node
	if !r.fields(root, "a test file", append(caseFields(r, &s.shared),
		field{"flowrun_test", func(n *spec.Node) { r.version(n) }},
		r.scalarField("workflow", "the path of a workflow", &s.workflow),
		field{"description", func(n *spec.Node) { r.scalar(n, "text") }},
		field{"recorded", func(n *spec.Node) { s.recorded = true; r.recorded(n) }},
		field{"cases", func(n *spec.Node) { cases = n }},
	)...) {
		return nil, r.problems
	}
	if version == nil {
		r.problems.Errorf(root.FirstKey(), CodeVersion, "the test file does not say its version").Hint = diag.Say("begin it with `flowrun_test: " + Version + "`")
	}
	if _, written := root.Pair("workflow"); !written {
		r.problems.Errorf(root.FirstKey(), CodeMissingKey, "the key `workflow` is missing").Hint = diag.Say("name the workflow's file, as seen from this one: workflow: report.yaml")
	}
	if cases == nil {
		r.problems.Errorf(root.FirstKey(), CodeMissingKey, "the key `cases` is missing").Hint = diag.Say("cases: [{name: …, answers: …, expect: …}]")
	} else {
		r.cases(s, cases)
	}
	return s, r.problems
}

func (r *reader) version(n *spec.Node) {
	if n.Kind != spec.Scalar || n.Text != Version {
		r.problems.Errorf(n.Pos, CodeVersion, "this version of flowrun reads test files of version %s", Version).Hint = diag.Say("write `flowrun_test: " + Version + "`")
	}
}

func (r *reader) recorded(n *spec.Node) {
	r.fields(n, "`recorded`", field{"run", func(v *spec.Node) { r.scalar(v, "the id of a run") }}, field{"at", func(v *spec.Node) { r.time(v) }})
}

// caseFields read what a case and the whole file have in common.
func caseFields(r *reader, c *caseNode) []field {
	return []field{
		r.mapField("inputs", &c.inputs),
		r.scalarField("trigger", "the name of a trigger", &c.trigger),
		{"at", func(n *spec.Node) { c.at = r.time(n) }},
		r.mapField("state", &c.state),
		{"answers", func(n *spec.Node) {
			if r.mapping(n, "`answers`") {
				c.answers = n.Pairs
			}
		}},
	}
}

func (r *reader) cases(s *suite, node *spec.Node) {
	items := r.items(node, "`cases`")
	if node.Kind == spec.Sequence && len(items) == 0 {
		r.problems.Errorf(node.Pos, CodeShape, "there are no cases")
	}
	seen := map[string]diag.Pos{}
	for _, item := range items {
		c := caseNode{pos: item.Pos}
		if !r.fields(item, "a case", append(caseFields(r, &c),
			field{"name", func(n *spec.Node) {
				if r.scalar(n, "a name") {
					c.name, c.pos = strings.TrimSpace(n.Text), n.Pos
				}
			}},
			field{"events", func(n *spec.Node) { c.events = r.items(n, "`events`") }},
			r.mapField("expect", &c.expect),
		)...) {
			continue
		}
		if _, written := item.Pair("name"); !written {
			r.problems.Errorf(item.FirstKey(), CodeMissingKey, "the case has no `name`")
		}
		if first, twice := seen[c.name]; twice && c.name != "" {
			problem := r.problems.Errorf(c.pos, CodeDuplicate, "two cases have the name `%s`", c.name)
			problem.Related = []diag.Related{{Pos: first, Message: "the first one"}}
		}
		seen[c.name] = c.pos
		s.cases = append(s.cases, c)
	}
}
