package tasks

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/tasks/taskssim"
	"github.com/flowrun/flowrun/sdk"
)

func TestT03_TypesOfIds(t *testing.T) {
	for _, name := range []string{"project_id", "section_id", "parent_id"} {
		for _, action := range []string{"completed_by_completion_date", "completed_by_due_date"} {
			refused(t, action, week(in{name: 7}), "/"+name, "text")
			refused(t, action, week(in{name: ""}), "/"+name, "empty") // policy
		}
	}
	for _, value := range []any{"40317", 1.5, true, in{}} {
		refused(t, "invitations_list", in{"workspace_id": value}, "/workspace_id", "integer")
	}
	// no alphabet and no length is checked: they are not documented
	p, sim := open(t)
	for _, id := range []string{"9007199254740993", "6JF8VQXXPWV56VQ7", "é/?#&=+ 1", "0", "l"} {
		output(t, p.Call("completed_by_due_date", week(in{"project_id": id})))
		if q := queryOf(t, sim); q.Get("project_id") != id {
			t.Errorf("project_id %q is sent as %q", id, q.Get("project_id"))
		}
	}
}

func TestT03_IdsAbove2to53AreExact(t *testing.T) {
	p, sim := open(t)
	output(t, p.Call("invitations_list", in{"workspace_id": taskssim.Northgate}))
	output(t, p.Call("projects_active", in{"workspace_id": taskssim.Northgate}))
	output(t, p.Call("completed_by_due_date", week(in{"workspace_id": taskssim.Northgate})))
	for _, r := range sim.Kit().Requests() {
		if !strings.Contains(r.Path+"?"+r.Query, "9007199254741121") {
			t.Errorf("sent %s?%s", r.Path, r.Query)
		}
	}
	r := p.Call("usage_history", in{"limit": 1})
	output(t, r)
	var page struct {
		Entries []struct{ ID json.Number } `json:"entries"`
	}
	var whole struct{ Page json.RawMessage }
	if json.Unmarshal(r.Output, &whole) != nil || json.Unmarshal(whole.Page, &page) != nil || len(page.Entries) != 1 {
		t.Fatalf("output %s", r.Output)
	}
	if id := page.Entries[0].ID.String(); len(id) != 16 || !strings.Contains(string(r.Output), `"items":[{"id":`+id+",") {
		t.Errorf("id %s in %s", id, r.Output)
	}
}

func TestT04_PlaceholdersAreRefused(t *testing.T) {
	for _, name := range []string{"project_id", "section_id", "parent_id"} {
		for _, action := range []string{"completed_by_completion_date", "completed_by_due_date"} {
			refused(t, action, week(in{name: "tmp-4f1c"}), "/"+name, "placeholder")
		}
	}
	refused(t, "invitation_accept", in{"invite_code": "tmp-4f1c"}, "/invite_code", "placeholder")
	refused(t, "invitation_reject", in{"invite_code": "tmp-"}, "/invite_code", "placeholder")
}

func TestT05_PlaceholderIsNamed(t *testing.T) {
	p, sim := open(t)
	r := p.Call("completed_by_due_date", week(in{"section_id": "tmp-1"}))
	if r.Err == nil || !strings.Contains(r.Err.Message, "`section_id`") || r.Err.Code.String() != "invalid" {
		t.Errorf("got %+v", r.Err)
	}
	if sim.Kit().Count("") != 0 {
		t.Error("a request was sent")
	}
}

func TestT06_PlaceholderIsExplained(t *testing.T) {
	p, _ := open(t)
	r := p.Call("completed_by_due_date", week(in{"parent_id": "tmp-1"}))
	const want = "wait until a /sync response maps it (`temp_id_mapping`), then use the real id; this plugin does not call /sync"
	if r.Err == nil || r.Err.Hint != want {
		t.Errorf("hint %+v, want %q", r.Err, want)
	}
	problems := p.Validate("invitation_accept", in{"invite_code": "tmp-1"})
	if len(problems) != 1 || problems[0].Detail != want {
		t.Errorf("check says %v", problems)
	}
}

