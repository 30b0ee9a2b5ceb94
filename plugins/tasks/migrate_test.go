package tasks

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/tasks/taskssim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// migration is an input of migrate_personal_token.
func migration() in {
	return in{"body": in{"personal_token": "old-Personal-Tok3n", "mail": "robin@brightwater.example"}, "store_as": "main"}
}

func TestT52_TokenIsStored(t *testing.T) {
	p, sim := open(t)
	r := p.Call("migrate_personal_token", migration())
	out := output(t, r)
	if diff := cmp.Diff([]string{"/response"}, r.Sensitive); diff != "" {
		t.Errorf("secret parts (-want +got):\n%s", diff)
	}
	answered := out["response"].(in)["access_token"].(string)
	stored := p.Host().Token(sdktest.Connection, "main")
	if out["stored"] != true || stored.AccessToken != answered || stored.TokenType != "Bearer" || stored.ExpiresAt != noon.Add(315360000*time.Second) {
		t.Errorf("stored %v of %v", stored, out)
	}
	if r := sent(t, sim); r.Method != "POST" || r.Header["authorization"] != "Bearer "+canary {
		t.Errorf("sent %+v", r)
	}
	if p.Host().OpenLeases() != 0 {
		t.Error("the lease was not ended")
	}
	if shown := everything(t, r); strings.Contains(shown, answered) || strings.Contains(shown, "old-Personal") {
		t.Errorf("shown: %s", shown)
	}
	if other := p.Host().Token(sdktest.Connection, ""); other.AccessToken != "" {
		t.Error("it is stored under another key too")
	}
}

func TestT52_StoredTokenIsReplacedWhole(t *testing.T) {
	p, _ := open(t)
	p.Host().SetToken(sdktest.Connection, "main", sdk.Token{ID: "old", AccessToken: "old-access-token", RefreshToken: "old-refresh-token"})
	out := output(t, p.Call("migrate_personal_token", migration()))
	stored := p.Host().Token(sdktest.Connection, "main")
	if stored.AccessToken != out["response"].(in)["access_token"] || stored.RefreshToken != "" {
		t.Errorf("stored %v", stored)
	}
}

func TestT52_InputIsChecked(t *testing.T) {
	refused(t, "migrate_personal_token", in{"store_as": "main"}, "/body", "required")
	refused(t, "migrate_personal_token", in{"store_as": "main", "body": "text"}, "/body", "object")
	refused(t, "migrate_personal_token", in{"body": in{}}, "/store_as", "required")
	for _, name := range []string{"", "../x", "a b", "-a", strings.Repeat("a", 65)} {
		refused(t, "migrate_personal_token", in{"body": in{}, "store_as": name}, "/store_as", "must match")
	}
	p, _ := open(t)
	if schema := string(p.Action("migrate_personal_token").Input); !strings.Contains(schema, `"writeOnly":true`) {
		t.Errorf("the body is no secret: %s", schema)
	}
}

func TestT52_FindingTheToken(t *testing.T) {
	end := noon.Add(time.Hour)
	tests := map[string]struct {
		answer string
		want   *sdk.Token // nil = not stored
	}{
		"accessToken":         {`{"accessToken":"fresh-token-1"}`, &sdk.Token{AccessToken: "fresh-token-1"}},
		"token":               {`{"token":"fresh-token-1","other":[]}`, &sdk.Token{AccessToken: "fresh-token-1"}},
		"with all":            {`{"access_token":"fresh-token-1","refresh_token":"fresh-token-2","token_type":"bearer","expires_in":3600}`, &sdk.Token{AccessToken: "fresh-token-1", RefreshToken: "fresh-token-2", TokenType: "bearer", ExpiresAt: end}},
		"one level below":     {`{"a":[1],"data":{"access_token":"fresh-token-1"}}`, &sdk.Token{AccessToken: "fresh-token-1"}},
		"a bare text":         {`"fresh-token-1"`, &sdk.Token{AccessToken: "fresh-token-1"}},
		"access before token": {`{"token":"old-token-9","access_token":"fresh-token-1"}`, &sdk.Token{AccessToken: "fresh-token-1"}},
		"a senseless expiry":  {`{"token":"fresh-token-1","expires_in":1e300}`, &sdk.Token{AccessToken: "fresh-token-1"}},
		"none":                {`{"status":"migrated","user":{"id":1}}`, nil},
		"no text":             {`{"access_token":7}`, nil},
		"empty":               {`{"access_token":""}`, nil},
		"a list":              {`[{"access_token":"fresh-token-1"}]`, nil},
		"null":                {`null`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, sim := open(t)
			answer(t, sim, simkit.Fault{Body: tt.answer})
			r := p.Call("migrate_personal_token", migration())
			out := output(t, r)
			stored := p.Host().Token(sdktest.Connection, "main")
			if out["stored"] != (tt.want != nil) || !strings.Contains(string(r.Output), `"response":`+tt.answer) {
				t.Errorf("output %s", r.Output)
			}
			switch {
			case tt.want == nil && (stored.AccessToken != "" || len(r.Logs) != 1 || r.Logs[0].Level != "WARN"):
				t.Errorf("stored %v, logged %v", stored, r.Logs)
			case tt.want != nil:
				tt.want.ID = stored.ID
				if !reflect.DeepEqual(stored, *tt.want) {
					t.Errorf("stored %+v, want %+v", stored, *tt.want)
				}
			}
			if p.Host().OpenLeases() != 0 {
				t.Error("the lease was not ended")
			}
		})
	}
}

