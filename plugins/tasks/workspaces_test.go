package tasks

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/tasks/taskssim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestT14_NoFieldIsRequiredOrDropped(t *testing.T) {
	p, sim := open(t)
	const odd = `[{},{"id":null},7,"text",null,[1.0],{"unheard_of":{"x":1.50}}]`
	answer(t, sim, simkit.Fault{Body: odd})
	r := p.Call("invitations_list", in{"workspace_id": 1})
	if want := `{"invitations":` + odd + `}`; string(r.Output) != want {
		t.Errorf("output %s %v, want %s", r.Output, r.Err, want)
	}
	answer(t, sim, simkit.Fault{Body: `{"items":` + odd + `}`})
	r = p.Call("usage_history", in{})
	if want := `{"items":` + odd + `,"next_cursor":null,"page":{"items":` + odd + `}}`; string(r.Output) != want {
		t.Errorf("output %s %v, want %s", r.Output, r.Err, want)
	}
}

func TestT15_SecondAnswerIsTheServers(t *testing.T) {
	p, sim := open(t)
	output(t, p.Call("invitation_accept", in{"invite_code": taskssim.LanternCode}))
	for _, action := range []string{"invitation_accept", "invitation_reject"} {
		failed(t, sim, p.Call(action, in{"invite_code": taskssim.LanternCode}), sdk.CodeInvalid, "not pending any more")
	}
	answer(t, sim, simkit.Fault{Body: `{"state":"accepted","again":true}`}) // and a server that answers 200 again
	if out := output(t, p.Call("invitation_accept", in{"invite_code": taskssim.LanternCode})); out["invitation"].(in)["again"] != true {
		t.Errorf("got %v", out)
	}
}

func TestT21_DeleteInvitation(t *testing.T) {
	refused(t, "invitation_delete", in{}, "/body", "required")
	refused(t, "invitation_delete", in{"body": nil}, "/body", "object")
	refused(t, "invitation_delete", in{"body": []int{1}}, "/body", "object")

	p, sim := open(t)
	out := output(t, p.Call("invitation_delete", in{"body": in{"mail": "ana@example.com"}}))
	if out["response"].(in)["user_email"] != "ana@example.com" || sent(t, sim).Method != "POST" {
		t.Errorf("got %v", out)
	}
	if left := len(output(t, p.Call("invitations_list", in{"workspace_id": taskssim.Brightwater}))["invitations"].([]any)); left != 2 {
		t.Errorf("%d invitations are left", left)
	}
	e := failed(t, sim, p.Call("invitation_delete", in{"body": in{"mail": "kim@example.com"}}), sdk.CodeForbidden, "")
	if e.Hint != "only admins may delete invitations" {
		t.Errorf("hint %q", e.Hint)
	}
}

func TestT22_WorkspaceOfInvitations(t *testing.T) {
	refused(t, "invitations_list", in{}, "/workspace_id", "required")
	refused(t, "invitations_list", in{"workspace_id": nil}, "/workspace_id", "integer")
	p, sim := open(t)
	for id, text := range map[int64]string{taskssim.Northgate: "9007199254741121", 0: "0", -3: "-3"} { // no bound is documented
		p.Call("invitations_list", in{"workspace_id": id})
		if got := sent(t, sim).Query; got != "workspace_id="+text {
			t.Errorf("sent %s", got)
		}
	}
}

func TestT23_InvitationsAreOneList(t *testing.T) {
	refused(t, "invitations_list", in{"workspace_id": 1, "cursor": "a.b"}, "/cursor", "no field")
	refused(t, "invitations_list", in{"workspace_id": 1, "limit": 5}, "/limit", "no field")
	p, sim := open(t)
	if p.Action("invitations_list").Paging != nil {
		t.Error("paging is declared")
	}
	out := output(t, p.Call("invitations_list", in{"workspace_id": taskssim.Brightwater}))
	if list := out["invitations"].([]any); len(list) != 3 || list[1].(in)["user_email"] != "jürgen@example.com" {
		t.Errorf("got %v", out)
	}
	if out := output(t, p.Call("invitations_list", in{"workspace_id": taskssim.Northgate})); len(out["invitations"].([]any)) != 1 {
		t.Errorf("a member that is no admin gets %v", out)
	}
	answer(t, sim, simkit.Fault{Body: `[]`})
	if out := output(t, p.Call("invitations_list", in{"workspace_id": 7})); len(out["invitations"].([]any)) != 0 {
		t.Errorf("got %v", out)
	}
	for _, other := range []string{`{"invitations":[]}`, `null`, `"x"`} {
		answer(t, sim, simkit.Fault{Body: other})
		failed(t, sim, p.Call("invitations_list", in{"workspace_id": 7}), sdk.CodeUnexpectedResponse, "where a list ")
	}
}

