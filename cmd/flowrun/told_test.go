package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// toldWorkflow calls an endpoint before and after a person has said yes.
const toldWorkflow = `flowrun: v1
name: twice
steps:
  - id: before
    uses: crm.hello
    with: {name: Ada}
  - id: ask
    uses: core.approve
    with: {message: "Once more?"}
  - id: after
    uses: crm.hello
    with: {name: Ada}
outputs: {before: "${{ steps.before.outputs.text }}", after: "${{ steps.after.outputs.text }}"}
`

const toldOnce = `flowrun: v1
name: once
steps:
  - id: hello
    uses: crm.hello
    with: {name: Ada}
outputs: {by: "${{ steps.hello.outputs.text }}"}
`

// document is what the project tells the plugin: one endpoint below a folder, whose answer
// has its text in a field.
func document(folder, field string) string {
	return fmt.Sprintf(`{
  "hello": {
    "doc": "Greet somebody",
    "path": "/%s/hello/{name}",
    "input": {"type": "object", "properties": {"name": {"type": "string"}, "mark": {"type": "string", "default": "!"}}, "required": ["name"], "additionalProperties": false},
    "output": {"type": "object", "properties": {%q: {"type": "string"}}, "required": [%[2]q]}
  },
  "other": {"doc": "Not used", "path": "/other", "input": {"type": "object", "additionalProperties": false}, "output": {"type": "object"}}
}
`, folder, field)
}

// newTold is a project whose plugin, built of the example, describes a file of it.
func newTold(t *testing.T) *revised {
	t.Helper()
	r := &revised{t: t, binary: buildBinary(t), dir: t.TempDir()}
	build := exec.Command("go", "build", "-o", filepath.Join(r.dir, "endpoints"), ".")
	build.Dir = "../../examples/plugins/endpoints"
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, output)
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		folder, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		_ = json.NewEncoder(w).Encode(map[string]string{"text": folder + " " + filepath.Base(r.URL.Path) + r.URL.Query().Get("mark")})
	}))
	t.Cleanup(service.Close)
	write(t, r.dir, "crm.json", document("v1", "text"))
	write(t, r.dir, "flowrun.yaml", fmt.Sprintf(`plugins:
  crm:
    source: ./endpoints
    with: {document: crm.json}
  other:
    source: ./endpoints
    with: {document: other.json, only: [other]}
connections:
  crm: {plugin: crm, config: {base_url: %q}}
server: {listen: "127.0.0.1:0"}
workflows: [once.yaml, twice.yaml]
`, service.URL))
	write(t, r.dir, "other.json", document("other", "text"))
	write(t, r.dir, "once.yaml", toldOnce)
	write(t, r.dir, "twice.yaml", toldWorkflow)
	return r
}

// change puts other text into a file of the project.
func (r *revised) change(name, old, with string) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		r.t.Fatalf("%s does not have %q:\n%s", name, old, text)
	}
	write(r.t, r.dir, name, strings.ReplaceAll(string(text), old, with))
}

// fails runs a command that fails, and looks for texts in what it says.
func (r *revised) fails(want int, texts []string, args ...string) {
	r.t.Helper()
	stdout, stderr, code := flowrunHere(r.t, r.binary, r.dir, []string{"XDG_STATE_HOME=" + r.dir}, args...)
	if code != want {
		r.t.Errorf("flowrun %v exits %d, want %d\n%s%s", args, code, want, stdout, stderr)
	}
	for _, text := range texts {
		if !strings.Contains(stdout+stderr, text) {
			r.t.Errorf("flowrun %v does not say %q:\n%s%s", args, text, stdout, stderr)
		}
	}
}

