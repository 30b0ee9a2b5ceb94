package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/service"
)

// Compile reads all of a service for a plugin that is written for it alone (package
// service): its actions in the order of the document. What an action can't express is an
// error here, since the author of such a plugin can mend the description.
func (s *Service) Compile() (*service.Service, error) {
	compiled := &service.Service{Doc: s.Doc}
	for _, name := range s.limitNames() {
		compiled.Limits = append(compiled.Limits, s.limits[name].of(name))
	}
	if check := s.settings.Check; check != nil {
		a, err := s.checkAction(check.Operation)
		if err != nil {
			return nil, err
		}
		compiled.Check = &service.Check{Action: a.Name, Account: check.Account}
	}
	ordered := slices.Clone(s.Operations)
	slices.SortFunc(ordered, func(a, b *Operation) int { return cmp.Compare(a.order, b.order) })
	for _, o := range ordered {
		a, err := s.Action(o.Name)
		if err != nil {
			return nil, err
		}
		whole, err := s.compiled(a)
		if err != nil {
			return nil, err
		}
		compiled.Actions = append(compiled.Actions, whole)
	}
	if notes := s.document.notes.sorted(); len(notes) > 0 {
		return nil, fmt.Errorf("%s", notes[0])
	}
	return compiled, nil
}

// compiled is an action with all that a plugin needs of it.
func (s *Service) compiled(a *Action) (service.Action, error) {
	recipe, err := a.Recipe.Encode()
	if err != nil {
		return service.Action{}, fmt.Errorf("encode the recipe of %s: %w", a.Name, err)
	}
	whole := service.Action{Head: s.head(a.Operation), Input: a.Input, Output: a.Output, Recipe: recipe}
	if a.Envelope != nil {
		whole.Data = a.Envelope.Data[strings.LastIndex(a.Envelope.Data, "/")+1:]
	}
	for _, f := range a.Faults {
		whole.Faults = append(whole.Faults, service.Fault{Code: f.Code, Reason: f.Reason, Doc: f.Doc})
	}
	for _, e := range a.Examples {
		whole.Examples = append(whole.Examples, service.Example(e))
	}
	return whole, nil
}

// head is an operation as lists show it.
func (s *Service) head(o *Operation) service.Head {
	head := service.Head{
		Name: o.Name, Doc: o.Doc, Effect: o.EffectWord(), Limits: s.limitsOf(o), Timeout: service.Duration(durationOf(o.Timeout)), Deprecated: o.Deprecated,
	}
	if pages := s.document.paging(o); pages != nil {
		head.Paging = &service.Paging{Input: pages.Input, Items: pages.Items, Named: pages.Named}
		if pages.Wrap != "" {
			head.Paging.Next = "next_cursor"
		}
	}
	return head
}

// of is the limit under its name.
func (l Limit) of(name string) service.Limit {
	return service.Limit{Name: name, Requests: l.Requests, Per: service.Duration(durationOf(l.Per)), Fixed: l.Fixed, Concurrent: l.Concurrent}
}
