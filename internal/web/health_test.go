package web

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func TestHealthTellsOfTheProcessAndReadinessOfItsWork(t *testing.T) {
	a := newAlwaysOn(t)
	failure := error(nil)
	options := a.options()
	options.Ready = func() error { return failure }
	handler := NewSocketHandler(options)
	ask := func(what string, health, ready int) {
		t.Helper()
		for path, want := range map[string]int{"/healthz": health, "/readyz": ready} {
			if w := send(handler, "GET", path, ""); w.Code != want {
				t.Errorf("%s: %s says %d, want %d: %s", what, path, w.Code, want, w.Body)
			}
		}
	}
	ask("a working owner", 200, 200)
	failure = errors.New("the store has stopped")
	ask("a failed store", 200, 503)
	failure = &fault.StoreError{Fault: fault.StoreFull, Path: "/state", Err: errors.New("12 bytes are free")}
	ask("a full disk", 200, 503)
	if w := send(handler, "GET", "/readyz", ""); !strings.Contains(w.Body.String(), "12 bytes are free") {
		t.Errorf("the reason is not told: %s", w.Body)
	}
	failure = nil
	a.gate.Close()
	ask("a closing owner", 200, 503)
	if w := send(handler, "GET", Prefix+"/runs", ""); problemCode(t, w) != wire.CodeClosing {
		t.Errorf("a closing owner lists runs: %s", w.Body)
	}
}

func TestRoutesOverTCPHaveTheirFaces(t *testing.T) {
	faces := map[guard.Face]int{}
	for _, route := range API(newAlwaysOn(t).options()) {
		faces[route.Face]++
		path := strings.Fields(route.Pattern)[1]
		switch route.Face {
		case guard.FaceOpen:
			if path != "/healthz" && path != "/readyz" && path != Prefix+"/local/login" && path != Prefix+"/local/login/poll" {
				t.Errorf("%s is open to anybody", route.Pattern)
			}
		case guard.FaceHook:
			if !strings.HasPrefix(path, "/hooks/") {
				t.Errorf("%s is taken for a webhook", route.Pattern)
			}
		case guard.FaceAPI:
			if !strings.HasPrefix(path, Prefix+"/") || isOfTheMachine(path) || !guard.Admin.Allows(route.Scope) {
				t.Errorf("%s with scope %q", route.Pattern, route.Scope)
			}
		default:
			t.Errorf("%s has the face %q", route.Pattern, route.Face)
		}
	}
	if faces[guard.FaceOpen] != 4 || faces[guard.FaceHook] != 1 || faces[guard.FaceAPI] < 30 {
		t.Errorf("faces %v", faces)
	}
}

// isOfTheMachine reports whether a path is of what the socket alone has (ADR 91).
func isOfTheMachine(path string) bool {
	for _, begin := range []string{"/local/db/", "/local/key", "/local/login-link"} {
		if strings.HasPrefix(path, Prefix+begin) {
			return true
		}
	}
	return false
}

// TestAPanicIsNotToldOverTCP: the stack is the log's.
func TestAPanicIsNotToldOverTCP(t *testing.T) {
	a := newAlwaysOn(t)
	options := a.options()
	options.Ready = func() error { panic("boom") }
	g, err := guard.New(API(options), guard.Options{
		Authority: authority{}, Now: time.Now, Entropy: strings.NewReader(""), Hosts: []string{"example.com"},
		LoginPage: func(io.Writer, guard.LoginView) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	w := send(g, "GET", "/readyz", "")
	if problemCode(t, w) != wire.CodeInternal || strings.Contains(w.Body.String(), "goroutine") || strings.Contains(w.Body.String(), ".go:") {
		t.Errorf("%s", w.Body)
	}
}
