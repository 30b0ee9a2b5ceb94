package openapi_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/openapi"
	"github.com/flowrun/flowrun/sdk"
)

// read reads a service of the pets.
func read(t *testing.T, name string, settings openapi.Settings) (*openapi.Service, error) {
	t.Helper()
	settings.Document = name
	return openapi.Read(settings, openapi.Files{Document: []byte(document(t, name))})
}

func names(s *openapi.Service) string {
	var all []string
	for _, o := range s.Operations {
		all = append(all, o.Name)
	}
	return strings.Join(all, " ")
}

func TestOperationsAreChosen(t *testing.T) {
	t.Parallel()
	for want, settings := range map[string]openapi.Settings{
		"create_pet delete_pet list_pets show_pet_by_id": {},
		"create_pet list_pets":                           {Only: []string{"/pets"}},
		"delete_pet":                                     {Only: []string{"DELETE *"}},
		"list_pets show_pet_by_id":                       {Only: []string{"list*", "show_pet_by_id"}},
		"create_pet delete_pet show_pet_by_id":           {Except: []string{"listPets"}},
		"create_pet":                                     {Only: []string{"*Pet"}, Except: []string{"delete*"}},
	} {
		s, err := read(t, "petstore30.yaml", settings)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(s); got != want {
			t.Errorf("%v %v takes %s, wanted %s", settings.Only, settings.Except, got, want)
		}
	}
}

func TestMistakesInSettingsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	named := openapi.Rule{}
	named.Name = "one"
	limited := openapi.Rule{For: []string{"nothing*"}}
	limited.Limits = []string{"none"}
	for _, test := range []struct {
		settings      openapi.Settings
		place, detail string
	}{
		{openapi.Settings{Only: []string{"listPets", "lstPets"}}, "/only/1", "did you mean listPets?"},
		{openapi.Settings{Except: []string{"tag:none"}}, "/except/0", ""},
		{openapi.Settings{Server: "https://"}, "/server", "https://pets.example.com/v1"},
		{openapi.Settings{Vars: map[string]string{"region": "eu"}}, "/variables/region", ""},
		{openapi.Settings{Rules: []openapi.Rule{named}}, "/rules/0/name", ""},
		{openapi.Settings{Rules: []openapi.Rule{named, limited}}, "/rules/1/limits/0", ""},
	} {
		_, err := read(t, "petstore30.yaml", test.settings)
		var wrong *openapi.ProblemsError
		if !errors.As(err, &wrong) {
			t.Errorf("%+v: no mistake is found", test.settings)
			continue
		}
		i := slices.IndexFunc(wrong.Problems, func(p sdk.Problem) bool { return p.Pointer == test.place })
		if i < 0 || !strings.Contains(wrong.Problems[i].Detail, test.detail) {
			t.Errorf("%+v: the mistakes are %+v, wanted one at %s", test.settings, wrong.Problems, test.place)
		}
	}
}

func TestServersAndTheirVariables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		document string
		settings openapi.Settings
		want     string
	}{
		{"petstore30.yaml", openapi.Settings{}, "https://pets.example.com/v1"},
		{"petstore30.yaml", openapi.Settings{Server: "1"}, "https://staging.pets.example.com/v1"},
		{"petstore30.yaml", openapi.Settings{Server: "staging"}, "https://staging.pets.example.com/v1"},
		{"petstore30.yaml", openapi.Settings{Server: "http://127.0.0.1:1/"}, "http://127.0.0.1:1"},
		{"petstore31.json", openapi.Settings{}, "https://eu.pets.example.com"},
		{"petstore31.json", openapi.Settings{Vars: map[string]string{"region": "us"}}, "https://us.pets.example.com"},
		{"broken-words.yaml", openapi.Settings{}, ""}, // relative: the connection has to say it
	} {
		s, err := read(t, test.document, test.settings)
		if err != nil {
			t.Fatal(err)
		}
		if s.BaseURL != test.want {
			t.Errorf("%s: base_url is %q, wanted %q", test.document, s.BaseURL, test.want)
		}
	}
}

