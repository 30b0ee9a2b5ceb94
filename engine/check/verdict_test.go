package check

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/editor"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

// ofTheTable are the codes of what the table of the language says: keys, words and bounds, names and shapes, and the inputs of actions.
func ofTheTable(code string) bool {
	return slices.Contains([]string{
		spec.CodeUnknownKey, spec.CodeShape, spec.CodeTwoKinds, spec.CodeKeyOfKind, spec.CodeNoKind, spec.CodeVersion, spec.CodeMissingKey, spec.CodeNoElements,
		CodeWord, CodeDuration, CodeNumber, CodeMissing, CodeUnknownKey, CodeShape, CodeTriggerKind, CodeTriggerKey, CodeNoneOrTooMany,
		CodeWithoutPlugins, CodeUnknownAction, CodeUnknownPlugin, CodeUnknownField, CodeMissingField, CodeLiteral, CodeID, CodeName, CodeSchema,
	}, code)
}

// editorOf is the schema that an editor has where these actions are installed.
func editorOf(t *testing.T, language *spec.Language, actions map[string]*plan.Action, connections []string) *jsonschema.Resolved {
	t.Helper()
	var all []*plan.Action
	for _, name := range sortedNames(actions) {
		all = append(all, actions[name])
	}
	text, err := editor.Schema(language, all, connections)
	if err != nil {
		t.Fatal(err)
	}
	read := new(jsonschema.Schema)
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	resolved, err := read.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// asEditorsRead is a file as YAML alone has it; false where it is not YAML.
func asEditorsRead(source []byte) (any, bool) {
	var document yaml.Node
	if yaml.Unmarshal(source, &document) != nil || len(document.Content) != 1 {
		return nil, false
	}
	return asJSON(document.Content[0])
}

func asJSON(node *yaml.Node) (any, bool) {
	switch node.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i < len(node.Content); i += 2 {
			value, ok := asJSON(node.Content[i+1])
			if !ok {
				return nil, false
			}
			object[node.Content[i].Value] = value
		}
		return object, true
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range node.Content {
			value, ok := asJSON(item)
			if !ok {
				return nil, false
			}
			list = append(list, value)
		}
		return list, true
	case yaml.AliasNode:
		return nil, false
	}
	var value any
	switch {
	case node.Tag == "!!timestamp": // JSON has none
		return node.Value, true
	case node.Decode(&value) != nil:
		return nil, false
	}
	return value, true
}

// verdicts compares what the checker and the editor say of one file; "" where they agree: what the checker takes the editor takes, and what the
// checker refuses by the table the editor refuses.
func verdicts(schema *jsonschema.Resolved, source []byte, problems diag.List) string {
	value, isYAML := asEditorsRead(source)
	if !isYAML || slices.ContainsFunc(problems, func(p diag.Problem) bool { return strings.HasPrefix(p.Code, "FR10") && p.Code < spec.CodeUnknownKey }) {
		return "" // YAML itself is wrong: an editor says that without a schema
	}
	byTable := slices.ContainsFunc(problems, func(p diag.Problem) bool { return ofTheTable(p.Code) && p.Severity == diag.Error })
	switch err := schema.Validate(value); {
	case err != nil && !problems.HasErrors():
		return fmt.Sprintf("the editor refuses what the checker takes: %v", err)
	case err == nil && byTable:
		return fmt.Sprintf("the editor takes what the checker refuses: %v", problems)
	}
	return ""
}

// beyond are files whose problem no schema can tell, although its code is one of the table's: a value that does not have the type that the same
// file declares for it, or that another value bounds; how a number is written; a name that is taken; a pattern that is none.
func beyond(file string) bool {
	for _, prefix := range []string{"input-default-", "state-set", "step-set-state-type", "trigger-input-", "trigger-jitter-longer", "loop-name-", "input-pattern"} {
		if strings.HasPrefix(filepath.Base(file), prefix) {
			return true
		}
	}
	return false
}

