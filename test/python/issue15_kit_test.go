package python

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/conformance"
)

const kitConfig = `{
  "connection": {"base_url": "${service}", "api_key": "key-of-the-kit-1"},
  "answers": [
    {"method": "GET", "path": "/thing", "body": {"id": 7}},
    {"method": "POST", "path": "/things", "status": 201, "body": {"id": 8}},
    {"method": "GET", "path": "/cursor?cursor=2", "body": {"items": [{"id": "b"}]}},
    {"method": "GET", "path": "/cursor", "body": {"items": [{"id": "a"}], "next": "2"}}
  ],
  "calls": [
    {"action": "fetch", "input": {"path": "/thing"}},
    {"action": "send", "input": {"path": "/things"}},
    {"action": "list", "input": {"by": "cursor"}},
    {"action": "remember", "input": {}},
    {"action": "wait", "input": {"how": "soon"}}
  ],
  "faults": [
    {"action": "fetch", "input": {"path": "/gone"}, "answer": {"status": 404, "body": {"error": "gone"}}, "code": "not_found", "reason": "gone"}
  ],
  "skip": {"describe.simulator": "the twins have none"}
}`

// TestIssue15_5_TheKitJudgesBothSDKsAlike: the twins pass the same cases, with the same
// words about those for which there is no occasion; cases of streams are those of Go.
func TestIssue15_5_TheKitJudgesBothSDKsAlike(t *testing.T) {
	t.Parallel()
	needPython(t)
	if err := twinsBuilt(); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(t.TempDir(), "twin-python")
	pack(t, "testdata/twin.py", packed)
	goes, python := judged(t, filepath.Join(programs, "twin-go")), judged(t, packed)
	ofGo, ofPython := verdicts(goes), verdicts(python)
	for id, verdict := range ofPython { // the one difference: Python has no stream (ADR 77)
		if strings.HasPrefix(id, "stream.") {
			if ofGo[id] != "passed " || verdict != "skipped it has no feature `execute_stream`" {
				t.Errorf("%s: Go %s, Python %s", id, ofGo[id], verdict)
			}
			delete(ofGo, id)
			delete(ofPython, id)
		}
	}
	if diff := cmp.Diff(ofGo, ofPython); diff != "" {
		t.Errorf("the SDK for Go (-) and the one for Python (+):\n%s", diff)
	}
	for name, report := range map[string]*conformance.Report{"go": goes, "python": python} {
		var text bytes.Buffer
		if err := report.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if report.Failed > 0 || report.Passed < 65 {
			t.Errorf("%s:\n%s", name, &text)
		}
	}
}

// judged is what the kit says of a plugin.
func judged(t *testing.T, program string) *conformance.Report {
	t.Helper()
	config, err := conformance.ParseConfig([]byte(kitConfig))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "fk") // with a short path: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	report, err := conformance.Run(t.Context(), conformance.Options{
		Command: []string{program}, Environ: os.Environ(), Entropy: rand.Reader, Now: time.Now, Version: "0.0.0", Dir: dir, Config: config,
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// verdicts is how each case ended, and why one was not tried.
func verdicts(r *conformance.Report) map[string]string {
	ended := map[string]string{}
	for _, result := range r.Results {
		ended[result.Case] = string(result.Status) + " " + result.Reason
	}
	return ended
}