func TestRulesSayWhatTheDocumentDoesNot(t *testing.T) {
	t.Parallel()
	first, second := openapi.Rule{}, openapi.Rule{For: []string{"createPet"}}
	first.Effect = "once"
	second.Effect, second.KeyHeader, second.Name = "keyed", "X-Key", "add_pet"
	s, err := read(t, "petstore30.yaml", openapi.Settings{Rules: []openapi.Rule{first, second}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Operation("list_pets").EffectWord() != "once" {
		t.Error("the rule for all is not taken")
	}
	action, err := s.Action("add_pet")
	if err != nil {
		t.Fatal(err)
	}
	if action.EffectWord() != "keyed" || action.Recipe.Key != "X-Key" {
		t.Errorf("the effect is %s, the header %q", action.EffectWord(), action.Recipe.Key)
	}
}

func TestAnOverlayMendsADocument(t *testing.T) {
	t.Parallel()
	text := document(t, "petstore30.yaml")
	overlay := `overlay: 1.0.0
info: {title: mended, version: "1"}
actions:
  - target: $.paths['/pets'].post
    update: {x-flowrun-effect: keyed, x-flowrun-name: add_pet}
  - target: $.paths.*[?(@.deprecated == true)]
    remove: true
  - target: $.paths['/pets'].get.parameters
    update: {name: page, in: query, schema: {type: integer}}
  - target: $.components.schemas.Pet.properties
    update: {chip: {type: string, format: password}}
`
	s, err := openapi.Read(openapi.Settings{Document: "d", Overlay: "o"}, openapi.Files{Document: []byte(text), Overlay: []byte(overlay)})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(s); got != "add_pet list_pets show_pet_by_id" {
		t.Errorf("the actions are %s", got)
	}
	if s.Operation("add_pet").EffectWord() != "keyed" {
		t.Error("the effect is not mended")
	}
	for name, want := range map[string]string{"add_pet": `"chip":{"type":"string","writeOnly":true}`, "list_pets": `"page":{"type":"integer"}`} {
		action, err := s.Action(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(action.Input), want) {
			t.Errorf("the input of %s is %s", name, action.Input)
		}
	}
}

func TestMistakesInOverlaysAndDescriptions(t *testing.T) {
	t.Parallel()
	pets := document(t, "petstore30.yaml")
	for overlay, want := range map[string]string{
		`actions: []`:      "overlay: 1.0.0",
		`{overlay: 1.0.0}`: "no actions",
		`{overlay: 1.0.0, actions: [{target: "$.paths['/nothing']", remove: true}]}`:     "selects nothing",
		`{overlay: 1.0.0, actions: [{target: "paths", remove: true}]}`:                   "begins with $",
		`{overlay: 1.0.0, actions: [{target: "$.paths[?length(@) > 1]", remove: true}]}`: "@ is due",
		`{overlay: 1.0.0, actions: [{target: "$.info"}]}`:                                "neither `update` nor",
		`{overlay: 1.0.0, actions: [{target: "$.info", updat: {}}]}`:                     "`updat` is no word",
		`{overlay: 1.0.0, actions: [{target: "$", remove: true}]}`:                       "can't be removed",
		`{overlay: 1.0.0, actions: [{target: "$.info.title", update: {a: 1}}]}`:          "neither an object nor a list",
	} {
		_, err := openapi.Read(openapi.Settings{Document: "d", Overlay: "o"}, openapi.Files{Document: []byte(pets), Overlay: []byte(overlay)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, wanted %s", overlay, err, want)
		}
	}
	for text, want := range map[string]string{
		`{api: 2}`:             "`api: 2` is not known",
		`{api: 1, action: {}}`: "did you mean actions?",
		`{api: 1}`:             "no actions",
		`{api: 1, actions: {a: {get: /a, post: /b}}}`:                "two methods",
		`{api: 1, actions: {a: {doc: x}}}`:                           "no method with a path",
		`{api: 1, actions: {a: {get: /a, quary: {}}}}`:               "did you mean query?",
		`{api: 1, actions: {a: {get: /a, query: {q: txt}}}}`:         "/actions/a/query/q: there is no type `txt`: did you mean text?",
		`{api: 1, actions: {a: {get: "/a/{id}", path: {ib: text}}}}`: "has no {ib}",
		`{api: 1, actions: {a: {get: /a}, b: {get: /a}}}`:            "another action is GET /a too",
		`{api: 1, auth: digest, actions: {a: {get: /a}}}`:            "/auth: bearer, basic",
		`{openapi: 3.0.0, info: {}}`:                                 "has no paths",
		`{title: x}`:                                                 "neither `openapi: 3.x` nor `api: 1`",
		"{\"openapi\": \"3.0.0\",\n\"paths\": }":                     "line 2",
		"":                                                           "is empty",
		"a: &a [*a]":                                                 "",
		"a: b: c":                                                    "no YAML",
		"\xff":                                                       "not in UTF-8",
	} {
		_, err := openapi.Read(openapi.Settings{Document: "d"}, openapi.Files{Document: []byte(text)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, wanted %s", text, err, want)
		}
	}
}
