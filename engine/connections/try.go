package connections

import (
	"cmp"
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Test is what `connections test` found.
type Test struct {
	Name       string      `json:"name"`
	Plugin     string      `json:"plugin"`
	OK         bool        `json:"ok"`                  // nothing is wrong, as far as it was tried
	NotTried   bool        `json:"not_tried,omitempty"` // it was opened, and nothing was asked of the service
	Note       string      `json:"note,omitempty"`      // why not
	Account    string      `json:"account,omitempty"`   // "" = the plugin does not tell
	DurationMS int64       `json:"duration_ms"`
	Error      *runs.Error `json:"error,omitempty"`
}

// Opened says in words what is known of a connection that nothing was asked of.
func (t Test) Opened() string { return "opened; " + t.Note }

// testTimeout bounds the test of one connection.
const testTimeout = 30 * time.Second

// TestConnection opens a connection and lets its plugin try it. The failure
// comes in the result; an unknown connection is a *fault.UnknownError.
func (c *Connections) TestConnection(ctx context.Context, connection string) (Test, error) {
	namedConnection, err := c.project.FindConnection(connection)
	if err != nil {
		return Test{}, err
	}
	test := Test{Name: namedConnection.Name, Plugin: namedConnection.Plugin}
	began := c.now()
	bounded, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	tried, failure := c.try(bounded, namedConnection)
	test.Account, test.NotTried, test.Note, test.Error = tried.Account, tried.NotTried, tried.Note, failure
	if ctx.Err() != nil {
		return Test{}, ctx.Err()
	}
	if failed := test.Error; failed != nil {
		failed.Action, failed.Step, failed.Attempt = "", "", 0
		if failed.Kind == plan.KindAuthRequired && failed.Hint.Text == "" {
			failed.Hint = diag.Sayf("log in with %s", diag.Command{"connections", "login", cmp.Or(c.project.TokenSource(namedConnection), namedConnection.Name)})
		}
	}
	test.OK = test.Error == nil
	test.DurationMS = c.now().Sub(began).Milliseconds()
	return test, nil
}

func (c *Connections) try(ctx context.Context, connection workspace.NamedConnection) (pluginhost.Test, *runs.Error) {
	resolved, err := c.project.Connection(connection.Plugin, connection.Name)
	if err != nil {
		return pluginhost.Test{}, workspace.ConfigError(err)
	}
	if lacking := c.calls.LackingSettings(connection.Plugin, connection.Name); lacking != nil {
		return pluginhost.Test{}, lacking
	}
	return c.project.Host().Check(ctx, resolved.Connection)
}
