package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/openapi/overlay"
	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// Service is a service as its document and the settings describe it: the index of its
// actions, and each of them when it is asked for. It is for one goroutine at a time.
type Service struct {
	Title      string
	Version    string
	Doc        string
	BaseURL    string       // "" = the connection has to say it
	BaseDoc    string       // of base_url: the other servers
	Auth       []scheme     // what a connection can be given
	Operations []*Operation // by name

	document *document
	settings Settings
	limits   map[string]Limit
}

// Action is one action, whole.
type Action struct {
	*Operation
	Input  sdk.Value
	Output sdk.Value
	Recipe *recipe.Recipe
	Faults []Fault
	Pages  *PagingRule // nil = it has none

	document *document
}

// Files are the contents of the files that the settings name.
type Files struct {
	Document []byte
	Overlay  []byte // nil = none
}

// ProblemsError are mistakes in the settings, by their places in them.
type ProblemsError struct{ Problems []sdk.Problem }

// Error names the mistakes.
func (e *ProblemsError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = strings.TrimPrefix(p.Pointer+": "+p.Summary, ": ")
	}
	return strings.Join(texts, "; ")
}

func wrong(problems ...sdk.Problem) error { return &ProblemsError{Problems: problems} }

// Read reads the index of a service: what it costs grows with the document's length, and
// no schema is read. Mistakes are a *ProblemsError.
func Read(settings Settings, files Files) (*Service, error) {
	root, err := tree.Parse(files.Document)
	if err != nil {
		return nil, wrong(sdk.Problemf("/document", "%s can't be read: %v", settings.Document, err))
	}
	if files.Overlay != nil {
		if err := overlay.Apply(root, files.Overlay); err != nil {
			return nil, wrong(sdk.Problemf("/overlay", "%s can't be applied: %v", settings.Overlay, err))
		}
	}
	if root.Has("api") && !root.Has("openapi") {
		if root, err = expand(root); err != nil {
			return nil, wrong(sdk.Problemf("/document", "%s: %v", settings.Document, err))
		}
	}
	d, err := newDocument(root)
	if err != nil {
		return nil, wrong(sdk.Problemf("/document", "%s: %v", settings.Document, err))
	}
	s := &Service{document: d, settings: settings}
	info := root.Get("info")
	s.Title, s.Version = sdk.Shown(info.Get("title").Text(), 120), info.Get("version").Plain()
	s.Doc = s.Title
	if problems := s.readServers(); problems != nil {
		return nil, wrong(problems...)
	}
	s.readAuth()
	if err := s.readLimits(root); err != nil {
		return nil, wrong(sdk.Problemf("/document", "%s: %v", settings.Document, err))
	}
	return s, s.readOperations()
}

// readOperations takes the operations that the settings want, and says of them what the
// rules say.
func (s *Service) readOperations() error {
	all := s.document.operations()
	var problems []sdk.Problem
	taken := all
	if len(s.settings.Only) > 0 {
		taken = nil
		for i, pattern := range s.settings.Only {
			before := len(taken)
			for _, o := range all {
				if o.taken(pattern) && !slices.Contains(taken, o) {
					taken = append(taken, o)
				}
			}
			if len(taken) == before && !slices.ContainsFunc(taken, func(o *Operation) bool { return o.taken(pattern) }) {
				problems = append(problems, s.noOperation(child("/only", i), pattern, all))
			}
		}
	}
	for i, pattern := range s.settings.Except {
		if !slices.ContainsFunc(all, func(o *Operation) bool { return o.taken(pattern) }) {
			problems = append(problems, s.noOperation(child("/except", i), pattern, all))
		}
		taken = slices.DeleteFunc(slices.Clone(taken), func(o *Operation) bool { return o.taken(pattern) })
	}
	problems = append(problems, s.applyRules(all, taken)...)
	if len(taken) == 0 && len(problems) == 0 {
		problems = append(problems, sdk.Problemf("/document", "%s has no operation that could be an action", s.settings.Document))
	}
	slices.SortFunc(taken, func(a, b *Operation) int { return strings.Compare(a.Name, b.Name) })
	s.Operations = taken
	if len(problems) > 0 {
		return wrong(problems...)
	}
	return nil
}