func TestT07_AUUIDIsNoPlaceholder(t *testing.T) {
	p, sim := open(t)
	for _, id := range []string{"3b241101-e2bb-4255-8caf-4136c566a962", "TMP-1", "x-tmp-1"} {
		output(t, p.Call("completed_by_due_date", week(in{"project_id": id})))
	}
	if n := sim.Kit().Count(""); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func TestT08_WorkspaceIDIsAnInteger(t *testing.T) {
	refused(t, "projects_active", in{"workspace_id": "40317"}, "/workspace_id", "integer")
	refused(t, "users_invite", in{"workspace_id": "40317", "body": in{}}, "/workspace_id", "integer")
	refused(t, "completed_by_due_date", week(in{"workspace_id": "40317"}), "/workspace_id", "integer")
	p, _ := open(t)
	for workspace, code := range map[int64]string{taskssim.Brightwater: "", taskssim.Northgate: "", taskssim.Harbor: "forbidden"} {
		r := p.Call("projects_archived", in{"workspace_id": workspace}) // admin, member, guest
		if got := ""; r.Err != nil {
			if got = r.Err.Code.String(); got != code {
				t.Errorf("workspace %d: %v", workspace, r.Err)
			}
		} else if code != "" {
			t.Errorf("workspace %d is listed", workspace)
		}
	}
}

func TestT09_BodiesAreNotScanned(t *testing.T) {
	p, sim := open(t)
	const body = `{"name":"tmp-review","ids":["tmp-1"]}`
	for _, action := range []string{"label_remove", "label_rename", "invitation_delete"} {
		r := p.Call(action, in{"body": json.RawMessage(body)})
		failed(t, sim, r, sdk.CodeNotFound, "404") // the service has no such label: it was asked
	}
	for i, s := range sim.Bodies() {
		if s.Body != body {
			t.Errorf("body %d is %s", i, s.Body)
		}
	}
	if len(sim.Bodies()) != 3 {
		t.Errorf("%d bodies were sent", len(sim.Bodies()))
	}
}

func TestT10_InviteCode(t *testing.T) {
	for _, action := range []string{"invitation_accept", "invitation_reject"} {
		refused(t, action, in{}, "/invite_code", "required")
		refused(t, action, in{"invite_code": ""}, "/invite_code", "empty")
		refused(t, action, in{"invite_code": "."}, "/invite_code", "dot")
		refused(t, action, in{"invite_code": ".."}, "/invite_code", "dot")
		refused(t, action, in{"invite_code": 7}, "/invite_code", "text")
	}
	p, sim := open(t)
	output(t, p.Call("invitation_accept", in{"invite_code": taskssim.QuarryCode}))
	if got := sent(t, sim).Path; got != "/api/v1/workspaces/invitations/Quarry%2F9%20b+7%252F/accept" {
		t.Errorf("sent %s", got)
	}
	for _, action := range []string{"invitation_accept", "invitation_reject"} {
		if schema := string(p.Action(action).Input); !strings.Contains(schema, `"writeOnly":true`) {
			t.Errorf("the code is no secret in %s", schema)
		}
	}
}

func TestT10_InviteCodeIsShownNowhere(t *testing.T) {
	p, sim := open(t)
	for _, code := range []string{"unknown/Code é+1", taskssim.OthersCode} {
		r := p.Call("invitation_accept", in{"invite_code": code})
		if r.Err == nil {
			t.Fatal("accepted")
		}
		shown := everything(t, r)
		for _, form := range []string{code, "unknown%2FCode", "unknown/Code", "Others_55aa"} {
			if strings.Contains(shown, form) {
				t.Errorf("%q is in %s", form, shown)
			}
		}
	}
	if sim.Kit().Count("") != 2 {
		t.Error("not asked")
	}
}

func TestUnknownInputsAreNotJudged(t *testing.T) {
	p, _ := open(t)
	for _, c := range []struct {
		action  string
		input   in
		unknown []string
	}{
		{"invitation_accept", in{}, []string{"/invite_code"}},
		{"completed_by_completion_date", in{"until": "2031-01-01T00:00:00Z"}, []string{"/since"}},
		{"completed_by_due_date", in{"since": "2031-01-01T00:00:00Z"}, []string{"/until"}},
		{"completed_by_due_date", in{}, []string{"/since", "/until"}},
		{"completed_by_due_date", week(in{"filter_lang": "en"}), []string{"/filter_query"}},
		{"completed_by_due_date", week(nil), []string{"/project_id"}},
		{"usage_top_up", in{}, []string{"/confirm"}},
		{"usage_summary", in{}, []string{"/since", "/until"}},
		{"label_remove", in{}, []string{"/body"}},
		{"migrate_personal_token", in{"store_as": "a", "body": in{}}, []string{"/body/password"}},
		{"usage_history", in{}, []string{"/cursor"}},
	} {
		if problems := p.Validate(c.action, c.input, c.unknown...); len(problems) != 0 {
			t.Errorf("%s %v with %v not known yet: %v", c.action, c.input, c.unknown, problems)
		}
	}
}
