package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func request(handler http.Handler, method, path, contentType, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://flowrun/", strings.NewReader(body))
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(path, "?")
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func problemCode(t *testing.T, w *httptest.ResponseRecorder) wire.Code {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("content type %q of status %d: %s", got, w.Code, w.Body)
	}
	var problem Problem
	if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
		t.Fatal(err)
	}
	if problem.Status != w.Code || problem.Detail == "" || problem.Title == "" {
		t.Errorf("problem %+v with status %d", problem, w.Code)
	}
	return problem.Code
}

func TestEveryRouteNamesItsScope(t *testing.T) {
	seen := map[string]bool{}
	for _, route := range Routes() {
		if route.Face == "" || route.Face != FaceSocket && (route.Face == guard.FaceAPI) != guard.Admin.Allows(route.Scope) || route.Face == FaceSocket && route.Scope != onSocket && route.Scope != anybody && !guard.Admin.Allows(route.Scope) {
			t.Errorf("%s has the face %q and the scope %q: nobody may use it", route.Pattern, route.Face, route.Scope)
		}
		if seen[route.Pattern] {
			t.Errorf("%s stands in the table twice", route.Pattern)
		}
		seen[route.Pattern] = true
		method, path, _ := strings.Cut(route.Pattern, " ")
		if method != http.MethodGet && route.Scope == guard.Viewer && !strings.HasSuffix(path, "/validate") && !strings.HasSuffix(path, "/plan") && !strings.HasSuffix(path, "/test") && path != Prefix+"/local/logout" { // who ends their own token needs no more
			t.Errorf("%s changes something and takes a viewer", route.Pattern)
		}
		if strings.Contains(path, "/local/") != (route.Face == FaceSocket) {
			t.Errorf("%s: /local/ is for the socket alone", route.Pattern)
		}
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	const run = Prefix + "/runs/" + knownRun
	tests := map[string]struct {
		method, path, contentType, body string
		want                            wire.Code
	}{
		"a path that does not exist":             {"GET", "/api/v1/nothing", "", "", wire.CodeNotFound},
		"a path with two slashes":                {"GET", "/api/v1//runs", "", "", wire.CodeNotFound},
		"a path that climbs":                     {"GET", "/api/v1/runs/../plugins", "", "", wire.CodeNotFound},
		"the root":                               {"GET", "/", "", "", wire.CodeNotFound},
		"a method that is not allowed":           {"DELETE", Prefix + "/runs", "", "", wire.CodeMethod},
		"an unknown run":                         {"GET", Prefix + "/runs/01zzz", "", "", wire.CodeNotFound},
		"a run id in capitals":                   {"GET", Prefix + "/runs/ABC", "", "", wire.CodeNotFound},
		"a run id with a dot":                    {"POST", Prefix + "/runs/a.b/cancel", "", "", wire.CodeNotFound},
		"a plugin name that is a path":           {"GET", Prefix + "/plugins/..%2f/actions", "", "", wire.CodeNotFound},
		"a body of no type":                      {"POST", Prefix + "/local/runs", "", `{}`, wire.CodeMediaType},
		"a form":                                 {"POST", Prefix + "/local/runs", "application/x-www-form-urlencoded", "a=b", wire.CodeMediaType},
		"JSON with a suffix":                     {"POST", Prefix + "/local/runs", "application/json+x", `{}`, wire.CodeMediaType},
		"JSON with a strange charset":            {"POST", Prefix + "/local/runs", "application/json; charset=latin1", `{}`, wire.CodeMediaType},
		"an unknown field":                       {"POST", Prefix + "/local/runs", "application/json", `{"file":"a","sauce":1}`, wire.CodeBadRequest},
		"two values":                             {"POST", Prefix + "/local/runs", "application/json", `{} {}`, wire.CodeBadRequest},
		"no JSON":                                {"POST", Prefix + "/local/runs", "application/json", `{`, wire.CodeBadRequest},
		"an empty body where one is needed":      {"POST", Prefix + "/local/runs", "application/json", ``, wire.CodeBadRequest},
		"a body that is too large":               {"POST", run + "/cancel", "application/json", `"` + strings.Repeat("a", bodyCap) + `"`, wire.CodeTooLarge},
		"an unknown parameter":                   {"GET", Prefix + "/runs?sort=name", "", "", wire.CodeBadRequest},
		"a limit of 0":                           {"GET", Prefix + "/runs?limit=0", "", "", wire.CodeBadRequest},
		"a limit that is no number":              {"GET", Prefix + "/runs?limit=all", "", "", wire.CodeBadRequest},
		"a label without a value":                {"GET", Prefix + "/runs?label=team", "", "", wire.CodeBadRequest},
		"a parameter that is given twice":        {"GET", Prefix + "/runs?limit=1&limit=2", "", "", wire.CodeBadRequest},
		"a since that is no time":                {"GET", Prefix + "/runs?since=yesterday", "", "", wire.CodeBadRequest},
		"a cursor that is no run's id":           {"GET", "/api/v1/runs?cursor=zz", "", "", wire.CodeBadRequest},
		"a status that does not exist":           {"GET", "/api/v1/runs?status=faild", "", "", wire.CodeBadRequest},
		"an events cursor that is no number":     {"GET", run + "/events?cursor=x", "", "", wire.CodeBadRequest},
		"a stream without a topic":               {"GET", Prefix + "/stream", "", "", wire.CodeBadRequest},
		"a stream of an id that no run can have": {"GET", Prefix + "/stream?topics=run:../x", "", "", wire.CodeNotFound},
		"a stream of an unknown run":             {"GET", Prefix + "/stream?topics=run:01zzz", "", "", wire.CodeNotFound},
		"a workflow with problems":               {"POST", Prefix + "/local/runs", "application/json", `{"file":"a.yaml","source":"d3Jvbmc="}`, wire.CodeInvalidWorkflow},
	}
	handler, _ := newTestHandler(t, new(fakeRuns))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := request(handler, test.method, test.path, test.contentType, test.body)
			if got := problemCode(t, w); got != test.want {
				t.Errorf("code %s, want %s: %s", got, test.want, w.Body)
			}
		})
	}
}

