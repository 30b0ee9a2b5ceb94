package python

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

const trackerFolder = "../../examples/plugins/tracker_python"

// tracker stands for the issue tracker of the examples: 120 issues in pages of 50.
type tracker struct {
	mu    sync.Mutex
	asked []string
}

func (s *tracker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Authorization"), body))
	w.Header().Set("Content-Type", "application/json")
	at, _ := strconv.Atoi(r.FormValue("page"))
	at = max(at, 1)
	issues := []map[string]any{}
	for id := (at-1)*50 + 1; id <= min(at*50, 120); id++ {
		issues = append(issues, map[string]any{"id": id})
	}
	var answer any
	switch r.Method + " " + r.URL.Path {
	case "GET /issues":
		if at > 3 {
			w.WriteHeader(http.StatusBadRequest)
		}
		if at < 3 {
			w.Header().Set("Link", fmt.Sprintf(`</issues?page=%d>; rel="next"`, at+1))
		}
		answer = issues
	case "GET /search":
		answer = map[string]any{"hits": issues, "tags": []string{}}
	case "GET /hours":
		answer = map[string]any{"hours": []any{1.50, r.URL.Query()}}
	case "POST /exports":
		answer = map[string]any{"id": "e/1"}
	case "GET /exports/e/1":
		answer = map[string]any{"id": "e/1", "url": "https://example.com/e1.csv"}
	case "GET /labels":
		answer = map[string]any{"labels": []string{"bug"}}
	default:
		answer = map[string]any{"login": "me"}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// TestIssue15_5_TheTrackerIsTheSameInBothLanguages: the example that the pages of
// docs/plugins show, in both languages, against one service.
func TestIssue15_5_TheTrackerIsTheSameInBothLanguages(t *testing.T) {
	t.Parallel()
	needPython(t)
	program := filepath.Join(t.TempDir(), "tracker-go")
	build := exec.Command("go", "build", "-C", trackerFolder+"/../tracker", "-buildvcs=false", "-o", program, ".")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	both := map[string]*twin{"go": start(t, program), "python": startScript(t, trackerFolder+"/tracker.py")}
	describeAlike(t, both)
	service := &tracker{}
	server := httptest.NewServer(service)
	defer server.Close()
	for name, w := range both {
		if problems := w.connect(`{"base_url":"` + server.URL + `","token":"a-token-of-it"}`); problems != nil {
			t.Fatalf("%s: %v", name, problems)
		}
	}
	const week = `{"from":"2026-01-01T00:00:00Z","to":"2026-01-08T00:00:00Z"}`
	for _, request := range []struct {
		action, input, cursor, checkpoint string
		asks                              int
		completes                         bool
	}{
		{"list", `{}`, "", "", 1, true},
		{"list", `{}`, server.URL + "/issues?page=3", "", 1, true},
		{"list", `{}`, server.URL + "/issues?page=4", "", 1, false}, // cursor_expired
		{"list", `{"cursor":"` + server.URL + `/issues?page=2"}`, "", "", 1, true},
		{"search", `{"text":"a b"}`, "", "", 1, true},
		{"search", `{"text":"a b","page":2}`, "3", "", 1, true},
		{"search", `{"text":""}`, "", "", 0, false},
		{"hours", week, "", "", 1, true},
		{"export", `{}`, "", "", 1, false}, // pending
		{"export", `{"format":"json"}`, "", "e/1", 1, true},
		{"labels", `{}`, "", "", 1, true},
		{"labels", `{}`, "", "", 0, true}, // of the state
	} {
		got, asked := map[string]told{}, map[string][]string{}
		for name, w := range both {
			made := w.execute(&pluginv1.ExecuteRequest{
				Action: request.action, Input: &pluginv1.Value{Json: []byte(request.input)}, PageCursor: request.cursor, Checkpoint: []byte(request.checkpoint),
			})
			got[name], asked[name] = shape(made.end), service.asked
			service.asked = nil
		}
		if diff := cmp.Diff(got["go"], got["python"]); diff != "" {
			t.Errorf("%v (-go +python):\n%s", request, diff)
		}
		if diff := cmp.Diff(asked["go"], asked["python"]); diff != "" || len(asked["go"]) != request.asks {
			t.Errorf("%v asked %q (-go +python):\n%s", request, asked["go"], diff)
		}
		if completed := got["go"].Output != nil; completed != request.completes {
			t.Errorf("%v: %+v", request, got["go"])
		}
	}
}