func TestEditorGivesTheVerdictOfTheChecker(t *testing.T) {
	schema, excused := editorOf(t, spec.V1(), fake().actions, nil), 0
	for _, pattern := range []string{"testdata/mistakes/*.yaml", "testdata/valid/*.yaml"} {
		for _, file := range files(t, pattern, 60) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, problems := checkText(catalogFor(string(source)), filepath.Base(file), string(source))
			switch odd := verdicts(schema, source, problems); {
			case odd != "" && beyond(file):
				excused++
			case odd != "":
				t.Errorf("%s: %s", filepath.Base(file), odd)
			}
		}
	}
	if excused < 15 {
		t.Errorf("only %d files are beyond a schema: the list is too long", excused)
	}
	schema = editorOf(t, spec.V1(), docCatalog("").actions, nil)
	for _, page := range diag.Pages() {
		for _, text := range []string{page.Wrong, page.Right} {
			if text == "" || needsProject(page.Code) || page.Code == CodeStateDefault {
				continue
			}
			catalog, source := docCatalog(text), example(text)
			_, problems := checkText(catalog, "w.yaml", source)
			if odd := verdicts(schema, []byte(source), problems); odd != "" {
				t.Errorf("%s: %s\n%s", page.Code, odd, source)
			}
		}
	}
}

// open is a catalog that has every action, and takes all that is given to it.
type open struct{ *fakeCatalog }

var called = regexp.MustCompile(`uses:\s*"?([a-z][\w-]*\.[\w-]+)`)

// openFor has the actions that a text calls.
func openFor(text string) open {
	f := fake()
	for _, match := range called.FindAllStringSubmatch(text, -1) {
		if plugin, name, _ := strings.Cut(match[1], "."); plugin != corePlugin {
			f.actions[match[1]] = &plan.Action{
				Plugin: plugin, Name: name, Effect: plan.EffectRead, Incremental: true, Paging: &plan.Paging{ItemsField: "items"},
				Input: json.RawMessage(`{"type":"object","additionalProperties":{}}`), Output: json.RawMessage(`{}`),
			}
		}
	}
	return open{f}
}

// Workflow takes every workflow as a step.
func (open) Workflow(context.Context, string) (string, *plan.Workflow, *WorkflowFault) {
	return "other", &plan.Workflow{Inputs: json.RawMessage(`{"type":"object","additionalProperties":{}}`)}, nil
}

var fenced = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// TestEditorGivesTheVerdictOfTheCheckerOnExamples holds all workflows that are shipped, and those on the pages, against both.
func TestEditorGivesTheVerdictOfTheCheckerOnExamples(t *testing.T) {
	texts := map[string]string{}
	for _, pattern := range []string{"../../workflows/*.yaml", "../../docs/coming-from/*.yaml", "../../docs/coming-from/lib/*.yaml", "../../cmd/flowrun/testdata/annotated/*.yaml", "../../docs/*.md", "../../docs/*/*.md", "../../README.md"} {
		for _, file := range files(t, pattern, 1) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(file) == ".yaml" {
				texts[file] = string(source)
			}
			for i, block := range fenced.FindAllStringSubmatch(string(source), -1) {
				texts[fmt.Sprintf("%s, block %d", file, i+1)] = block[1]
			}
		}
	}
	seen, all := 0, openFor(strings.Join(slices.Collect(maps.Values(texts)), "\n"))
	schema := editorOf(t, spec.V1(), all.actions, nil)
	for _, name := range sortedNames(texts) {
		text := texts[name]
		if !strings.Contains(text, "flowrun: v1") || strings.Contains(name, ".test.yaml") {
			continue
		}
		seen++
		_, problems := checkText(all, "w.yaml", text)
		if odd := verdicts(schema, []byte(text), problems); odd != "" {
			t.Errorf("%s: %s", name, odd)
		}
	}
	if seen < 40 {
		t.Errorf("only %d workflows are compared", seen)
	}
}

