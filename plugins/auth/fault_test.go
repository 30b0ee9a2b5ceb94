package auth

import (
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/sdk"
)

// faults are what a network and a service can do to any request.
var faults = map[string]simkit.Fault{
	"429":                    {Status: 429},
	"429 with Retry-After":   {Status: 429, RetryAfter: "7"},
	"503":                    {Status: 503, Body: `{"message":"later"}`},
	"a page":                 {HTML: true},
	"a page with status 502": {HTML: true, Status: 502},
	"cut on the wire":        {Truncate: 8, Cut: true},
	"cut":                    {Truncate: 8},
	"empty":                  {Empty: true},
	"dropped":                {Drop: simkit.DropBefore},
	"dropped after":          {Drop: simkit.DropAfter},
	"too large":              {HugeBytes: 9 << 20},
}

// TestFaultsOfEveryAction: every fault of every action that sends something ends
// in an error that says which action and, where there was one, which status; a
// write is sent once, and afterwards the action works.
func TestFaultsOfEveryAction(t *testing.T) {
	actions := map[string]struct {
		path  string
		input func(w *world) in
	}{
		"device_start":     {"/device/code", func(*world) in { return in{"scopes": []string{"other"}} }},
		"device_poll":      {"/token", func(w *world) in { return in{"flow_id": w.dueFlow()} }},
		"token":            {"/token", func(w *world) in { w.expire(); return in{} }},
		"refresh":          {"/token", func(*world) in { return in{} }},
		"revoke":           {"/revoke", func(*world) in { return in{} }},
		"resource_get":     {"/resource/me", func(w *world) in { return in{"url": w.url + "/resource/me"} }},
		"deployments_list": {"/api/v1/deployments", func(*world) in { return in{} }},
		"scim_users_list":  {"/api/scim/v2/Users", func(*world) in { return in{} }},
	}
	for action, a := range actions {
		for name, f := range faults {
			t.Run(action+" "+name, func(t *testing.T) {
				w := open(t, authsim.Options{}, nil)
				w.login()
				input := a.input(w)
				before := w.count(a.path)
				f.Path, f.Count = a.path, simkit.Forever
				w.fault(f)
				r := w.Call(action, input)
				read := strings.HasPrefix(w.last().method, "GET")
				if sent := w.count(a.path) - before; sent != 1 && !read {
					t.Errorf("sent %d times", sent)
				}
				fine := action == "revoke" && f.Status == 0 && f.Drop == ""        // a success, whatever its body
				fine = fine || action == "resource_get" && f.HTML && f.Status == 0 // a page is a resource too
				fine = fine || action == "resource_get" && f.Empty
				fine = fine || action == "device_poll" && f.Truncate > 0 && !f.Cut // 428 says what the body would
				if fine != (r.Err == nil) {
					t.Fatalf("got %+v, output %s", r.Err, r.Output)
				}
				if r.Err == nil {
					return
				}
				if r.Err.Details["action"] != action || f.Status != 0 && r.Err.HTTPStatus != f.Status || r.Err.Code == sdk.CodeInternal {
					t.Errorf("got %+v", r.Err)
				}
				if f.Status == 429 && f.RetryAfter != "" && r.Err.RetryAfter < 7*time.Second {
					t.Errorf("waits %s", r.Err.RetryAfter)
				}
				w.sim.Kit().ClearFaults()
				w.clock.pass(time.Minute)
				if again := w.Call(action, input); again.Err != nil && !(action == "revoke" && f.Drop == simkit.DropAfter) {
					t.Errorf("afterwards: %v", again.Err)
				}
			})
		}
	}
}

// dueFlow starts a login whose first poll is due.
func (w *world) dueFlow() any {
	w.t.Helper()
	id := output(w.t, w.Call("device_start", in{"scopes": []string{"due"}}))["flow_id"]
	w.clock.pass(5 * time.Second)
	return id
}