func TestIssue16_1_APluginDescribesTheFileThatTheProjectNames(t *testing.T) {
	t.Parallel()
	r := newTold(t)
	r.flowrun(0, "validate", "once.yaml")
	if out := r.read(r.flowrun(0, "run", "once.yaml", "-o", "json")); out.Outputs.By != "v1 Ada!" {
		t.Errorf("the run gives %q", out.Outputs.By)
	}
	for _, text := range []string{"crm", "other", "endpoints"} {
		if out := r.flowrun(0, "plugins", "list"); !strings.Contains(out, text) {
			t.Errorf("the list of plugins lacks %q:\n%s", text, out)
		}
	}
	if out := r.flowrun(0, "explain", "crm.hello"); !strings.Contains(out, "name") || !strings.Contains(out, "text") {
		t.Errorf("explain has no schemas:\n%s", out)
	}
	if out := r.flowrun(0, "explain", "other.other"); !strings.Contains(out, "Not used") {
		t.Errorf("the same program under another name:\n%s", out)
	}
	r.fails(9, []string{"other.hello"}, "explain", "other.hello")

	r.change("once.yaml", "name: Ada", "nam: Ada")
	r.fails(3, []string{"once.yaml:6:12", "did you mean `name`?"}, "validate", "once.yaml")
	r.change("once.yaml", "nam: Ada", "name: Ada")
	r.change("once.yaml", "outputs.text", "outputs.txt")
	r.fails(3, []string{"once.yaml:7:", "did you mean `text`?"}, "validate", "once.yaml")
	r.change("once.yaml", "outputs.txt", "outputs.text")
	r.change("once.yaml", "crm.hello", "crm.helo")
	r.fails(3, []string{"once.yaml:5:11", "did you mean `crm.hello`?"}, "validate", "once.yaml")
	r.change("once.yaml", "crm.helo", "crm.hello")
	r.flowrun(0, "validate", "once.yaml")
}

func TestIssue16_1_MistakesInWhatAPluginIsToldHaveTheirPlace(t *testing.T) {
	t.Parallel()
	r := newTold(t)
	if err := os.Symlink("/etc/passwd", filepath.Join(r.dir, "out.json")); err != nil {
		t.Fatal(err)
	}
	write(t, r.dir, "broken.json", "[]")
	for name, c := range map[string]struct {
		with  string
		texts []string
	}{
		"a misspelt key":     {"{documnt: crm.json}", []string{"flowrun.yaml:4:12", "FR5010", "did you mean `document`?"}},
		"a missing setting":  {"{only: [hello]}", []string{"flowrun.yaml:2:3", "FR5025", "document"}},
		"another kind":       {"{document: crm.json, only: {a: 1}}", []string{"flowrun.yaml:4:38", "FR5013"}},
		"a missing file":     {"{document: none.json}", []string{"flowrun.yaml:4:22", "FR5025", "no such file"}},
		"a folder":           {"{document: .}", []string{"flowrun.yaml:4:22", "FR5025", "not a regular file"}},
		"a link to outside":  {"{document: out.json}", []string{"flowrun.yaml:4:22", "FR5025"}},
		"a path to outside":  {"{document: ../crm.json}", []string{"flowrun.yaml:4:22", "FR5025"}},
		"an absolute path":   {"{document: /etc/passwd}", []string{"flowrun.yaml:4:22", "FR5025", "absolute"}},
		"a secret":           {"{document: \"${{ secrets.KEY }}\"}", []string{"flowrun.yaml:4:22", "FR5011"}},
		"what it refuses":    {"{document: crm.json, only: [hello, helo]}", []string{"flowrun.yaml:4:46", "FR5025", "crm.json has no endpoint helo"}},
		"a file it can't do": {"{document: broken.json}", []string{"flowrun.yaml:4:22", "FR5025", "broken.json has no endpoints"}},
	} {
		r.change("flowrun.yaml", "with: {document: crm.json}", "with: "+c.with)
		t.Log(name)
		r.fails(3, c.texts, "validate", "once.yaml")
		r.change("flowrun.yaml", "with: "+c.with, "with: {document: crm.json}")
	}
	r.flowrun(0, "validate", "once.yaml")
	r.change("once.yaml", "crm.hello", "weather.hello")
	r.fails(3, []string{"no plugin has the name `weather`"}, "validate", "once.yaml")
}

