package spec

import (
	"bytes"
	"errors"
	"io"

	"gopkg.in/yaml.v3"

	"github.com/flowrun/flowrun/engine/diag"
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
	decoder := yaml.NewDecoder(bytes.NewReader(s.text))
	var document yaml.Node
	err := decoder.Decode(&document)
	switch {
	case errors.Is(err, io.EOF) || err == nil && isEmpty(&document):
		problems.Errorf(diag.Pos{File: file, Line: 1, Column: 1}, CodeEmpty, "the file has no content, only comments")
		return nil, problems
	case err != nil:
		syntaxProblem(s, err, &problems)
		return nil, problems
	}
	checkEnd(s, decoder, &problems)
	w := &walker{source: s, cursor: cursor{source: s}, limits: limits, problems: &problems}
	root := w.node(document.Content[0], -1, 0)
	problems.Sort()
	if w.exceeded {
		return nil, problems
	}
	return root, problems
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
		syntaxProblem(s, err, problems)
	default:
		at := s.offset(second.Line, second.Column)
		problems.Errorf(s.span(at, at+3), CodeDocuments, "the file has a second YAML document").Hint =
			"put every workflow into a file of its own"
	}
}
