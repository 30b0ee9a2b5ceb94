package auth

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/sdk"
)

// TestIssue12_13_HowCodesEnd: a code whose time is over is expired, whatever word
// the server has for it; before that invalid_grant is another thing.
func TestIssue12_13_HowCodesEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		word  string
		takes time.Duration // until the answer is there; the codes live 12 s, and the poll is sent after 5
		code  sdk.Code
		says  string
	}{
		"expired_token":                       {"expired_token", 0, sdk.CodeExpired, "ran out"},
		"expired_token, late":                 {"expired_token", 9 * time.Second, sdk.CodeExpired, "ran out"},
		"invalid_grant before the end":        {"invalid_grant", 0, sdk.CodeInvalid, "not valid, or was already claimed"},
		"invalid_grant just before the end":   {"invalid_grant", 6 * time.Second, sdk.CodeInvalid, "not valid, or was already claimed"},
		"invalid_grant at the end":            {"invalid_grant", 7 * time.Second, sdk.CodeExpired, "ran out"},
		"invalid_grant a while after the end": {"invalid_grant", time.Minute, sdk.CodeExpired, "ran out"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := func(w *world) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.override = func(rw http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/token" {
						w.sim.ServeHTTP(rw, r)
						return
					}
					w.clock.pass(tt.takes)
					rw.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(rw, `{"error":"`+tt.word+`"}`)
				}
			}
			w := open(t, authsim.Options{ExpiresIn: 12 * time.Second}, nil)
			flow := w.start()
			answers(w)
			w.clock.pass(5 * time.Second)
			r := w.poll(flow)
			if tt.code == sdk.CodeExpired {
				if out := output(t, r); out["state"] != "expired" {
					t.Errorf("poll: %v", out)
				}
			} else {
				fails(t, r, tt.code, tt.word)
			}
			e := w.Call("device_wait", in{"flow_id": flow["flow_id"]}).Err
			if e == nil || e.Code != tt.code || !strings.Contains(e.Message, tt.says) || e.Applied != sdk.NotApplied {
				t.Errorf("wait: %+v", e)
			}

			// a restart says why, in the message and in the prompt itself
			w = open(t, authsim.Options{ExpiresIn: 12 * time.Second}, nil)
			flow = w.start()
			answers(w)
			prompts := map[string]string{}
			w.wait(in{"flow_id": flow["flow_id"], "restart": 1}, func(p *sdk.Pending) { prompts[p.Prompt.UserCode] = p.Prompt.Message })
			if len(prompts) != 2 {
				t.Fatalf("%d prompts", len(prompts))
			}
			for code, message := range prompts {
				if first := code == flow["user_code"]; first == strings.Contains(message, tt.says) {
					t.Errorf("the prompt says %q; the first is %t", message, first)
				}
			}
		})
	}
}