func TestIssue16_1_AChangedDocumentIsANewRevision(t *testing.T) {
	t.Parallel()
	r := newTold(t)
	r.serve()
	old := r.begin()
	write(t, r.dir, "crm.json", document("v2", "text"))
	r.await("plugin changed", "plugin=crm")
	if out := r.read(r.flowrun(0, "run", "once.yaml", "-o", "json")); out.Outputs.By != "v2 Ada!" {
		t.Errorf("a run after the change gives %q", out.Outputs.By)
	}

	write(t, r.dir, "crm.json", document("v3", "words"))
	line := r.await("plugin is not in force", "once.yaml:7:")
	if !strings.Contains(line, "plugin=crm") {
		t.Errorf("the line is %s", line)
	}
	if out := r.read(r.flowrun(0, "run", "once.yaml", "-o", "json")); out.Outputs.By != "v2 Ada!" {
		t.Errorf("while a breaking document waits a run gives %q", out.Outputs.By)
	}

	r.kill()
	if err := os.Remove(filepath.Join(r.dir, "crm.json")); err != nil {
		t.Fatal(err)
	}
	r.serve()
	if out := r.read(r.flowrun(0, "run", "once.yaml", "-o", "json")); out.Outputs.By != "v2 Ada!" {
		t.Errorf("after kill -9, without the document, a run gives %q", out.Outputs.By)
	}
	r.flowrun(0, "runs", "approve", old, "ask")
	r.flowrun(0, "runs", "watch", old)
	if out := r.read(r.flowrun(0, "runs", "show", old, "-o", "json")); out.Outputs.Before != "v1 Ada!" || out.Outputs.After != "v1 Ada!" {
		t.Errorf("the run that was accepted before gives %+v", out.Outputs)
	}
}