func TestT52_FailuresShowNoToken(t *testing.T) {
	const leak = "fresh-Secret-Tok3n"
	for name, f := range map[string]simkit.Fault{
		"cut":           {Body: `{"access_token":"` + leak + `","x":`},
		"cut on a wire": {Body: `{"access_token":"` + leak + `","x":1}`, Truncate: 36, Cut: true},
		"error":         {Status: 500, Body: `{"access_token":"` + leak + `"}`},
		"refused":       {Status: 400, Body: `{"got":"` + leak + `"}`},
	} {
		p, sim := open(t)
		p.Host().SetToken(sdktest.Connection, "main", sdk.Token{ID: "old", AccessToken: "old-access-token"})
		answer(t, sim, f)
		r := p.Call("migrate_personal_token", migration())
		if r.Err == nil || strings.Contains(everything(t, r), leak) {
			t.Errorf("%s: %v", name, r.Err)
		}
		if kept := p.Host().Token(sdktest.Connection, "main"); kept.AccessToken != "old-access-token" || p.Host().OpenLeases() != 0 {
			t.Errorf("%s: stored %v", name, kept)
		}
	}
}

func TestT52_NeverSentTwice(t *testing.T) {
	p, sim := open(t)
	if got := p.Action("migrate_personal_token").Effect; got != "once" {
		t.Errorf("effect %s", got)
	}
	answer(t, sim, simkit.Fault{Drop: simkit.DropAfter})
	r := p.Call("migrate_personal_token", migration())
	if r.Err == nil || r.Err.Applied != sdk.AppliedUnknown || sim.Kit().Count("") != 1 {
		t.Errorf("%+v after %d requests", r.Err, sim.Kit().Count(""))
	}
}

func TestT52_StoredTokenSetting(t *testing.T) {
	p, sim := openSim(t, taskssim.Options{Token: canary}, in{"token": canary, "stored_token": "main"})
	r := p.Call("stats", in{})
	if r.Err == nil || r.Err.Code != sdk.CodeAuthRequired || !strings.Contains(r.Err.Message, `"main"`) || !strings.Contains(r.Err.Hint, "migrate_personal_token") || sim.Kit().Count("") != 0 {
		t.Errorf("before the migration: %+v", r.Err)
	}
	answered := output(t, p.Call("migrate_personal_token", migration()))["response"].(in)["access_token"].(string)
	if got := sent(t, sim).Header["authorization"]; got != "Bearer "+canary {
		t.Errorf("the migration used %q", got)
	}
	output(t, p.Call("stats", in{}))
	if got := sent(t, sim).Header["authorization"]; got != "Bearer "+answered {
		t.Errorf("after the migration %q is sent", got)
	}
	answer(t, sim, simkit.Fault{Status: 403, Body: `{"error":"` + answered + `"}`})
	if r := p.Call("stats", in{}); strings.Contains(everything(t, r), answered) {
		t.Errorf("the stored token is shown: %+v", r.Err)
	}
}

func TestT52_ARefusedTokenIsKept(t *testing.T) {
	p, sim := openSim(t, taskssim.Options{Token: canary}, in{"stored_token": "main"})
	over := sdk.Token{ID: "old", AccessToken: "old-access-token", ExpiresAt: time.Unix(1e9, 0)}
	p.Host().SetToken(sdktest.Connection, "main", over)
	r := p.Call("stats", in{}) // as after a 401: the host asks for another one
	if r.Err == nil || r.Err.Code != sdk.CodeUnauthorized || r.Err.Applied != sdk.NotApplied || r.Err.Hint == "" || sim.Kit().Count("") != 0 {
		t.Errorf("got %+v", r.Err)
	}
	if kept := p.Host().Token(sdktest.Connection, "main"); kept.AccessToken != "old-access-token" || p.Host().OpenLeases() != 0 {
		t.Errorf("stored %v", kept)
	}
}

func TestMigratedTokensFormNeverPanics(t *testing.T) {
	for _, text := range []string{``, `{`, `{"a":{"token":null}}`, `{"token":{"token":"x"}}`, `[[]]`, `"\ud800"`} {
		_ = findToken(json.RawMessage(text), noon)
	}
}