func TestAWrongQueryIsToldOverHTTP(t *testing.T) {
	runs := &fakeRuns{err: runquery.Check(`statuss == "failed"`)}
	handler, _ := newTestHandler(t, runs)
	w := request(handler, "GET", Prefix+"/runs?query="+url.QueryEscape(`statuss == "failed"`), "", "")
	var problem Problem
	if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
		t.Fatal(err)
	}
	if len(problem.Problems) != 1 || problem.Problems[0].EndColumn != 8 || problem.Problems[0].Code != "FR3005" {
		t.Errorf("problems %+v", problem.Problems)
	}
	problem.Problems = nil
	want := Problem{
		Type: "about:blank", Title: "Bad Request", Status: 400, Code: wire.CodeBadRequest,
		Detail: "the query is wrong: column 1: unknown name `statuss` [FR3005]", Hint: diag.Meant("status"),
	}
	if diff := cmp.Diff(want, problem); diff != "" || w.Code != 400 || w.Header().Get("Content-Type") != wire.ProblemType {
		t.Errorf("%d (-want +got):\n%s", w.Code, diff)
	}
	if len(runs.filters) != 1 || runs.filters[0].Query != `statuss == "failed"` {
		t.Errorf("asked for %+v", runs.filters)
	}
}

func TestErrorsOfTheEngineBecomeCodes(t *testing.T) {
	tests := map[string]struct {
		err  error
		want wire.Code
	}{
		"conflict":     {&fault.ConflictError{Message: "it runs", Hint: diag.Say("wait")}, wire.CodeConflict},
		"input":        {&fault.InputError{Input: "site", Message: "missing"}, wire.CodeInvalidInput},
		"store full":   {&fault.StoreError{Fault: fault.StoreFull, Err: fmt.Errorf("x")}, wire.CodeStoreFull},
		"store broken": {&fault.StoreError{Fault: fault.StoreCorrupt, Err: fmt.Errorf("x")}, wire.CodeStoreCorrupt},
		"store newer":  {&fault.StoreError{Fault: fault.StoreNewer, Err: fmt.Errorf("x")}, wire.CodeStoreNewer},
		"store io":     {&fault.StoreError{Fault: fault.StoreIO, Err: fmt.Errorf("x")}, wire.CodeStoreIO},
		"too many":     {&fault.BusyError{Runs: 11_000}, wire.CodeTooMany},
		"query":        {runquery.Check("statuss"), wire.CodeBadRequest},
		"anything":     {fmt.Errorf("x"), wire.CodeInternal},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			handler, _ := newTestHandler(t, &fakeRuns{err: test.err})
			w := request(handler, "POST", Prefix+"/runs/"+knownRun+"/cancel", "", "")
			if got := problemCode(t, w); got != test.want {
				t.Errorf("code %s, want %s", got, test.want)
			}
			if later := w.Header().Get("Retry-After") != ""; later != (w.Code == http.StatusTooManyRequests || w.Code == http.StatusServiceUnavailable) {
				t.Errorf("status %d with Retry-After %q", w.Code, w.Header().Get("Retry-After"))
			}
		})
	}
}

