package openapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// readServers finds the base_url: the first server of the document, or the one that the
// settings name. One without a host has to be said by the connection.
func (s *Service) readServers() []sdk.Problem {
	servers := s.document.root.Get("servers").Items()
	var others []string
	for _, server := range servers {
		others = append(others, server.Get("url").Text())
	}
	chosen := -1
	if len(servers) > 0 {
		chosen = 0
	}
	if said := s.settings.Server; said != "" {
		chosen = slices.IndexFunc(servers, func(n *tree.Node) bool {
			return n.Get("url").Text() == said || n.Get("description").Text() == said
		})
		if i, err := strconv.Atoi(said); err == nil && i >= 0 && i < len(servers) {
			chosen = i
		}
		if chosen < 0 {
			base, err := sdk.CheckBaseURL(said)
			if err != nil {
				return []sdk.Problem{sdk.Problemf("/server", "the document has no server %q", said).WithDetail("it has %s", strings.Join(others, ", "))}
			}
			s.BaseURL = base
			return nil
		}
	}
	if chosen < 0 {
		return nil
	}
	base, problems := s.fill(servers[chosen])
	if base != "" && len(servers) > 1 {
		s.BaseDoc = "Root URL of the service. The document has " + sdk.Shown(strings.Join(others, ", "), 300)
	}
	checked, err := sdk.CheckBaseURL(base)
	if err != nil {
		s.BaseDoc = "Root URL of the service, which its document does not give"
		if base != "" && base != "/" {
			s.BaseDoc = "Root URL of the service with " + sdk.Shown(base, 100) + " at its end"
		}
		return problems
	}
	s.BaseURL = checked
	return problems
}

// fill puts variables into the URL of a server.
func (s *Service) fill(server *tree.Node) (string, []sdk.Problem) {
	text := server.Get("url").Text()
	variables := server.Get("variables")
	var problems []sdk.Problem
	for _, name := range templates(text) {
		value := variables.Get(name).Get("default").Plain()
		if said, ok := s.settings.Vars[name]; ok {
			value = said
			if words := variables.Get(name).Get("enum").Texts(); len(words) > 0 && !slices.Contains(words, said) {
				problems = append(problems, sdk.Problemf(child("/variables", name), "must be one of %s", strings.Join(words, ", ")))
			}
		}
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	for name := range s.settings.Vars {
		if !variables.Has(name) {
			problems = append(problems, sdk.Problemf(child("/variables", name), "the server's URL has no variable %q", name))
		}
	}
	slices.SortFunc(problems, func(a, b sdk.Problem) int { return strings.Compare(a.Pointer, b.Pointer) })
	return text, problems
}

// base is the root of an operation that has servers of its own, nil for base_url.
func (s *Service) base(o *Operation) *recipe.Base {
	servers := o.node.Get("servers").Items()
	if len(servers) == 0 {
		servers = o.item.Get("servers").Items()
	}
	if len(servers) == 0 || s.BaseURL == "" {
		return nil
	}
	text, _ := s.fill(servers[0])
	base, err := sdk.CheckBaseURL(text)
	if err != nil {
		root, rootErr := url.Parse(s.BaseURL)
		relative, refErr := url.Parse(text)
		if rootErr != nil || refErr != nil {
			return nil
		}
		if base, err = sdk.CheckBaseURL(root.ResolveReference(relative).String()); err != nil {
			return nil
		}
	}
	if base == s.BaseURL {
		return nil
	}
	return &recipe.Base{URL: base, Of: s.BaseURL}
}
