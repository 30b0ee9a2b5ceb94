package tasks

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/flowrun/flowrun/sdk"
)

// BodyInput is the input of the writes whose body the service's document does
// not show (T-63): it is sent as it is.
type BodyInput struct {
	Body sdk.Object `json:"body" doc:"JSON object that is sent as it is; the service's document does not show its fields."`
}

// InvitationsInput is the input of invitations_list. No bound of the id is
// documented here, so none is checked (T-22).
type InvitationsInput struct {
	WorkspaceID int64 `json:"workspace_id" doc:"Workspace whose pending invitations to list." example:"40317"`
}

// InvitationsOutput is the output of invitations_list.
type InvitationsOutput struct {
	Invitations []sdk.Value `json:"invitations" doc:"All pending invitations, unchanged; their fields are not documented."`
}

// CodeInput is the input of invitation_accept and invitation_reject.
type CodeInput struct {
	InviteCode string `json:"invite_code" secret:"true" min:"1" doc:"Code from the invitation's e-mail; it belongs to the invited user alone."`
}

// InvitationOutput is the output of invitation_accept and invitation_reject.
type InvitationOutput struct {
	Invitation sdk.Value `json:"invitation" doc:"The invitation, unchanged; its fields are not documented."`
}

// InviteInput is the input of users_invite.
type InviteInput struct {
	WorkspaceID int64      `json:"workspace_id" min:"1" doc:"Workspace to invite to, above 0." example:"40317"`
	Body        sdk.Object `json:"body" doc:"JSON object that is sent as it is; the service's document does not show its fields."`
}

// deleteInvitation is action tasks.invitation_delete (E1, T-21).
func deleteInvitation(c *sdk.Call[Config], in BodyInput) (AnswerOutput, error) {
	hints := map[int]string{http.StatusForbidden: "only admins may delete invitations"}
	return post(c, in.Body, hints, "workspaces", "invitations", "delete")
}

// listInvitations is action tasks.invitations_list (E2, T-22, T-23).
func listInvitations(c *sdk.Call[Config], in InvitationsInput) (InvitationsOutput, error) {
	query := url.Values{"workspace_id": {strconv.FormatInt(in.WorkspaceID, 10)}}
	response, err := send(c, request{path: []string{"workspaces", "invitations", "all"}, query: query})
	if err != nil {
		return InvitationsOutput{}, err
	}
	var invitations []sdk.Value
	if err := response.JSON(&invitations); err != nil {
		return InvitationsOutput{}, err
	}
	if invitations == nil {
		return InvitationsOutput{}, response.Fail(sdk.CodeUnexpectedResponse, "the answer is null where a list of invitations is due")
	}
	return InvitationsOutput{Invitations: invitations}, nil
}

// answerInvitation returns tasks.invitation_accept and _reject (E3, E4): a PUT
// without a body, so also without a Content-Type. What a second call answers is
// not documented; it is passed on (T-15).
func answerInvitation(verb string) func(*sdk.Call[Config], CodeInput) (InvitationOutput, error) {
	return func(c *sdk.Call[Config], in CodeInput) (InvitationOutput, error) {
		response, err := send(c, request{method: http.MethodPut, path: []string{"workspaces", "invitations", in.InviteCode, verb}})
		if err != nil {
			return InvitationOutput{}, err
		}
		invitation, err := response.DocumentOrNull()
		return InvitationOutput{Invitation: invitation}, err
	}
}

// codeProblems refuses codes that no path can carry (T-10) and placeholders
// (T-04).
func codeProblems(in CodeInput) []sdk.Problem {
	if in.InviteCode == "." || in.InviteCode == ".." {
		return []sdk.Problem{sdk.Problemf("/invite_code", "must not be a dot segment").WithDetail("copy the code from the invitation's e-mail")}
	}
	return placeholder("/invite_code", in.InviteCode)
}

// inviteUsers is action tasks.users_invite (E6, T-31).
func inviteUsers(c *sdk.Call[Config], in InviteInput) (AnswerOutput, error) {
	return post(c, in.Body, nil, "workspaces", strconv.FormatInt(in.WorkspaceID, 10), "users", "invite")
}

// removeLabel is action tasks.label_remove (E7, T-32).
func removeLabel(c *sdk.Call[Config], in BodyInput) (AnswerOutput, error) {
	return post(c, in.Body, nil, "labels", "shared", "remove")
}

// renameLabel is action tasks.label_rename (E8, T-33).
func renameLabel(c *sdk.Call[Config], in BodyInput) (AnswerOutput, error) {
	return post(c, in.Body, nil, "labels", "shared", "rename")
}
