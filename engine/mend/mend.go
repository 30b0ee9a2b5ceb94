package mend

import (
	"strings"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

// Known is what is asked about the actions of a project.
type Known interface {
	// Action returns an action by its full name, "netinfo.whois".
	Action(name string) (*plan.Action, bool)
	// ActionNames returns the full names of all actions that are known.
	ActionNames() []string
}

// maxMended bounds the problems of a file that mends are looked for: each looks through
// the tree.
const maxMended = 200

// Of gives each problem of a workflow's file its mend, where there is one, and a hint that
// says it where there was none. The tree is nil where the file can't be read.
func Of(src []byte, tree *spec.Workflow, problems diag.List, known Known) diag.List {
	if len(problems) == 0 {
		return problems
	}
	f := &file{text: newText(src), tree: tree, known: known}
	if tree != nil {
		f.root = tree.Root
	}
	for i := range problems[:min(len(problems), maxMended)] {
		p := &problems[i]
		if p.Mend != nil {
			continue
		}
		for _, try := range append(byCode(p.Code), nearWord) {
			if m := try(f, p); m != nil {
				m.give(p)
				break
			}
		}
	}
	return problems
}

// file is a workflow's file while mends are found.
type file struct {
	*text
	tree  *spec.Workflow
	root  *spec.Node // nil = not YAML
	known Known
}

// mend is what a rule found.
type mend struct {
	edits   []diag.Edit
	certain bool
	hint    string // "" = that of the problem says it
}

func (m *mend) give(p *diag.Problem) {
	if m.hint != "" {
		p.Hint = diag.Say(m.hint)
	}
	if len(m.edits) > 0 {
		p.Mend = &diag.Mend{Certain: m.certain, Edits: m.edits}
	}
}

// rule finds the mend of a problem; nil = it has none.
type rule func(f *file, p *diag.Problem) *mend

// byCode are the rules for a code, the first that finds something holds.
func byCode(code string) []rule {
	switch code {
	case spec.CodeSyntax:
		return syntaxRules()
	case spec.CodeEmpty:
		return []rule{emptyFile}
	case spec.CodeVersion:
		return []rule{noVersion}
	case spec.CodeKeyType:
		return []rule{statusKey, quotedKey}
	case spec.CodeAnchor:
		return []rule{anchor}
	case spec.CodeTag:
		return []rule{negated}
	case spec.CodeUnknownKey:
		return foreignKeys()
	case spec.CodeShape, check.CodeShape:
		return shapeRules()
	case spec.CodeTwoKinds:
		return []rule{loopOfAction}
	case check.CodeSchema, check.CodeWord, check.CodeStateDefault:
		return schemaRules()
	case check.CodeUnknownKey:
		return []rule{concurrencyGroup, scheduleKey}
	case check.CodeID, check.CodeDuplicateID:
		return []rule{malformedID, takenID}
	case check.CodeDuration:
		return []rule{durationText}
	case check.CodeHiddenStep:
		return []rule{insideLoop}
	case check.CodeUnknownAction, check.CodeUnknownPlugin:
		return []rule{nearWord, otherAction}
	case check.CodeWorkflowFile:
		return []rule{otherFile}
	case check.CodeUnknownTarget:
		return []rule{onlyTarget}
	case check.CodeConstantIf:
		return []rule{constantIf}
	case check.CodeUnusedInput, check.CodeUnusedState:
		return []rule{unread}
	case check.CodeTooLong:
		return []rule{longerRun}
	case check.CodeLiteral:
		return literalRules()
	case check.CodeMissingField:
		return []rule{missingField}
	case check.CodeSecretText:
		return []rule{secretInText}
	case check.CodeLoopList:
		return []rule{loopList}
	case check.CodeNoConnection, check.CodeWithoutPlugins, check.CodeNotForAction:
		return []rule{nearWord, leaveOut}
	}
	return expressionRules(code)
}

func expressionRules(code string) []rule {
	switch code {
	case eval.CodeName:
		return []rule{otherContext, stepByItself, outsideLoop}
	case eval.CodeField:
		return []rule{undeclaredInput}
	case eval.CodeFunction:
		return []rule{otherFunction}
	case eval.CodeSyntax:
		return []rule{containsCall, emptyExpression, doubleQuotes}
	case eval.CodeUnclosed:
		return []rule{unclosedExpression}
	case eval.CodeNull, eval.CodeText, check.CodeType:
		return []rule{wrapped, rangeOf}
	}
	return nil
}

// nearWord takes the word that was probably meant.
func nearWord(f *file, p *diag.Problem) *mend {
	if p.Hint.Near == "" || p.EndLine != p.Line || p.EndColumn <= p.Column {
		return nil
	}
	from, to := f.offset(p.Line, p.Column), f.offset(p.Line, p.EndColumn)
	if to-from > 1 && strings.IndexByte(`"'`, f.src[from]) >= 0 && f.src[to-1] == f.src[from] {
		from, to = from+1, to-1
	}
	if strings.ContainsAny(p.Hint.Near, " \t:#{}[],\"'\\") {
		return nil
	}
	certain := !p.Hint.Unsure && surelyMeant(f.src[from:to], p.Hint.Near)
	return &mend{edits: []diag.Edit{f.edit(from, to, p.Hint.Near)}, certain: certain}
}

// surelyMeant reports whether a near word is more than a guess: the same letters in
// another form, such as `maxParallel`, or one slip of the hand in a word of some length.
func surelyMeant(word, meant string) bool {
	if plainLetters(word) == plainLetters(meant) {
		return true
	}
	own, ownRest, _ := strings.Cut(word, ".")
	other, otherRest, _ := strings.Cut(meant, ".")
	if own == other && ownRest != "" && otherRest != "" {
		word, meant = ownRest, otherRest
	}
	return len(word) >= 3 && oneSlip(word, meant)
}

func plainLetters(word string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(word))
}

