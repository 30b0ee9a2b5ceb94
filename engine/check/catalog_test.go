package check

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
)

// fakeCatalog has the actions of a few made-up plugins.
type fakeCatalog struct {
	actions     map[string]*plan.Action
	connections map[string]string
	asked       []question
}

type question struct {
	action  string
	input   string
	unknown []string
}

func (f *fakeCatalog) Action(name string) (*plan.Action, bool) {
	a, ok := f.actions[name]
	return a, ok
}

func (f *fakeCatalog) ActionNames() []string          { return sortedNames(f.actions) }
func (f *fakeCatalog) Connections() map[string]string { return f.connections }

func (f *fakeCatalog) PluginProblem(plugin string) string {
	if plugin == "broken" {
		return "it ended before it answered"
	}
	return ""
}

// Validate refuses a domain without a dot, warns of one in capitals, narrows
// the records of an MX question, and can't be asked about task.lost.
func (f *fakeCatalog) Validate(_ context.Context, action string, input json.RawMessage, unknown []string) (Validation, error) {
	f.asked = append(f.asked, question{action, string(input), unknown})
	var in struct{ Domain, Type string }
	if err := json.Unmarshal(input, &in); err != nil {
		return Validation{}, err
	}
	var v Validation
	switch {
	case action == "task.lost" || action == "tasks.lost":
		return Validation{}, errors.New("the plugin has ended")
	case in.Domain != "" && !strings.Contains(in.Domain, "."):
		v.Problems = append(v.Problems, ValidationProblem{
			Severity: diag.Error, Summary: "a domain has a dot", Detail: "write example.com", Pointer: "/domain",
		})
	case in.Domain != strings.ToLower(in.Domain):
		v.Problems = append(v.Problems, ValidationProblem{Severity: diag.Warning, Summary: "capitals are not needed", Pointer: "/domain"})
	}
	if in.Type == "MX" {
		v.Output = json.RawMessage(`{"type":"object","properties":{"hosts":{"type":"array","items":{"type":"string"}}},"required":["hosts"]}`)
	}
	return v, nil
}

// File has a few files, some of which hold what an input takes.
func (f *fakeCatalog) File(name string) ([]byte, error) {
	content, ok := map[string]string{
		"./body.yaml": "text: hello\nn: 3\n", "./body.json": `{"text": "hello", "n": 3}`, "./list.yaml": "[1, 2]", "./broken.yaml": "a: [1\n", "./other.json": `{"n": "x"}`, "./empty.yaml": "",
	}[name]
	if !ok {
		return nil, errors.New("there is no such file")
	}
	return []byte(content), nil
}

const whoisOutput = `{"type":"object","required":["domain","found"],"properties":{
	"domain":{"type":"string"},"found":{"type":"boolean"},"registrar":{"type":["string","null"]},
	"days_to_expiry":{"type":["integer","null"]},"score":{"type":"number"},
	"expires":{"type":"string","format":"date-time"},
	"name_servers":{"type":"array","items":{"type":"string"}}}}`

const listOutput = `{"type":"object","required":["items"],"properties":{
	"items":{"type":"array","items":{"type":"object","required":["id","title"],"properties":{
		"id":{"type":"integer"},"title":{"type":"string"},"due":{"type":["string","null"],"format":"date-time"}}}},
	"next_cursor":{"type":["string","null"]}}}`

func fake() *fakeCatalog {
	f := &fakeCatalog{actions: map[string]*plan.Action{}}
	f.add("net.whois", plan.EffectRead, `{"type":"object","required":["domain"],"additionalProperties":false,"properties":{
		"domain":{"type":"string","minLength":1},"missing_ok":{"type":"boolean","default":false},"days":{"type":"integer","minimum":1},
		"ratio":{"type":"number"},"since":{"type":"string","format":"date-time"},"mode":{"type":"string","enum":["fast","full"]},
		"tags":{"type":"array","items":{"type":"string"},"maxItems":2},"extra":{"type":"object"},"note":{"type":["string","null"]}}}`,
		whoisOutput).DefaultTimeout = 30 * time.Second
	f.add("net.dns", plan.EffectRead, `{"type":"object","required":["domain"],"properties":{"domain":{"type":"string"},"type":{"type":"string"}}}`,
		`{"type":"object","required":["records"],"properties":{"records":{"type":"array","items":{"type":"object","required":["data"],"properties":{"data":{"type":"string"},"ttl":{"type":"integer"}}}}}}`)
	f.add("task.list", plan.EffectRead, `{"type":"object","properties":{"since":{"type":"string","format":"date-time"},"cursor":{"type":["string","null"]}}}`, listOutput).
		Paging = &plan.Paging{CursorField: "cursor", ItemsField: "items", NextField: "next_cursor"}
	f.actions["task.list"].Incremental = true
	f.add("task.status", plan.EffectIdempotent, `{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}`,
		`{"type":"object","required":["done"],"properties":{"done":{"type":"boolean"}}}`)
	f.add("task.add", plan.EffectOnce, `{"type":"object","required":["title"],"properties":{"title":{"type":"string"}}}`,
		`{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}`)
	f.add("task.lost", plan.EffectRead, ``, ``)
	f.add("web.fetch", plan.EffectRead, `{"type":"object","required":["url"],"properties":{"url":{"type":"string"}}}`,
		`{"type":"object","required":["body","status"],"properties":{"body":{"type":"object","x-flowrun-blob":true},"status":{"type":"integer"}}}`)
	f.add("web.put", plan.EffectIdempotent, `{"type":"object","required":["body"],"properties":{"body":{"anyOf":[{"type":"string"},{"type":"object","x-flowrun-blob":true}]},
		"file":{"type":"object","x-flowrun-blob":true}}}`, `{"type":"object"}`)
	f.add("mail.send", plan.EffectOnce, `{"type":"object","required":["to","password"],"properties":{
		"to":{"type":"string"},"password":{"type":"string","writeOnly":true},
		"headers":{"type":"object","writeOnly":true,"additionalProperties":{"type":"string"}},"body":{"anyOf":[{"type":"object","required":["text"],"properties":{"text":{"type":"string"},"n":{"type":"integer"}}},{"type":"string","format":"project-file"}]}}}`, `{"type":"object","properties":{}}`)
	f.add("core.log", plan.EffectRead, `{"type":"object","required":["text"],"additionalProperties":false,"properties":{
		"text":{"type":"string"},"level":{"type":"string","enum":["debug","info","warn","error"],"default":"info"}}}`, `{"type":"object","properties":{},"additionalProperties":false}`)
	f.add("core.assert", plan.EffectRead, `{"type":"object","required":["that"],"additionalProperties":false,"properties":{
		"that":{"type":"boolean"},"message":{"type":"string"}}}`, `{"type":"object","properties":{},"additionalProperties":false}`)
	f.add("core.sleep", plan.EffectRead, `{"type":"object","additionalProperties":false,"properties":{
		"for":{"type":"string","format":"duration"},"until":{"type":"string","format":"date-time"}}}`, `{"type":"object","properties":{},"additionalProperties":false}`)
	f.addCore()
	return f
}

func (f *fakeCatalog) add(name string, effect plan.Effect, input, output string) *plan.Action {
	plugin, short, _ := strings.Cut(name, ".")
	a := &plan.Action{Plugin: plugin, Name: short, Effect: effect, Input: json.RawMessage(input), Output: json.RawMessage(output)}
	f.actions[name] = a
	return a
}