func TestT24_Accept(t *testing.T) {
	p, sim := open(t)
	out := output(t, p.Call("invitation_accept", in{"invite_code": taskssim.LanternCode}))
	r := sent(t, sim)
	if r.Method != "PUT" || r.Length != 0 || r.Header["content-type"] != "" || r.Query != "" || out["invitation"].(in)["state"] != "accepted" {
		t.Errorf("sent %+v, got %v", r, out)
	}
	failed(t, sim, p.Call("invitation_accept", in{"invite_code": taskssim.OthersCode}), sdk.CodeForbidden, "another user")
	withoutCredential(t, "invitation_accept")
}

func TestT25_Reject(t *testing.T) {
	p, sim := open(t)
	out := output(t, p.Call("invitation_reject", in{"invite_code": taskssim.QuarryCode}))
	r := sent(t, sim)
	if r.Method != "PUT" || r.Length != 0 || r.Header["content-type"] != "" || !strings.HasSuffix(r.Path, "/reject") || out["invitation"].(in)["state"] != "rejected" {
		t.Errorf("sent %+v, got %v", r, out)
	}
	withoutCredential(t, "invitation_reject")
}

// withoutCredential checks that an action for authenticated users asks for a
// credential first.
func withoutCredential(t *testing.T, action string) {
	t.Helper()
	p, sim := openSim(t, taskssim.Options{}, nil)
	r := p.Call(action, in{"invite_code": taskssim.LanternCode})
	if r.Err == nil || r.Err.Code != sdk.CodeInvalid || sim.Kit().Count("") != 0 {
		t.Errorf("%s without a credential: %+v", action, r.Err)
	}
}

func TestT26_WorkspaceZeroIsValid(t *testing.T) {
	for _, action := range []string{"projects_archived", "projects_active"} {
		refused(t, action, in{}, "/workspace_id", "required")
		refused(t, action, in{"workspace_id": -1}, "/workspace_id", "at least 0")
		p, sim := open(t)
		failed(t, sim, p.Call(action, in{"workspace_id": 0}), sdk.CodeNotFound, "")
		if got := sent(t, sim).Path; !strings.HasPrefix(got, "/api/v1/workspaces/0/projects/") {
			t.Errorf("sent %s", got)
		}
	}
}

func TestT27_LimitOfProjects(t *testing.T) {
	for _, action := range []string{"projects_archived", "projects_active"} {
		refused(t, action, in{"workspace_id": 1, "limit": 0}, "/limit", "at least 1")
		refused(t, action, in{"workspace_id": 1, "limit": 501}, "/limit", "at most 500")
		p, sim := open(t)
		var queries []string
		for _, limit := range []any{nil, 1, 500} {
			output(t, p.Call(action, in{"workspace_id": taskssim.Brightwater, "limit": limit, "cursor": nil}))
			queries = append(queries, sent(t, sim).Query)
		}
		if diff := cmp.Diff([]string{"", "limit=1", "limit=500"}, queries); diff != "" {
			t.Errorf("queries (-want +got):\n%s", diff)
		}
	}
	p, _ := open(t)
	items, pages := readAll(t, p, "projects_archived", in{"workspace_id": taskssim.Brightwater})
	if len(items) != 130 || pages != 2 { // the server's default of 100 counts
		t.Errorf("%d projects on %d pages", len(items), pages)
	}
}

func TestT28_GuestsMayNotListArchived(t *testing.T) {
	p, sim := open(t)
	e := failed(t, sim, p.Call("projects_archived", in{"workspace_id": taskssim.Harbor}), sdk.CodeForbidden, "")
	if e.Reason != "FORBIDDEN" || e.Hint != "guests may not list archived projects" {
		t.Errorf("reason %q, hint %q", e.Reason, e.Hint)
	}
	answer(t, sim, simkit.Fault{Status: 403, Body: `{"error":"FORBIDDEN"}`})
	e = failed(t, sim, p.Call("projects_active", in{"workspace_id": taskssim.Harbor}), sdk.CodeForbidden, "")
	if e.Hint != "" || e.Reason != "FORBIDDEN" {
		t.Errorf("the hint of E5a stands on E5b: %+v", e)
	}
}

