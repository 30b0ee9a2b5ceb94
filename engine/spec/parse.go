package spec

import (
	"bytes"
	"errors"
	"io"

	"gopkg.in/yaml.v3"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/order"
)

// ParseNode reads the bytes of a YAML file into nodes, by the rules of
// docs/language.md, rule 5, and within the limits. It reports all that it finds; beside
// problems it returns the tree whenever there is one, without what is wrong in
// it (duplicate and non-text keys are left out, other wrong nodes are Bad). The
// tree is nil when the text is not YAML, empty or too large. file is the name
// that places carry.
func ParseNode(file string, src []byte, limits Limits) (*Node, diag.List) {
	s := newSource(file, bytes.TrimPrefix(src, []byte("\xEF\xBB\xBF")))
	var problems diag.List
	checkBytes(s, limits, &problems)
	if len(problems) > 0 {
		return nil, problems
	}
	document, aside := decode(s, &problems)
	if document == nil {
		return nil, problems
	}
	w := &walker{source: s, cursor: cursor{source: s}, limits: limits, problems: &problems, aside: setAside{regions: aside}}
	root := w.node(document.Content[0], -1, 0)
	w.aside.end()
	problems.Sort()
	if w.exceeded {
		return nil, problems
	}
	return root, problems
}

// decode reads the file's document, around the values that YAML can't read: those
// are reported and returned in file order. The document is nil when the rest is
// not YAML either.
func decode(s *source, problems *diag.List) (*yaml.Node, []region) {
	readable := *s // as s, without what is set aside
	var aside []region
	for {
		decoder := yaml.NewDecoder(bytes.NewReader(readable.text))
		var document yaml.Node
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF) || err == nil && isEmpty(&document):
			problems.Errorf(diag.Pos{File: s.file, Line: 1, Column: 1}, CodeEmpty, "the file has no content, only comments")
			return nil, nil
		case err == nil:
			checkEnd(&readable, decoder, problems)
			order.Sort(aside, func(a, b region) int { return a.from - b.from })
			return &document, aside
		}
		problem, unreadable := syntaxProblem(&readable, err)
		if unreadable.empty() || len(aside) == maxRepairs {
			*problems = append(*problems, restUnchecked(problem))
			return nil, nil
		}
		*problems = append(*problems, problem)
		aside = append(aside, unreadable)
		readable.text = masked(readable.text, unreadable)
	}
}

func isEmpty(document *yaml.Node) bool {
	if len(document.Content) == 0 {
		return true
	}
	root := document.Content[0]
	return root.Kind == yaml.ScalarNode && root.Value == "" && root.Style == 0
}

// checkEnd reports what stands after the first document.
func checkEnd(s *source, decoder *yaml.Decoder, problems *diag.List) {
	var second yaml.Node
	err := decoder.Decode(&second)
	switch {
	case errors.Is(err, io.EOF):
	case err != nil:
		problem, _ := syntaxProblem(s, err)
		*problems = append(*problems, restUnchecked(problem))
	default:
		at := s.offset(second.Line, second.Column)
		problems.Errorf(s.span(at, at+3), CodeDocuments, "the file has a second YAML document").Hint =
			diag.Say("put every workflow into a file of its own")
	}
}