// contexts are workflows with a place for one key of each map of the language.
func contexts() map[string][]string {
	const head = "flowrun: v1\n"
	const steps = head + "steps:\n  - let: {x: 1}\n"
	step := func(text string) string {
		return head + "state: {n: {type: integer, default: 0}}\nsteps:\n  - " + text + "\n"
	}
	call := func(text string) string {
		return step("{uses: task.list, with: {since: 2026-01-02T00:00:00Z}, " + text + "}")
	}
	trigger := func(text string) string { return steps + "triggers: {t: {" + text + "}}\n" }
	schema := func(text string) string { return steps + "inputs: {a: " + text + "}\n" }
	const poll = "poll: {uses: task.list, every: 1m, items: \"${{ result.items }}\", key: \"${{ item.id }}\"}"
	const token = "auth: {token: \"${{ secrets.K }}\"}"
	return map[string][]string{
		"workflow": {steps + "«»\n", head + "«»\n", "«»\nsteps:\n  - let: {x: 1}\n"},
		"step": {
			call("«»"), step("{let: {x: 1}, «»}"), step("{set_state: {n: 1}, «»}"), step("{foreach: [1], steps: [{let: {x: 1}}], «»}"), step("{steps: [{let: {x: 1}}], «»}"), step("{«»}"),
		},
		"labels": {steps + "labels: {«»}\n"}, "concurrency": {steps + "concurrency: {«»}\n"}, "defaults": {steps + "defaults: {«»}\n"},
		"outputs": {steps + "outputs: {«»}\n"}, "output": {steps + "outputs: {a: {value: x, «»}}\n", steps + "outputs: {a: {«»}}\n"},
		"destination": {
			steps + "outputs: {a: {value: x, to: [{uses: task.add, with: {title: x}, «»}]}}\n", steps + "outputs: {a: {value: x, to: [{«»}]}}\n",
		},
		"let": {step("{let: {«»}}")}, "set_state": {step("{set_state: {«»}}")}, "values": {step("{uses: task.lost, with: {«»}}")},
		"retry": {call("retry: {«»}"), steps + "defaults: {retry: {«»}}\n"}, "repeat": {call("repeat: {until: result.items == [], every: 1s, «»}"), call("repeat: {«»}")},
		"paginate": {call("paginate: {«»}")}, "incremental": {call("paginate: {}, incremental: {«»}")}, "reactions": {call("on_error: {«»}")},
		"triggers": {steps + "triggers: {«»}\n"},
		"trigger":  {trigger("cron: \"@daily\", «»"), trigger("every: 1h, «»"), trigger("webhook: {" + token + "}, «»"), trigger(poll + ", «»"), trigger("after: {workflow: report}, «»"), trigger("«»")},
		"dst":      {trigger("cron: \"@daily\", dst: {«»}")}, "catchup": {trigger("cron: \"@daily\", catchup: {«»}")},
		"webhook": {trigger("webhook: {" + token + ", «»}"), trigger("webhook: {«»}")}, "auth": {trigger("webhook: {auth: {«»}}"), trigger("webhook: {auth: {token: \"${{ secrets.K }}\", «»}}")},
		"hmac_sha256": {trigger("webhook: {auth: {hmac_sha256: {secret: \"${{ secrets.K }}\", header: X-S, «»}}}"), trigger("webhook: {auth: {hmac_sha256: {«»}}}")},
		"poll":        {trigger("poll: {uses: task.list, every: 1m, items: \"${{ result.items }}\", key: \"${{ item.id }}\", «»}"), trigger("poll: {«»}")},
		"after":       {trigger("after: {workflow: report, «»}"), trigger("after: {«»}")},
		"inputs":      {steps + "inputs: {«»}\n"}, "state": {steps + "state: {«»}\n"},
		"form": {step("{uses: core.approve, with: {message: m, form: {«»}}}")}, "properties": {schema("{type: object, properties: {«»}}")},
		"schema": {
			schema("{«»}"), schema("{type: string, «»}"), schema("{type: integer, «»}"), schema("{type: array, «»}"), schema("{type: object, «»}"),
			trigger("webhook: {" + token + ", body: {type: object, «»}}"), step("{uses: core.wait, with: {signal: s, schema: {«»}}}"), step("{uses: core.approve, with: {message: m, form: {a: {«»}}}}"),
		},
		"with core.approve": {step("{uses: core.approve, with: {message: m, «»}}")}, "with core.wait": {step("{uses: core.wait, with: {signal: s, «»}}")},
		"with core.sleep": {step("{uses: core.sleep, with: {«»}}"), step("{uses: core.sleep, with: {for: 1s, «»}}")},
	}
}

