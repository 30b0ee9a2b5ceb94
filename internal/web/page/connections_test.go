package page

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// tested is an engine with one connection, whose test was made before.
type tested struct {
	Engine
	test connections.Test
}

func (e tested) ListConnections(context.Context) []workspace.ConnectionStatus {
	return []workspace.ConnectionStatus{{Name: e.test.Name, Plugin: e.test.Plugin}}
}

func (e tested) TestConnection(context.Context, string) (connections.Test, error) {
	return e.test, nil
}

// TestIssue12_31_ThePageTellsWhatWasNotTried: a connection that was opened alone is
// not told as one that works.
func TestIssue12_31_ThePageTellsWhatWasNotTried(t *testing.T) {
	d := newDesk(t, nil)
	for _, c := range []struct {
		test      connections.Test
		has, lack string
	}{
		{connections.Test{Name: "a", Plugin: "x", OK: true, NotTried: true, Note: "the plugin has no test"}, "The connection was opened; the plugin has no test", "works"},
		{connections.Test{Name: "a", Plugin: "x", OK: true, DurationMS: 12}, "The connection works (12", "opened"},
	} {
		mux := http.NewServeMux()
		for _, route := range Routes(Options{Engine: tested{d.engine, c.test}, Now: time.Now, Version: "test"}) {
			mux.Handle(route.Pattern, route.Handler)
		}
		d.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mux.ServeHTTP(w, r.WithContext(guard.WithCaller(r.Context(), d.caller)))
		})
		said := mainOf(d.post("/connections/a/test", nil, 200))
		has(t, said, c.has)
		lacks(t, said, c.lack)
	}
}