func TestAPanicIsOneRequestsError(t *testing.T) {
	o := newAlwaysOn(t).options()
	o.Ready = func() error { panic("boom") }
	if got := problemCode(t, request(NewSocketHandler(o), "GET", "/readyz", "", "")); got != wire.CodeInternal {
		t.Errorf("code %s", got)
	}
}

// TestAPathHasOneSpelling: an escape is taken only where a name may be any text, that
// of a step, a workflow or a trigger. A word of the path, an id and any other name
// that is written otherwise is no path at all: who looks at paths, such as a proxy,
// sees what the server sees.
func TestAPathHasOneSpelling(t *testing.T) {
	handler := NewSocketHandler(newAlwaysOn(t).options())
	free := func(segments []string, i int) bool {
		switch segments[i] {
		case "{step}", "{workflow}", "{trigger}":
			return true
		}
		return segments[i][0] == '{' && (segments[i-1] == "workflows" || segments[i-1] == "schedules")
	}
	fill := strings.NewReplacer("{id}", knownRun, "{step}", "ask", "{name}", "work", "{workflow}", "w", "{trigger}", "t", "{by}", "run")
	tried := 0
	for _, route := range Routes() {
		method, pattern, _ := strings.Cut(route.Pattern, " ")
		segments := strings.Split(pattern, "/")
		for i := 1; i < len(segments); i++ {
			if free(segments, i) {
				continue
			}
			parts := strings.Split(fill.Replace(pattern), "/")
			parts[i] = fmt.Sprintf("%%%02x%s", parts[i][0], parts[i][1:])
			target := strings.Join(parts, "/")
			if w := request(handler, method, target, "", ""); problemCode(t, w) != wire.CodeNotFound || !strings.Contains(w.Body.String(), "there is no such path") {
				t.Errorf("%s %s is taken: %d %s", method, target, w.Code, w.Body)
			}
			tried++
		}
	}
	if tried < 200 {
		t.Errorf("%d spellings were tried", tried)
	}
	known := Prefix + "/runs/" + knownRun
	if w := request(handler, "GET", known, "", ""); w.Code != http.StatusOK {
		t.Errorf("the control: %s is answered with %d %s", known, w.Code, w.Body)
	}
}

// FuzzPathsNeverReachAnUnknownRun sends hostile paths: none may be answered
// with success but those of the table, and none may panic.
func FuzzPathsNeverReachAnUnknownRun(f *testing.F) {
	for _, seed := range []string{"..", "%2e%2e", "a/../../b", "\x00", "runs;id", "A", strings.Repeat("a", 64), "01k8/steps/..", "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if id == knownRun || id == "" {
			return
		}
		handler, _ := newTestHandler(t, new(fakeRuns))
		w := request(handler, "GET", Prefix+"/runs/"+id, "", "")
		if w.Code < 400 && !strings.HasPrefix(id, knownRun+"/") && !strings.HasPrefix(id, "?") {
			t.Errorf("%q was answered with %d: %s", id, w.Code, w.Body)
		}
	})
}
