package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// postTargets are the routes that take a body, with good names in their paths.
func postTargets() []string {
	fill := strings.NewReplacer("{id}", knownRun, "{step}", "ask", "{name}", "w", "{workflow}", "w", "{trigger}", "t")
	schedule := strings.NewReplacer(schedulePattern, Prefix+"/schedules/"+url.PathEscape(scheduleKnown)+"/")
	var targets []string
	for _, route := range Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		if method != http.MethodPost || route.Face != guard.FaceAPI || strings.Contains(path, splitPattern) {
			continue
		}
		if strings.Contains(path, "/connections/") {
			path = strings.ReplaceAll(path, "{name}", "work")
		}
		targets = append(targets, fill.Replace(schedule.Replace(path)))
	}
	return targets
}

func TestEveryBodyIsJSONByItsOwnWordAndItself(t *testing.T) {
	handler := NewSocketHandler(newAlwaysOn(t).options())
	targets := postTargets()
	if len(targets) < 15 {
		t.Fatalf("%d routes take a body", len(targets))
	}
	for _, target := range targets {
		for name, test := range map[string]struct {
			contentType, body string
			want              wire.Code
		}{
			"a form":                   {"application/x-www-form-urlencoded", "a=b", wire.CodeMediaType},
			"text":                     {"text/plain", "{}", wire.CodeMediaType},
			"no type":                  {"", "{}", wire.CodeMediaType},
			"JSON with a suffix":       {"application/json+x", "{}", wire.CodeMediaType},
			"JSON of another charset":  {"application/json; charset=latin1", "{}", wire.CodeMediaType},
			"half an object":           {"application/json", "{", wire.CodeBadRequest},
			"two values":               {"application/json", "{} {}", wire.CodeBadRequest},
			"a list":                   {"application/json", "[]", wire.CodeBadRequest},
			"null":                     {"application/json", "null", wire.CodeBadRequest},
			"a field that nobody has":  {"application/json", `{"sauce":1}`, wire.CodeBadRequest},
			"a body that is too large": {"application/json", `"` + strings.Repeat("a", localBodyCap) + `"`, wire.CodeTooLarge},
		} {
			w := send(handler, "POST", target, test.body, "Content-Type", test.contentType)
			if got := problemCode(t, w); got != test.want {
				t.Errorf("%s, %s: code %s, want %s: %.200s", target, name, got, test.want, w.Body)
			}
			if strings.Contains(w.Body.String(), "aaaa") {
				t.Errorf("%s, %s: the body is told again: %.200s", target, name, w.Body)
			}
		}
	}
}

// FuzzBodies sends bodies to every typed route: what is no JSON object is refused,
// and no body makes a fault of ours.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"inputs":{"a":1e999}}`, `{"by":"\u0000"}`, `{"from":"0001-01-01T00:00:00Z","until":"9999-12-31T23:59:59Z"}`,
		`{"with_latest":"!!"}`, `{"form":{"":{}}}`, `{"payload":[[[[[[]]]]]]}`, `{"limit":9007199254740993}`, "\xff", `{"inputs":null}`, `{"scopes":[1]}`,
	} {
		f.Add(seed)
	}
	targets := postTargets()
	f.Fuzz(func(t *testing.T, body string) {
		handler := NewSocketHandler(newAlwaysOn(t).options())
		for _, target := range targets {
			w := send(handler, "POST", target, body, "Content-Type", "application/json")
			if w.Code >= 500 {
				t.Errorf("%s answers %d: %s", target, w.Code, w.Body)
			}
			var object map[string]json.RawMessage
			if w.Code < 400 && body != "" && json.Unmarshal([]byte(body), &object) != nil {
				t.Errorf("%s takes %q", target, body)
			}
		}
	})
}
