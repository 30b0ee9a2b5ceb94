package main_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/testbuild"
)

// What a document of 13 MB with 1,223 operations may cost of the processor.
const (
	firstValidate = 1500 * time.Millisecond // describes the plugin
	laterCommand  = 50 * time.Millisecond   // more than with a small document
)

// newGitHub is a project with GitHub's document, an overlay and the workflows of
// testdata/openapi. A connection leads to a service that answers with a function.
func newGitHub(t *testing.T, answer http.HandlerFunc) *revised {
	t.Helper()
	r := &revised{t: t, binary: buildBinary(t), dir: t.TempDir()}
	packed, err := os.Open("../../plugins/openapi/testdata/github/api.github.com.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	write(t, r.dir, "github.json", string(text))
	files, err := filepath.Glob("testdata/openapi/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, r.dir, filepath.Base(file), string(text))
	}
	service := httptest.NewServer(answer)
	t.Cleanup(service.Close)
	write(t, r.dir, "flowrun.yaml", fmt.Sprintf(`plugins:
  github: {source: "bundled:openapi", with: {document: github.json, overlay: overlay.yaml}}
connections:
  github: {plugin: github, config: {base_url: %q, token: t-1}}
workflows: [issues.yaml]
`, service.URL))
	return r
}

// problems are what `validate` says of a workflow, as LINE:COLUMN CODE.
func (r *revised) problems(workflow string) []string {
	r.t.Helper()
	stdout, stderr, code := flowrunHere(r.t, r.binary, r.dir, []string{"XDG_STATE_HOME=" + r.dir}, "validate", "--strict", "-o", "json", workflow)
	var report struct {
		Problems []struct {
			Line, Column   int
			Code, Severity string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		r.t.Fatalf("validate exits %d: %v\n%s%s", code, err, stdout, stderr)
	}
	var all []string
	for _, p := range report.Problems {
		all = append(all, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Code))
	}
	return all
}

// planted are the mistakes of testdata/openapi/mistakes.yaml: of the operation, of
// parameters, the body, enums, output fields, nulls, a secret, effects and unions.
var planted = []string{
	"8:11 FR4001",                                                                                 // no such operation
	"15:7 FR4003", "16:17 FR4005", "17:13 FR4005", "18:14 FR4005", "19:16 FR4005", "22:12 FR4004", // parameters
	"25:45 FR4005", "32:9 FR4003", "33:16 FR4005", "34:17 FR4005", "38:12 FR4004", "41:38 FR4004", // path and body; 33 is a union
	"44:62 FR4005", "51:43 FR3006", "52:13 FR4006", "55:15 FR4006", "56:20 FR4006", "57:17 FR4006", // enum, fields, nulls, unions
	"60:101 FR4013", "63:5 FR4011", "67:5 FR4011", "73:36 FR3013", "74:33 FR3006", "75:40 FR3009", // secret, effects, union, fields
}

func TestIssue16_2_PlantedMistakesAreFoundAtTheirColumns(t *testing.T) {
	t.Parallel()
	r := newGitHub(t, http.NotFound)
	if got := r.problems("mistakes.yaml"); len(planted) != 25 || !slices.Equal(got, planted) {
		t.Errorf("%d problems:\n%s\nwanted %d:\n%s", len(got), strings.Join(got, "\n"), len(planted), strings.Join(planted, "\n"))
	}
	if got := r.problems("issues.yaml"); len(got) != 0 { // the control
		t.Errorf("a workflow without mistakes has %v", got)
	}
	// the field is a secret by the overlay alone
	r.change("flowrun.yaml", ", overlay: overlay.yaml", "")
	if got := r.problems("mistakes.yaml"); len(got) != 26 || !slices.Contains(got, "60:71 FR4013") {
		t.Errorf("without the overlay: %v", got)
	}
}

func TestIssue16_2_ALargeDocumentCostsLittle(t *testing.T) {
	r := newGitHub(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "[]")
	})
	first := time.Hour
	for range 5 {
		if err := os.RemoveAll(filepath.Join(r.dir, "flowrun")); err != nil { // its state
			t.Fatal(err)
		}
		if first = min(first, cpuOf(t, r.binary, r.dir, "validate")); first <= firstValidate {
			break
		}
	}
	t.Logf("the first validate: %d ms", first.Milliseconds())
	if first > firstValidate {
		t.Errorf("the first validate takes %v, at most %v are allowed", first, firstValidate)
	}
	small := t.TempDir() // the same with a document of one operation
	text, err := os.ReadFile(filepath.Join(r.dir, "flowrun.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, small, "flowrun.yaml", strings.NewReplacer("github.json, overlay: overlay.yaml", "small.yaml").Replace(string(text)))
	write(t, small, "small.yaml", `openapi: 3.0.3
info: {title: small, version: "1"}
paths: {/issues: {get: {operationId: issues_list_for_repo, responses: {"200": {description: ok, content: {application/json: {schema: {type: array, items: {type: object}}}}}}}}}
`)
	write(t, small, "issues.yaml", "flowrun: v1\nname: w\nsteps:\n  - {id: list, uses: github.issues_list_for_repo, with: {}}\noutputs: {count: \"${{ len(steps.list.outputs) }}\"}\n")
	cpuOf(t, r.binary, small, "validate")
	for _, command := range []string{"validate", "run"} {
		more := time.Hour
		for range 12 {
			large, few := least(t, r.binary, r.dir, []string{command, "issues.yaml"}), least(t, r.binary, small, []string{command, "issues.yaml"})
			if more = min(more, large-few); more <= laterCommand {
				break
			}
		}
		t.Logf("%s: %d ms more", command, more.Milliseconds())
		if more > laterCommand {
			t.Errorf("%s takes %v more than with a small document, at most %v are allowed", command, more, laterCommand)
		}
	}
}

func TestIssue16_2_AnAnswerThatBreaksTheDocumentFailsItsStep(t *testing.T) {
	t.Parallel()
	answer := `[]`
	r := newGitHub(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	})
	r.flowrun(0, "run", "issues.yaml") // the control
	answer = `[{"id":"no number"}]`
	r.fails(5, []string{"unexpected_response", "/0/id: must be an integer"}, "run", "issues.yaml")
}

