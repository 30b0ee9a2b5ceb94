package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// heldTokens are good by their ids.
type heldTokens struct {
	Tokens
	good map[string]bool
}

func (h heldTokens) AccessTokenHolds(_ context.Context, id string) bool { return h.good[id] }

// TestWhoActsWithinTheProcessHasItsTokensScope: every route, by every scope, by a token
// that was removed, and without a caller.
func TestWhoActsWithinTheProcessHasItsTokensScope(t *testing.T) {
	a := newAlwaysOn(t)
	options := a.options()
	options.Tokens = heldTokens{good: map[string]bool{"good": true}}
	handler := CallerHandler(options)
	as := func(caller guard.Caller) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handler.ServeHTTP(w, r.WithContext(guard.WithCaller(r.Context(), caller)))
		})
	}
	fill := strings.NewReplacer("{id}", knownRun, "{step}", "ask", "{action}", "whois")
	rest := regexp.MustCompile(`\{\w+\}`)
	tried := 0
	for _, route := range Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		if strings.Contains(path, schedulePattern[1:]) || strings.Contains(path, splitPattern) || strings.HasSuffix(path, "/stream") {
			continue
		}
		target := rest.ReplaceAllString(fill.Replace(path), "w")
		if route.Face != guard.FaceAPI {
			if w := send(as(guard.Caller{ID: "good", Scope: guard.Admin}), method, target, ""); w.Code != http.StatusNotFound {
				t.Errorf("%s is there: %d", route.Pattern, w.Code)
			}
			continue
		}
		for _, scope := range []guard.Scope{"", guard.Viewer, guard.Operator, guard.Admin} {
			tried++
			w := send(as(guard.Caller{ID: "good", Scope: scope}), method, target, "")
			if refused := w.Code == http.StatusForbidden; refused == scope.Allows(route.Scope) {
				t.Errorf("%s with the scope %q: %d %s", route.Pattern, scope, w.Code, w.Body)
			}
			if w := send(as(guard.Caller{ID: "gone", Scope: scope}), method, target, ""); w.Code != http.StatusUnauthorized {
				t.Errorf("%s with a removed token: %d", route.Pattern, w.Code)
			}
		}
		if w := send(handler, method, target, ""); w.Code != http.StatusUnauthorized {
			t.Errorf("%s without a caller: %d", route.Pattern, w.Code)
		}
	}
	if tried < 80 {
		t.Errorf("%d requests were tried", tried)
	}
	if len(a.runs.started) > 0 {
		t.Errorf("started %+v", a.runs.started)
	}
}

// filesOnly is a project where nothing has run.
type filesOnly struct{ fakeCatalog }

func (filesOnly) WorkflowList(context.Context) ([]engine.WorkflowInfo, error) {
	return []engine.WorkflowInfo{{Name: "w"}}, nil
}

func (filesOnly) Workflow(_ context.Context, name string) (*engine.WorkflowDetail, error) {
	return &engine.WorkflowDetail{WorkflowInfo: engine.WorkflowInfo{Name: name, File: "sub/w.yaml"}, Source: "in force"}, nil
}

func TestWhatTheFilesOfAProjectAnswer(t *testing.T) {
	handler := ProjectHandler(filesOnly{})
	for _, route := range Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		w := send(handler, method, strings.NewReplacer("{name}", "w", "{action}", "whois", "{id}", knownRun).Replace(path), "")
		answers := w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed
		if stored := strings.Contains(path, "/runs") || strings.Contains(path, "/local/") || strings.Contains(path, "/schedules"); answers && stored {
			t.Errorf("%s answers %d", route.Pattern, w.Code)
		}
	}
	list, err := NewClient(InProcess(handler)).Workflows(t.Context())
	if err != nil || len(list) != 1 {
		t.Errorf("the workflows are %v, %v", list, err)
	}
	schema, err := NewClient(InProcess(handler)).WorkflowSchema(t.Context())
	if err != nil || string(schema) != `{"type":"object"}` {
		t.Errorf("the schema is %s, %v", schema, err)
	}
	action, err := NewClient(InProcess(handler)).Action(t.Context(), "netinfo", "whois")
	if err != nil || action.ActionItem.Action != "netinfo.whois" || !strings.Contains(action.Step, "uses: netinfo.whois") || action.Inputs == nil {
		t.Errorf("the action is %+v, %v", action, err)
	}
	if _, err := NewClient(InProcess(handler)).Action(t.Context(), "netinfo", strings.Repeat("x", 301)); err == nil {
		t.Error("an action of 301 letters is there")
	}
}

