package main_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"github.com/flowrun/flowrun/internal/cli"
)

// tool runs a command in this process and wants it to succeed.
func tool(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	host := cli.Host()
	host.Stdout, host.Stderr, host.Stdin = &stdout, &stderr, strings.NewReader("")
	host.Dir = repository(t)
	host.Environ = append(host.Environ, "FLOWRUN_STATE="+filepath.Join(suiteDir, "state")) // of all tools: plugins are described once
	if code := cli.Run(args, host); code != 0 {
		t.Fatalf("%v: exit %d\n%s", args, code, stderr.String())
	}
	return stdout.String()
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// shipped lists the workflows that come with flowrun, and the annotated example.
func shipped(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"workflows/*.yaml", "docs/coming-from/*.yaml", "cmd/flowrun/testdata/annotated/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(repository(t), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			if !strings.HasSuffix(file, ".test.yaml") && filepath.Base(file) != "flowrun.yaml" {
				files = append(files, file)
			}
		}
	}
	if len(files) < 8 {
		t.Fatalf("only %d workflows", len(files))
	}
	return files
}

// TestToolsSchemaTakesEveryShippedWorkflow checks the workflows as an editor
// does: by YAML's own types.
func TestToolsSchemaTakesEveryShippedWorkflow(t *testing.T) {
	t.Parallel()
	schema := resolved(t, tool(t, "schema"))
	for _, file := range shipped(t) {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(yamlValue(t, file, source)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestToolsSchemaRefusesWhatTheCheckerRefuses(t *testing.T) {
	t.Parallel()
	schema := resolved(t, tool(t, "schema"))
	head := "flowrun: v1\nsteps:\n"
	for name, text := range map[string]string{
		"unknown key":            head + "  - uses: core.log\n    wiht: {text: a}\n",
		"unknown action":         head + "  - uses: core.lug\n    with: {text: a}\n",
		"missing input":          head + "  - uses: core.log\n    with: {level: info}\n",
		"missing with":           head + "  - uses: core.log\n",
		"unknown input":          head + "  - uses: core.log\n    with: {text: a, txt: b}\n",
		"wrong enum":             head + "  - uses: core.log\n    with: {text: a, level: loud}\n",
		"wrong type":             head + "  - uses: core.assert\n    with: {that: [1]}\n",
		"text for a boolean":     head + "  - uses: core.assert\n    with: {that: sure}\n",
		"a key of another kind":  head + "  - let: {a: 1}\n    retry: {attempts: 2}\n",
		"a loop without steps":   head + "  - foreach: [1]\n",
		"a step that is nothing": head + "  - id: a\n",
		"no version":             "steps:\n  - let: {a: 1}\n",
		"a bare number as time":  head + "  - uses: core.log\n    timeout: 30\n    with: {text: a}\n",
	} {
		if err := schema.Validate(yamlValue(t, name, []byte(text))); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for name, text := range map[string]string{
		"an expression for a boolean": head + "  - uses: core.assert\n    with: {that: \"${{ 1 < 2 }}\"}\n",
		"a number for a text":         head + "  - uses: core.log\n    with: {text: 404}\n",
		"a workflow as a step":        head + "  - uses: ./lib/notify.yaml\n    with: {anything: 1}\n",
	} {
		if err := schema.Validate(yamlValue(t, name, []byte(text))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func resolved(t *testing.T, text string) *jsonschema.Resolved {
	t.Helper()
	schema := new(jsonschema.Schema)
	if err := json.Unmarshal([]byte(text), schema); err != nil {
		t.Fatal(err)
	}
	result, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func yamlValue(t *testing.T, name string, source []byte) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(source, &value); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

// TestToolsDrawingsOfShippedWorkflowsDoNotOverlap reads the boxes out of the
// drawings: siblings stand apart, and steps of a loop inside of its box.
func TestToolsDrawingsOfShippedWorkflowsDoNotOverlap(t *testing.T) {
	t.Parallel()
	for _, file := range shipped(t) {
		boxes, page := boxesOf(t, file, tool(t, "graph", file, "-f", "svg"))
		if len(boxes) == 0 {
			t.Errorf("%s: no boxes", file)
		}
		for i, a := range boxes {
			if a.outside(page) {
				t.Errorf("%s: %s leaves the page", file, a.path)
			}
			for _, b := range boxes[:i] {
				switch {
				case strings.HasPrefix(a.path, b.path+"."):
					if a.outside(b) {
						t.Errorf("%s: %s leaves %s", file, a.path, b.path)
					}
				case a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h:
					t.Errorf("%s: %s and %s overlap", file, a.path, b.path)
				}
			}
		}
	}
}

type drawnBox struct {
	path       string
	x, y, w, h int
}

func (b drawnBox) outside(of drawnBox) bool {
	return b.x < of.x || b.y < of.y || b.x+b.w > of.x+of.w || b.y+b.h > of.y+of.h
}

func boxesOf(t *testing.T, file, svg string) (boxes []drawnBox, page drawnBox) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	path := ""
	for {
		token, err := decoder.Token()
		if token == nil {
			return boxes, page
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attributes := map[string]string{}
		for _, a := range element.Attr {
			attributes[a.Name.Local] = a.Value
		}
		number := func(name string) int { n, _ := strconv.Atoi(attributes[name]); return n }
		box := drawnBox{path, number("x"), number("y"), number("width"), number("height")}
		switch {
		case element.Name.Local == "svg":
			page = box
		case attributes["data-step"] != "":
			path = attributes["data-step"]
		case element.Name.Local == "rect" && path != "":
			boxes, path = append(boxes, box), ""
		case element.Name.Local == "text":
			if x, length := number("x"), number("textLength"); len(boxes) > 0 && x >= boxes[len(boxes)-1].x && x+length > page.w {
				t.Errorf("%s: a text leaves the page", file)
			}
		}
	}
}

// TestToolsFormOfShippedWorkflowsIsStable formats each workflow and wants it
// valid, with the same plan, and the same text a second time.
func TestToolsFormOfShippedWorkflowsIsStable(t *testing.T) {
	t.Parallel()
	for _, file := range shipped(t) {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "uses: ./") {
			continue // it must stay where its other files are
		}
		copied := filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.WriteFile(copied, source, 0o600); err != nil {
			t.Fatal(err)
		}
		before := tool(t, "graph", copied)
		tool(t, "fmt", copied)
		if after := tool(t, "graph", copied); before != after {
			t.Errorf("%s: the order changes\n%s\n%s", file, before, after)
		}
		tool(t, "fmt", "--check", copied)
	}
}

func TestToolsPlanIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	for _, file := range shipped(t) {
		if first := tool(t, "plan", file, "-o", "json"); first != tool(t, "plan", file, "-o", "json") {
			t.Errorf("%s: two plans differ", file)
		}
	}
}