func TestIssue16_2_WhatIsLeftOutIsSaidOnceByItsPlace(t *testing.T) {
	t.Parallel()
	r := &revised{t: t, binary: buildBinary(t), dir: t.TempDir()}
	text, err := os.ReadFile("../../plugins/openapi/testdata/documents/broken-words.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, r.dir, "document.yaml", string(text))
	write(t, r.dir, "flowrun.yaml", "plugins:\n  d: {source: \"bundled:openapi\", with: {document: document.yaml}}\nworkflows: [w.yaml]\n")
	write(t, r.dir, "w.yaml", "flowrun: v1\nname: w\nsteps:\n  - {id: s, uses: d.b, with: {id: x}}\n")
	said := func() int {
		stdout, stderr, _ := flowrunHere(t, r.binary, r.dir, []string{"XDG_STATE_HOME=" + r.dir}, "validate")
		return strings.Count(stdout+stderr, "properties/pattern/pattern: is not read: Go knows no such expression")
	}
	if first, later := said(), said(); first != 1 || later != 0 {
		t.Errorf("it is said %d times, and later %d times", first, later)
	}
}

func TestIssue16_2_TheProgramOfThePluginPassesTheKit(t *testing.T) {
	t.Parallel()
	r := &revised{t: t, binary: buildBinary(t), dir: t.TempDir()}
	if err := testbuild.Program(filepath.Join(r.dir, "flowrun-plugin-openapi"), "../../plugins/openapi/cmd/flowrun-plugin-openapi"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../plugins/openapi/testdata/documents/petstore30.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, r.dir, "pets.yaml", string(text))
	write(t, r.dir, "kit.yaml", `with: {document: pets.yaml}
connection: {token: token-of-the-kit}
calls:
  - {action: show_pet_by_id, input: {petId: 7}}
  - {action: list_pets, input: {}}
`)
	stdout, stderr, code := flowrunHere(t, r.binary, r.dir, []string{"XDG_STATE_HOME=" + r.dir}, "plugins", "test", "./flowrun-plugin-openapi", "--config", "kit.yaml")
	if code != 0 || !strings.Contains(stdout, " 0 failed") {
		t.Errorf("plugins test exits %d:\n%s%s", code, stdout, stderr)
	}
}
