package taskssim

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// invitation is one invitation view; its fields are not documented. The code
// itself is known to the invited user alone.
type invitation struct {
	ID          string `json:"id"`
	WorkspaceID int64  `json:"workspace_id"`
	UserEmail   string `json:"user_email"`
	Role        string `json:"role"`
	State       string `json:"state"`
	InvitedBy   string `json:"invited_by"`
	InvitedAt   string `json:"invited_at"`

	code string
}

const pending = "pending"

func (w *world) addInvitations() {
	for i, made := range []struct {
		workspace   int64
		email, code string
	}{
		{61002, user, LanternCode}, {61077, user, QuarryCode}, {61002, "sam@lantern.example", OthersCode},
		{Brightwater, "ana@example.com", "Ana_1-aa"}, {Brightwater, "jürgen@example.com", "Jur_1-bb"}, {Brightwater, "user009@example.com", "Left_1-cc"},
		{Northgate, "kim@example.com", "Kim_1-dd"},
	} {
		w.invitations = append(w.invitations, invitation{
			ID: textID("invitation " + made.code), WorkspaceID: made.workspace, UserEmail: made.email, Role: "member", State: pending,
			InvitedBy: "ines@brightwater.example", InvitedAt: stamp(w.now.Truncate(24*time.Hour).AddDate(0, 0, -2-i)), code: made.code,
		})
	}
}

// workspaceOf finds a workspace in which the user is.
func (s *Sim) workspaceOf(text string, lowest int64) (workspace, *refusal) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < lowest {
		return workspace{}, badRequest("workspace_id is not valid")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.world.workspaces[id]
	if !ok {
		return workspace{}, notFound("The workspace was not found.")
	}
	return found, nil
}

// listProjects answers E5a and E5b. Guests may not see archived projects, and
// of the active ones only those they joined.
func (s *Sim) listProjects(r *http.Request) (any, *refusal) {
	in, refused := s.workspaceOf(r.PathValue("workspace"), 0)
	limit, refusedLimit := number(r, "limit", 100, 1, 500)
	archived := strings.HasSuffix(r.URL.Path, "archived")
	if refused = cmp.Or(refused, refusedLimit); refused == nil && archived && in.role == guest {
		refused = forbidden("Guests may not list archived projects.")
	}
	if refused != nil {
		return nil, refused
	}
	s.mu.Lock()
	all := s.world.projects
	s.mu.Unlock()
	found := []project{}
	for _, p := range all {
		if p.WorkspaceID == in.id && p.IsArchived == archived && (in.role != guest || p.IsJoined) {
			found = append(found, p)
		}
	}
	return pageOf(s, r, "results", found, limit)
}

// listInvitations answers E2 with an array, all at once.
func (s *Sim) listInvitations(r *http.Request) (any, *refusal) {
	in, refused := s.workspaceOf(r.URL.Query().Get("workspace_id"), 0)
	if refused == nil && in.role == guest {
		refused = forbidden("Only members may list invitations.")
	}
	if refused != nil {
		return nil, refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []invitation{}
	for _, i := range s.world.invitations {
		if i.WorkspaceID == in.id && i.State == pending {
			found = append(found, i)
		}
	}
	return found, nil
}

// answerInvitation answers E3 and E4. What a second answer gets is not
// documented; here it is 400.
func (s *Sim) answerInvitation(r *http.Request) (any, *refusal) {
	code := r.PathValue("code")
	state := map[bool]string{true: "accepted", false: "rejected"}[strings.HasSuffix(r.URL.Path, "/accept")]
	if refused := serverID("invite_code", code); refused != nil {
		return nil, refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.world.invitations, func(i invitation) bool { return i.code == code })
	switch {
	case at < 0:
		return nil, notFound("The invitation was not found.")
	case s.world.invitations[at].UserEmail != user:
		return nil, forbidden("The invitation is for another user.")
	case s.world.invitations[at].State != pending:
		return nil, badRequest("The invitation is not pending any more.")
	}
	s.world.invitations[at].State = state
	return s.world.invitations[at], nil
}

// deleteInvitation answers E1. Its body is not documented: the simulator takes
// the pending invitation whose address or id stands anywhere in it.
func (s *Sim) deleteInvitation(r *http.Request) (any, *refusal) {
	body, refused := object(r)
	if refused != nil {
		return nil, refused
	}
	named := texts(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.world.invitations, func(i invitation) bool {
		return i.State == pending && (slices.Contains(named, i.UserEmail) || slices.Contains(named, i.ID))
	})
	switch {
	case at < 0:
		return nil, notFound("No pending invitation matches the body.")
	case s.world.workspaces[s.world.invitations[at].WorkspaceID].role != admin:
		return nil, forbidden("Only admins may delete invitations.")
	}
	answer := s.world.invitations[at]
	answer.State = "deleted"
	s.world.invitations = slices.Delete(slices.Clone(s.world.invitations), at, at+1)
	return answer, nil
}

// inviteUsers answers E6. Its body is not documented: every text with an @ in
// it is an address.
func (s *Sim) inviteUsers(r *http.Request) (any, *refusal) {
	in, refused := s.workspaceOf(r.PathValue("workspace"), 1)
	if refused == nil && in.role == guest {
		refused = forbidden("Guests may not invite.")
	}
	var body map[string]any
	if refused == nil {
		body, refused = object(r)
	}
	if refused != nil {
		return nil, refused
	}
	invited := []string{}
	s.mu.Lock()
	for _, address := range texts(body) {
		if strings.Contains(address, "@") {
			invited = append(invited, address)
			s.world.invite(in.id, address)
		}
	}
	s.mu.Unlock()
	if len(invited) == 0 {
		return nil, badRequest("The body holds no e-mail address.")
	}
	return map[string]any{"invited_emails": invited}, nil
}

func (w *world) invite(id int64, address string) {
	w.serial++
	code := "New_" + strconv.Itoa(w.serial) + "-" + address
	w.invitations = append(w.invitations, invitation{
		ID: textID("invitation " + code), WorkspaceID: id, UserEmail: address, Role: "member", State: pending,
		InvitedBy: user, InvitedAt: stamp(w.now), code: code,
	})
}