// TestIssue16_1_TheExampleKeepsItsPromises judges the example by the kit, told what its
// kit.yaml says.
func TestIssue16_1_TheExampleKeepsItsPromises(t *testing.T) {
	t.Parallel()
	r := newTold(t)
	folder, err := filepath.Abs("../../examples/plugins/endpoints")
	if err != nil {
		t.Fatal(err)
	}
	out := r.flowrun(0, "plugins", "test", "./endpoints", "--config", filepath.Join(folder, "kit.yaml"))
	for _, id := range []string{"settings.schema", "settings.name", "settings.refuses", "settings.recipes", "index.whole", "index.alone", "start.host", "execute.completes"} {
		if !strings.Contains(out, id) {
			continue // a case of another name
		}
		for line := range strings.Lines(out) {
			if strings.Contains(line, id) && !strings.HasPrefix(strings.TrimSpace(line), "ok") {
				t.Errorf("%s", line)
			}
		}
	}
	if !strings.Contains(out, "settings.recipes") {
		t.Errorf("the report has no case of settings:\n%s", out)
	}
	copyOf, err := os.ReadFile(filepath.Join(folder, "orders.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(filepath.Join(folder, "crm.json"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, r.dir, "orders.yaml", string(copyOf))
	write(t, r.dir, "crm.json", string(document))
	r.flowrun(0, "validate", "--strict", "orders.yaml")
}

func TestIssue16_1_TheLockKnowsWhatAPluginIsTold(t *testing.T) {
	t.Parallel()
	r := newTold(t)
	r.flowrun(0, "plugins", "lock")
	lock, err := os.ReadFile(filepath.Join(r.dir, "flowrun.lock"))
	if err != nil || strings.Count(string(lock), `"settings": "sha256:`) != 2 {
		t.Fatalf("%v\n%s", err, lock)
	}
	r.flowrun(0, "run", "once.yaml", "--locked")
	r.flowrun(0, "plugins", "verify")
	again := r.flowrun(0, "plugins", "lock")
	if now, _ := os.ReadFile(filepath.Join(r.dir, "flowrun.lock")); string(now) != string(lock) {
		t.Errorf("the second lock is another one: %s\n%s\n%s", again, lock, now)
	}

	write(t, r.dir, "crm.json", document("v2", "text"))
	r.flowrun(0, "run", "once.yaml") // what is told is reviewed with the project
	r.fails(3, []string{"plugin crm", "flowrun.yaml tells it something else than flowrun.lock has"}, "run", "once.yaml", "--locked")
	r.fails(11, []string{"changed", "crm", "tells it something else"}, "plugins", "verify")
	r.flowrun(0, "plugins", "lock")
	r.flowrun(0, "run", "once.yaml", "--locked")
	r.flowrun(0, "plugins", "verify")
}

func TestIssue16_1_AnUpgradeOfWhatIsToldSomethingIsCompared(t *testing.T) {
	t.Parallel()
	r := newTold(t)
	out := r.flowrun(0, "plugins", "upgrade", "crm", "--check", "--to", "./endpoints")
	if strings.Contains(out, "is gone") {
		t.Errorf("the same program:\n%s", out)
	}
	docs := r.flowrun(0, "plugins", "docs", "crm")
	if !strings.Contains(docs, "crm.hello") || !strings.Contains(docs, "Not used") {
		t.Errorf("the reference lacks an action:\n%s", docs)
	}
	shown := r.flowrun(0, "plugins", "show", "crm")
	if !strings.Contains(shown, "endpoints") || !strings.Contains(shown, "takes      document, text, required: JSON file with the endpoints") {
		t.Errorf("shown:\n%s", shown)
	}
}

func TestIssue16_1_ABundledPluginUnderAnotherName(t *testing.T) {
	t.Parallel()
	r := newTold(t)
	plugins := "plugins:\n  words: {source: \"bundled:%s\"}\n"
	write(t, r.dir, "flowrun.yaml", fmt.Sprintf(plugins, "dictonary"))
	write(t, r.dir, "once.yaml", strings.ReplaceAll(toldOnce, "crm.hello", "words.meanings"))
	r.fails(3, []string{"flowrun.yaml:2:3", "no plugin `dictonary` is bundled", "did you mean `dictionary`?"}, "validate", "once.yaml")
	write(t, r.dir, "flowrun.yaml", fmt.Sprintf(plugins, "dictionary"))
	r.fails(3, []string{"flowrun.yaml:2:3", "FR5025", "takes no settings, and has no other name than dictionary"}, "validate", "once.yaml")
}

const toldOpenAPI = `openapi: 3.1.0
info: {title: CRM, version: "1"}
servers: [{url: "https://crm.example"}]
paths:
  /customers/{id}:
    get:
      operationId: customer
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses:
        "200":
          description: one
          content: {application/json: {schema: {type: object, required: [name], properties: {name: {type: string}}}, example: {name: Ada}}}
`

// TestIssue16_1_TwoDocumentsOfOneBundledPlugin has the plugin openapi twice in one project,
// each with its own document, and its simulator in the place of the service.
func TestIssue16_1_TwoDocumentsOfOneBundledPlugin(t *testing.T) {
	t.Parallel()
	r := &revised{t: t, binary: buildBinary(t), dir: t.TempDir()}
	write(t, r.dir, "crm.yaml", toldOpenAPI)
	write(t, r.dir, "other.yaml", strings.ReplaceAll(toldOpenAPI, "operationId: customer", "operationId: person"))
	write(t, r.dir, "flowrun.yaml", "plugins:\n  crm: {source: \"bundled:openapi\", with: {document: crm.yaml}}\n  people: {source: \"bundled:openapi\", with: {document: other.yaml}}\n")
	write(t, r.dir, "both.yaml", `flowrun: v1
name: both
steps:
  - id: one
    uses: crm.customer
    with: {id: c1}
  - id: two
    uses: people.person
    with: {id: p1}
outputs: {one: "${{ steps.one.outputs.name }}", two: "${{ steps.two.outputs.name }}"}
`)
	r.flowrun(0, "validate", "--strict", "both.yaml")
	out := r.flowrun(0, "run", "both.yaml", "--sandbox", "-o", "json")
	if !strings.Contains(out, `"one":"Ada"`) || !strings.Contains(out, `"two":"Ada"`) {
		t.Errorf("the run in a sandbox:\n%s", out)
	}
	r.change("both.yaml", "uses: crm.customer", "uses: crm.person")
	r.fails(3, []string{"both.yaml:5:11", "has no action `person`"}, "validate", "both.yaml")
	r.change("both.yaml", "uses: crm.person", "uses: openapi.person")
	r.fails(3, []string{"both.yaml:5:11", "flowrun.yaml tells it nothing", "with: {document: ..}"}, "validate", "both.yaml")
	if out := r.flowrun(0, "plugins", "list"); !strings.Contains(out, "bundled:openapi") {
		t.Errorf("the list does not say whose names these are:\n%s", out)
	}
	r.flowrun(0, "plugins", "lock")
	r.change("both.yaml", "uses: openapi.person", "uses: crm.customer")
	r.flowrun(0, "run", "both.yaml", "--sandbox", "--locked")
	write(t, r.dir, "crm.yaml", toldOpenAPI+"# changed\n")
	r.fails(3, []string{"plugin crm", "tells it something else"}, "run", "both.yaml", "--sandbox", "--locked")
	r.fails(11, []string{"changed", "crm"}, "plugins", "verify")
}
