package workspace

import (
	"encoding/json"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/project"
)

func TestRule13TheIdentityOfWhatIsAsked(t *testing.T) {
	declared := func(config string) *Workspace {
		return load(t, map[string]string{"flowrun.yaml": "connections:\n  work:\n    plugin: svc\n    config: " + config + "\n  other:\n    plugin: svc\n    config: " + config +
			"\nplugins:\n  svc: {source: ./none}\n"})
	}
	action := &plan.Action{
		Plugin: "svc", Name: "list", Paging: &plan.Paging{CursorField: "cursor"}, Range: &plan.Range{FromField: "from", ToField: "to"},
	}
	p := declared(`{base_url: "https://a.example", token: "${{ secrets.A }}"}`)
	name := func(p *Workspace, action *plan.Action, connection, input string, cursor bool) string {
		t.Helper()
		got, err := p.Identify(action, connection, json.RawMessage(input), cursor)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	base := name(p, action, "work", `{"a":9007199254740993,"b":{"y":1,"x":2}}`, true)
	for input, same := range map[string]bool{
		`{"b":{"x":2,"y":1},"a":9007199254740993}`:                                       true,
		`{"a":9007199254740993,"b":{"y":1,"x":2},"c":null}`:                              true,
		`{"a":9007199254740993,"b":{"y":1,"x":2},"cursor":"q"}`:                          true,
		`{"a":9007199254740993,"b":{"y":1,"x":2},"from":"2026-01-01","to":"2026-02-01"}`: true,
		`{"a":9007199254740992,"b":{"y":1,"x":2}}`:                                       false,
		`{"a":9007199254740993,"b":{"y":1,"x":3}}`:                                       false,
		`{"a":9007199254740993}`:                                                         false,
	} {
		if got := name(p, action, "work", input, true); (got == base) != same {
			t.Errorf("%s has the same identity: %v, want %v", input, got == base, same)
		}
	}
	from := `{"a":1,"from":"2026-01-01"}`
	if name(p, action, "work", from, false) == name(p, action, "work", `{"a":1}`, false) {
		t.Error("a cached answer of another range would be given")
	}
	if name(p, action, "work", from, true) == name(p, action, "other", from, true) {
		t.Error("the connection's name does not count")
	}
	if name(p, action, "work", from, true) != name(declared(`{token: "${{ secrets.B }}", base_url: "https://a.example"}`), action, "work", from, true) {
		t.Error("a secret counts")
	}
	if name(p, action, "work", from, true) == name(declared(`{base_url: "https://b.example"}`), action, "work", from, true) {
		t.Error("another address does not count")
	}
	sandbox := func(url string) *Workspace {
		simulators := []Simulator{{Plugin: "svc", Config: json.RawMessage(`{"base_url":"` + url + `"}`)}}
		return &Workspace{file: new(project.Project), sandbox: &sandboxed{Sandbox: Sandbox{Simulators: simulators}}}
	}
	if name(sandbox("http://127.0.0.1:1"), action, "work", from, true) != name(sandbox("http://127.0.0.1:2"), action, "work", from, true) {
		t.Error("the ports of a sandbox count")
	}
}
