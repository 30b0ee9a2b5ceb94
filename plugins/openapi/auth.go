package openapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// scheme is a credential that a connection can be given.
type scheme struct {
	recipe.Scheme
	ID       string   // of the document, "" = of the settings
	TokenURL string   // of client credentials, "" = there are none
	Scopes   []string // to ask for
	Doc      string
}

// readAuth finds what credentials the service takes: as the settings say, else as the
// document says. Of a service whose document says nothing it is a token.
func (s *Service) readAuth() {
	for _, said := range s.settings.Auth {
		if found, ok := authOf(said); ok {
			s.Auth = append(s.Auth, found)
		}
	}
	if len(s.settings.Auth) > 0 {
		return
	}
	schemes := s.document.root.Get("components").Get("securitySchemes")
	for _, member := range schemes.Members() {
		place := child("/components/securitySchemes", member.Name)
		node, at := s.document.deref(member.Value, place)
		if found, ok := s.schemeOf(node, at); ok {
			found.ID = member.Name
			if found.Kind == recipe.APIKey {
				found.Key = member.Name
			}
			s.Auth = append(s.Auth, found)
		}
	}
	if schemes == nil {
		s.Auth = []scheme{{Scheme: recipe.Scheme{Kind: recipe.Bearer}, Doc: "Access token; the document does not say what the service takes"}}
	}
}

func authOf(said AuthSetting) (scheme, bool) {
	switch said.Kind {
	case "none":
		return scheme{}, false
	case "client_credentials":
		return scheme{Scheme: recipe.Scheme{Kind: recipe.Bearer}, TokenURL: said.Token, Scopes: strings.Fields(said.Scopes)}, true
	case recipe.APIKey:
		in := cmp.Or(said.In, recipe.InHeader)
		return scheme{Scheme: recipe.Scheme{Kind: recipe.APIKey, Name: said.Name, In: in, Key: said.Name}}, true
	}
	return scheme{Scheme: recipe.Scheme{Kind: said.Kind}}, true
}

// schemeOf reads a security scheme.
func (s *Service) schemeOf(n *tree.Node, place string) (scheme, bool) {
	found := scheme{Doc: firstLine(n.Get("description").Text())}
	switch kind := n.Get("type").Text(); kind {
	case "http":
		switch word := strings.ToLower(n.Get("scheme").Text()); word {
		case "bearer":
			found.Kind = recipe.Bearer
		case "basic":
			found.Kind = recipe.Basic
		default:
			s.document.notes.add(place, "the HTTP scheme %q is not sent", sdk.Shown(word, 40))
			return found, false
		}
	case "apiKey":
		found.Scheme = recipe.Scheme{Kind: recipe.APIKey, Name: n.Get("name").Text(), In: n.Get("in").Text()}
		if found.Name == "" || !slices.Contains([]string{recipe.InHeader, recipe.InQuery, recipe.InCookie}, found.In) {
			s.document.notes.add(place, "the API key has no name, or no place that is known")
			return found, false
		}
	case "oauth2":
		found.Kind = recipe.Bearer
		flow := n.Get("flows").Get("clientCredentials")
		found.TokenURL = flow.Get("tokenUrl").Text()
		for _, other := range n.Get("flows").Members() {
			if other.Name != "clientCredentials" {
				s.document.notes.add(child(place, "flows", other.Name), "a person's login is made with the plugin auth, and its token taken with token_from")
			}
		}
	case "openIdConnect":
		found.Kind = recipe.Bearer
	default:
		s.document.notes.add(place, "the security scheme %q is not sent", sdk.Shown(kind, 40))
		return found, false
	}
	return found, true
}

// security is what an operation wants of the credentials: one of several sets. None =
// what the connection has.
func (s *Service) security(o *Operation) []recipe.Requirement {
	if len(s.settings.Auth) > 0 {
		var all recipe.Requirement
		for _, one := range s.Auth {
			all = append(all, one.Scheme)
		}
		return []recipe.Requirement{all, {}}
	}
	wanted := o.node.Get("security")
	if wanted == nil {
		wanted = s.document.root.Get("security")
	}
	if wanted == nil {
		if s.document.root.At("/components/securitySchemes") != nil {
			return []recipe.Requirement{{}} // the document says who is asked for credentials
		}
		return nil
	}
	all := []recipe.Requirement{}
	for _, set := range wanted.Items() {
		requirement, known := recipe.Requirement{}, true
		for _, member := range set.Members() {
			i := slices.IndexFunc(s.Auth, func(one scheme) bool { return one.ID == member.Name })
			if i < 0 {
				known = false
				continue
			}
			requirement = append(requirement, s.Auth[i].Scheme)
		}
		if known {
			all = append(all, requirement)
		}
	}
	if len(all) == 0 && len(wanted.Items()) == 0 {
		all = append(all, recipe.Requirement{})
	}
	return all
}