// applyRules says of the operations what the rules say of them, later ones over earlier.
func (s *Service) applyRules(all, taken []*Operation) []sdk.Problem {
	var problems []sdk.Problem
	for i, rule := range s.settings.Rules {
		at := child("/rules", i)
		for j, name := range rule.Limits {
			if _, ok := s.limits[name]; !ok {
				problems = append(problems, sdk.Problemf(child(at, "limits", j), "there is no limit %q in limits", name))
			}
		}
		for j, pattern := range rule.For {
			if !slices.ContainsFunc(all, func(o *Operation) bool { return o.taken(pattern) }) {
				problems = append(problems, s.noOperation(child(at, "for", j), pattern, all))
			}
		}
		hit := slices.DeleteFunc(slices.Clone(taken), func(o *Operation) bool {
			return len(rule.For) > 0 && !slices.ContainsFunc(rule.For, o.taken)
		})
		if rule.Name != "" && len(hit) > 1 {
			problems = append(problems, sdk.Problemf(child(at, "name"), "is of one operation, and the rule is for %d", len(hit)))
			continue
		}
		for _, o := range hit {
			o.Extension = o.over(rule.Extension)
			o.Doc = cmp.Or(sdk.Shown(o.Extension.Doc, maxDoc), o.Doc)
			if rule.Name != "" {
				o.Name = rule.Name
			}
		}
	}
	for i, o := range taken {
		if slices.ContainsFunc(taken[:i], func(other *Operation) bool { return other.Name == o.Name }) {
			problems = append(problems, sdk.Problemf("/rules", "two operations are named %s", o.Name))
		}
	}
	return problems
}

// noOperation is a pattern that takes nothing.
func (s *Service) noOperation(place, pattern string, all []*Operation) sdk.Problem {
	var known []string
	for _, o := range all {
		known = append(known, o.ID, o.Name, o.Path)
	}
	problem := sdk.Problemf(place, "no operation of the document is %q", pattern)
	if near := sdk.Nearest(pattern, known); near != "" {
		return problem.WithDetail("did you mean %s?", near)
	}
	return problem.WithDetail("write an operationId, a path, METHOD path or tag:NAME; * stands for anything")
}

// Operation returns the operation of a name, nil where there is none.
func (s *Service) Operation(name string) *Operation {
	i, found := slices.BinarySearchFunc(s.Operations, name, func(o *Operation, name string) int { return strings.Compare(o.Name, name) })
	if !found {
		return nil
	}
	return s.Operations[i]
}

// Action reads an action whole: its schemas, its recipe and its failures.
func (s *Service) Action(name string) (*Action, error) {
	o := s.Operation(name)
	if o == nil {
		return nil, fmt.Errorf("the document has no operation %q", name)
	}
	a := &Action{Operation: o, document: s.document}
	a.Pages = s.document.paging(o)
	a.Input = s.document.fittedSchema(toService, func(w *schemas) tree.Object {
		a.Recipe = &recipe.Recipe{Method: o.Method, Path: o.Path, Key: o.keyHeader()}
		in := w.inputs(o, a.Recipe)
		if a.Pages != nil && a.Pages.Input == ownCursor {
			in.properties = append(in.properties, tree.Field{Name: ownCursor, Value: sdk.Value(`{"type":"string","description":"Link of the page to begin with"}`)})
		}
		return in.schema()
	})
	a.Output = s.document.fittedSchema(fromService, func(w *schemas) tree.Object {
		a.Recipe.Answers = nil
		return w.output(o, a.Recipe)
	})
	a.Recipe.Base = s.base(o)
	a.Recipe.Security = s.security(o)
	if o.Envelope != nil {
		a.Recipe.Envelope = (*recipe.Envelope)(o.Envelope)
	}
	if a.Pages != nil {
		a.Recipe.Page = recipePage(a.Pages)
	}
	for _, rule := range o.Refuse {
		a.Recipe.Refuse = append(a.Recipe.Refuse, recipe.Refusal(rule))
	}
	for _, rule := range o.Fill {
		a.Recipe.Fill = append(a.Recipe.Fill, recipe.Fill(rule))
	}
	a.Recipe.Join, a.Recipe.Only = o.Join, o.Only
	all := s.document.faults(o)
	a.Faults, a.Recipe.Faults = declared(all), recipeFaults(all, o.Envelope)
	return a, nil
}

// Notes says, once each, what the document says of the operations that are taken and an
// action can't express. It reads each schema once.
func (s *Service) Notes() []Note {
	in, out := s.document.schemas(toService, 1<<20), s.document.schemas(fromService, 1<<20)
	for _, o := range s.Operations {
		var r recipe.Recipe
		in.level, out.level = 0, 0
		in.inputs(o, &r)
		out.output(o, &r)
		s.document.paging(o)
		if base := s.base(o); base != nil {
			s.document.notes.add(o.place, "is sent to %s, with the connection's credential", base.URL)
		}
		if o.node.Has("callbacks") {
			s.document.notes.add(child(o.place, "callbacks"), "what the service calls back is no action; take it in with a webhook trigger")
		}
	}
	in.finish(tree.Object{})
	out.finish(tree.Object{})
	return s.document.notes.sorted()
}