func TestT29_ActiveProjects(t *testing.T) {
	refused(t, "projects_active", in{"workspace_id": 1, "cursor": "x"}, "/cursor", "must match")
	p, sim := open(t)
	items, pages := readAll(t, p, "projects_active", in{"workspace_id": taskssim.Brightwater, "limit": 5})
	if len(items) != 12 || pages != 3 || !strings.HasSuffix(sent(t, sim).Path, "/projects/active") {
		t.Errorf("%d projects on %d pages", len(items), pages)
	}
}

func TestT30_NothingIsFilteredHere(t *testing.T) {
	p, _ := open(t)
	joined := map[any]int{}
	for _, item := range output(t, p.Call("projects_active", in{"workspace_id": taskssim.Northgate}))["items"].([]any) {
		joined[item.(in)["is_joined"]]++
	}
	if joined[false] != 3 || joined[true] != 6 {
		t.Errorf("joined: %v", joined)
	}
	if items := output(t, p.Call("projects_active", in{"workspace_id": taskssim.Harbor}))["items"].([]any); len(items) != 2 {
		t.Errorf("a guest gets %v", items)
	}
	doc := p.Action("projects_active").Doc
	if !strings.Contains(doc, "visible and not joined") || !strings.Contains(doc, "guests") {
		t.Errorf("the doc says nothing of it: %s", doc)
	}
}

func TestT31_Invite(t *testing.T) {
	refused(t, "users_invite", in{"workspace_id": 0, "body": in{}}, "/workspace_id", "at least 1")
	refused(t, "users_invite", in{"workspace_id": 1}, "/body", "required")
	refused(t, "users_invite", in{"workspace_id": 1, "body": "x"}, "/body", "object")
	p, sim := open(t)
	output(t, p.Call("users_invite", in{"workspace_id": taskssim.Brightwater, "body": in{"who": []string{"new@example.com"}}}))
	if list := output(t, p.Call("invitations_list", in{"workspace_id": taskssim.Brightwater}))["invitations"].([]any); len(list) != 4 {
		t.Errorf("%d invitations are pending", len(list))
	}
	if got := p.Action("users_invite").Effect; got != "once" {
		t.Errorf("effect %s: it would be sent again", got)
	}
	answer(t, sim, simkit.Fault{Drop: simkit.DropAfter})
	r := p.Call("users_invite", in{"workspace_id": taskssim.Brightwater, "body": in{"who": "other@example.com"}})
	if r.Err == nil || r.Err.Applied != sdk.AppliedUnknown || sim.Kit().Count("/api/v1/workspaces/40317/users/invite") != 2 {
		t.Errorf("a lost answer: %+v, %v", r.Err, sim.Kit().Counts())
	}
}

func TestT31_NothingWasSentIsKnown(t *testing.T) {
	srv := httptest.NewServer(nil)
	address := srv.URL
	srv.Close()
	p := sdktest.Open(t, New(), in{"base_url": address, "token": canary})
	for _, c := range everyCall() {
		if r := p.Call(c.action, c.input); r.Err == nil || r.Err.Code != sdk.CodeUnavailable || r.Err.Applied != sdk.NotApplied {
			t.Errorf("%s without a server: %+v", c.action, r.Err)
		}
	}
}

func TestT32_RemoveLabel(t *testing.T) {
	refused(t, "label_remove", in{}, "/body", "required")
	p, sim := open(t)
	out := output(t, p.Call("label_remove", in{"body": in{"name": "review"}}))
	if _, there := sim.Labels()["review"]; there || out["response"] != "ok" {
		t.Errorf("got %v, labels %v", out, sim.Labels())
	}
	for _, body := range []string{`null`, `7`, `"ok"`, `[]`, `true`, `{}`} { // of unspecified shape
		answer(t, sim, simkit.Fault{Body: body})
		if r := p.Call("label_remove", in{"body": in{"name": "x"}}); string(r.Output) != `{"response":`+body+`}` {
			t.Errorf("answer %s gives %s %v", body, r.Output, r.Err)
		}
	}
	answer(t, sim, simkit.Fault{Status: 204, Empty: true}) // policy: no content is null
	if r := p.Call("label_remove", in{"body": in{"name": "x"}}); string(r.Output) != `{"response":null}` {
		t.Errorf("no content gives %s %v", r.Output, r.Err)
	}
}

func TestT33_RenameLabel(t *testing.T) {
	refused(t, "label_rename", in{"body": 1}, "/body", "object")
	p, sim := open(t)
	out := output(t, p.Call("label_rename", in{"body": in{"from": "wating", "to": "waiting"}}))
	if labels := sim.Labels(); labels["wating"] != 0 || labels["waiting"] != 14 || out["response"].(in)["renamed_tasks"] != 3.0 {
		t.Errorf("got %v, labels %v", out, labels)
	}
}