// TestWhatIsTested: the file in the project, a text against the project's workflow, and
// two texts, which over TCP lead to no file.
func TestWhatIsTested(t *testing.T) {
	client := NewClient(InProcess(ProjectHandler(filesOnly{})))
	for name, c := range map[string]struct {
		request              TestRequest
		file, workflow, test string
	}{
		"the project's": {TestRequest{Workflow: "w"}, "sub/w.yaml.test", "file w.yaml", "beside"},
		"a text":        {TestRequest{Workflow: "w", Test: "mine"}, "sub/workflow.test.yaml", "in force", "mine"},
		"two texts":     {TestRequest{Source: "text", Test: "mine", File: "a/b.yaml"}, "a/workflow.test.yaml", "text", "mine"},
	} {
		summary, err := client.Test(t.Context(), c.request)
		if err != nil || summary.Passed != 1 || summary.Files[0].File != c.file || summary.Files[0].Workflow != c.workflow || summary.Files[0].Cases[0].Name != c.test {
			t.Errorf("%s: %+v, %v", name, summary, err)
		}
	}
	for _, request := range []TestRequest{{}, {Workflow: "w", Source: "x"}, {Source: "x"}} {
		if _, err := client.Test(t.Context(), request); err == nil {
			t.Errorf("%+v is tested", request)
		}
	}
	// What the options say of files is the catalogue's to keep.
	seen := workspace.TestOptions{}
	a := newAlwaysOn(t)
	options := a.options()
	options.Catalog = watchedTests{seen: &seen}
	mux := http.NewServeMux()
	for _, route := range API(options) {
		mux.Handle(route.Pattern, route.Handler)
	}
	send(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(guard.WithCaller(r.Context(), ci())))
	}), "POST", Prefix+"/test", `{"source":"x","test":"y"}`)
	if !seen.TextOnly {
		t.Error("a text over TCP leads to files")
	}
}

type watchedTests struct {
	fakeCatalog
	seen *workspace.TestOptions
}

func (w watchedTests) Test(_ context.Context, _ []workspace.TestFile, o workspace.TestOptions) []workspace.TestResult {
	*w.seen = o
	return nil
}

// TestRefusalsOfMCPAreProblems, and nothing of an answer may be kept.
func TestRefusalsOfMCPAreProblems(t *testing.T) {
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		status int
		body   string
	}{
		"a refusal in text":     {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "session not found", http.StatusNotFound) }, 404, `"detail":"session not found"`},
		"one of another status": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "conflict of streams", http.StatusTeapot) }, 418, `"status":418`},
		"an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "public")
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
		}, 200, "data: 1"},
		"a refusal in JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0"}`)
		}, 400, `{"jsonrpc":"2.0"}`},
		"a long refusal": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, strings.Repeat("x", 1<<20), 400) }, 400, "xxx"},
	} {
		w := send(spoken(c.handle, time.Now), "POST", "/mcp", "{}")
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) || w.Header().Get("Cache-Control") == "public" || w.Body.Len() > 5000 {
			t.Errorf("%s: %d %.300s", name, w.Code, w.Body)
		}
		if c.status >= 400 && name != "a refusal in JSON" && (w.Header().Get("Content-Type") != wire.ProblemType || !json.Valid(w.Body.Bytes())) {
			t.Errorf("%s is no problem: %v %s", name, w.Header(), w.Body)
		}
	}
	reached := false
	for _, method := range []string{"POST", "DELETE"} {
		w := send(spoken(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }), time.Now), method, "/mcp", "{}", "Content-Type", "text/plain")
		if w.Code != http.StatusUnsupportedMediaType || reached {
			t.Errorf("%s of text: %d", method, w.Code)
		}
	}
}

// TestAnAnswerOfMCPIsTakenInTime: a part that is not taken in time ends the connection; an
// answer that says nothing for a while goes on.
func TestAnAnswerOfMCPIsTakenInTime(t *testing.T) {
	for name, c := range map[string]struct {
		now  time.Time // of the deadline of each part
		want string
	}{
		"in time": {time.Now(), "one two"},
		"late":    {time.Now().Add(-time.Hour), ""},
	} {
		proceed := make(chan struct{})
		server := httptest.NewServer(spoken(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for _, part := range []string{"one ", "two"} {
				_, _ = io.WriteString(w, part)
				_ = http.NewResponseController(w).Flush()
				<-proceed
			}
		}), func() time.Time { return c.now }))
		close(proceed)
		response, err := http.Get(server.URL + "/mcp") //nolint:noctx // the server is here
		got := ""
		if err == nil {
			data, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			got = string(data)
		}
		if got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		server.Close()
	}
}

func TestAnActionsNameIsEscaped(t *testing.T) {
	client := NewClient(InProcess(ProjectHandler(filesOnly{})))
	if _, err := client.Action(t.Context(), "netinfo", "../../runs"); err == nil {
		t.Error("a path leads out of the plugin")
	}
}