// samples are values of a key in flow style: those that it takes, those beside its bounds, and some that no key takes; few
// are those that tell whether the key belongs to where it stands.
func samples(key *spec.Key, few bool) []string {
	list := []string{
		"nonsense", "[]", "1", "1s", "{type: string}", "{secret: \"${{ secrets.K }}\", header: X-S}", "{nonsense: true}", "[nonsense]", "{}", "-1", "1.5", "true", "\"${{ nonsense }}\"", "\"$${{ a\"", "500ms", "0s", "PT1.0000000001S", "100000000000",
		"\"${{ secrets.K }}\"", "a b", "\"" + strings.Repeat("a", 101) + "\"", "[{type: string}]", "{a: {tpe: string}}", "{every: 1h}",
	}
	if few {
		list = list[:6]
	}
	if slices.Contains([]string{inputsKey, "const", "default", "enum"}, key.Name) { // the file itself says of which type they are
		return nil
	}
	for _, word := range key.Values {
		list = append(list, word, "["+word+"]", word+"x")
	}
	if key.Type == spec.Integer || key.Type == spec.Number {
		for _, n := range []float64{key.Least - 1, key.Least, key.Most, key.Most + 1} {
			list = append(list, strings.TrimSuffix(fmt.Sprintf("%.0f", n), ".0"))
		}
	}
	return list
}

// disagreements writes each sample of each key of a table into a workflow, and returns where a checker and an editor, each by its own table, do
// not agree, until there are most of them.
func disagreements(t *testing.T, most int, of []spec.Map, checked, edited *spec.Language) (odd []string, compared int) {
	t.Helper()
	places := contexts()
	catalog := fake()
	schema := editorOf(t, edited, catalog.actions, nil)
	for i := range of {
		m := &of[i]
		keys := slices.Clone(m.Keys)
		if m.Each != nil {
			for _, name := range []string{"a", "A-1", "1", "manual", "a b", strings.Repeat("a", 101)} {
				key := *m.Each
				key.Name = "\"" + name + "\""
				keys = append(keys, key)
			}
		}
		keys = append(keys, spec.Key{Name: "nonsense"})
		if len(places[m.Name]) == 0 {
			t.Errorf("no workflow with a place for a key of %s", m.Name)
		}
		for at, place := range places[m.Name] {
			for _, key := range keys {
				for _, sample := range samples(&key, at > 0) {
					text := strings.Replace(place, "«»", key.Name+": "+sample, 1)
					tree, problems := checked.Parse("w.yaml", []byte(text))
					_, more := Check(context.Background(), tree, catalog)
					problems = append(problems, more...)
					compared++
					if difference := verdicts(schema, []byte(text), problems); difference != "" {
						if odd = append(odd, fmt.Sprintf("%s.%s: %s in\n%s%s", m.Name, key.Name, sample, text, difference)); len(odd) == most {
							return odd, compared
						}
					}
				}
			}
		}
	}
	return odd, compared
}

func TestEditorGivesTheVerdictOfTheCheckerOnEachKey(t *testing.T) {
	odd, compared := disagreements(t, 40, spec.V1().Maps, spec.V1(), spec.V1())
	for _, one := range odd {
		t.Error(one)
	}
	t.Logf("%d of %d", len(odd), compared)
	if compared < 5_000 && len(odd) == 0 {
		t.Errorf("only %d workflows are compared", compared)
	}
}