// oneSlip reports whether a letter was left out, put in, taken for another or changed
// with its neighbour.
func oneSlip(word, meant string) bool {
	n := 0
	for n < len(word) && n < len(meant) && word[n] == meant[n] {
		n++
	}
	a, b := word[n:], meant[n:]
	switch {
	case len(a) == len(b)+1:
		return a[1:] == b
	case len(b) == len(a)+1:
		return b[1:] == a
	case len(a) != len(b) || len(a) == 0:
		return false
	case len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]:
		return true
	}
	return a[1:] == b[1:]
}

// spot is where a problem stands in the tree: the node, the pair that it is the key or
// the value of, and what stands around it, the innermost first.
type spot struct {
	node   *spec.Node
	around []*spec.Node
	pair   int // of around[0], where that is a map; else the item
	isKey  bool
}

// spot finds the node at a problem's place, or the scalar that holds it.
func (f *file) spot(p *diag.Problem) *spot {
	if f.root == nil {
		return nil
	}
	at := f.offset(p.Line, p.Column)
	return f.find(f.root, nil, at, p.Pos)
}

// scalarAt is the spot of a problem where one single value stands; nil where none does.
func (f *file) scalarAt(p *diag.Problem) *spot {
	if s := f.spot(p); s != nil && s.node.Kind == spec.Scalar {
		return s
	}
	return nil
}

// textAt is scalarAt with where in the value's text the problem is; nil where that is not
// told.
func (f *file) textAt(p *diag.Problem) (s *spot, at int) {
	if s = f.scalarAt(p); s == nil {
		return nil, 0
	}
	if at = f.inText(s.node, p); at < 0 {
		return nil, 0
	}
	return s, at
}

func (f *file) find(n *spec.Node, around []*spec.Node, at int, pos diag.Pos) *spot {
	inner := append([]*spec.Node{n}, around...)
	for i, pair := range n.Pairs {
		if from := f.keyStart(pair); at >= from && at < f.nodeEnd(pair.Key) {
			return &spot{node: pair.Key, around: inner, pair: i, isKey: true}
		}
		if found := f.inside(pair.Value, inner, at, pos, i); found != nil {
			return found
		}
	}
	for i, item := range n.Items {
		if found := f.inside(item, inner, at, pos, i); found != nil {
			return found
		}
	}
	return nil
}

func (f *file) inside(n *spec.Node, around []*spec.Node, at int, pos diag.Pos, i int) *spot {
	if n.Kind != spec.Scalar {
		if found := f.find(n, around, at, pos); found != nil {
			return found
		}
		if n.Pos.Line == pos.Line && n.Pos.Column == pos.Column {
			return &spot{node: n, around: around, pair: i}
		}
		return nil
	}
	start, end, known := n.Range()
	if known && at >= start && at < end || n.Pos.Line == pos.Line && n.Pos.Column == pos.Column {
		return &spot{node: n, around: around, pair: i}
	}
	return nil
}

// parent is the map or list that holds the node.
func (s *spot) parent() *spec.Node { return s.around[0] }

// own is the pair that the node belongs to; false where it stands in a list.
func (s *spot) own() (spec.Pair, bool) {
	if s.parent().Kind != spec.Mapping {
		return spec.Pair{}, false
	}
	return s.parent().Pairs[s.pair], true
}

// key is the key of that pair, "" where there is none.
func (s *spot) key() string {
	pair, ok := s.own()
	if !ok {
		return ""
	}
	return pair.Key.Text
}

// top reports whether the pair stands at the top of the file.
func (s *spot) top() bool { return len(s.around) == 1 }

// up is the key under which the n-th map or list around stands: 0 is that of the parent.
func (s *spot) up(n int) string {
	if n+1 >= len(s.around) {
		return ""
	}
	for _, pair := range s.around[n+1].Pairs {
		if pair.Value == s.around[n] {
			return pair.Key.Text
		}
	}
	return ""
}

// step is the map of the step around, nil where there is none.
func (s *spot) step() *spec.Node {
	for i, n := range s.around {
		if i+1 >= len(s.around) || n.Kind != spec.Mapping || s.around[i+1].Kind != spec.Sequence {
			continue
		}
		switch s.up(i + 1) {
		case "steps", "on_success", "on_failure", "finally":
			return n
		}
	}
	return nil
}
