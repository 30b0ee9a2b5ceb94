package tasks

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/flowrun/flowrun/sdk"
)

// ProjectsInput is the input of projects_archived and projects_active (T-26,
// T-27). What is absent is not sent: the service has its own default.
type ProjectsInput struct {
	WorkspaceID int64   `json:"workspace_id" min:"0" doc:"Workspace whose projects to list; 0 is a valid id." example:"40317"`
	Cursor      *string `json:"cursor,omitempty" min:"1" pattern:"^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$" doc:"next_cursor of a page before, with otherwise the same inputs."`
	Limit       *int64  `json:"limit,omitempty" min:"1" max:"500" doc:"Projects on a page; the service's default is 100."`
	ItemsField  *string `json:"items_field,omitempty" min:"1" doc:"Name of the list in the answer, where there are several. Without it the only list is taken."`
}

// projects returns tasks.projects_archived (E5a) and tasks.projects_active (E5b).
func (s *service) projects(state string, hints map[int]string) func(*sdk.Call[Config], ProjectsInput) (sdk.Page, error) {
	return func(c *sdk.Call[Config], in ProjectsInput) (sdk.Page, error) {
		query := url.Values{}
		sdk.SetInteger(query, "limit", in.Limit)
		path := []string{"workspaces", strconv.FormatInt(in.WorkspaceID, 10), "projects", state}
		return s.page(c, request{path: path, query: query, hints: hints}, in.Cursor, in.ItemsField)
	}
}

// archivedHints holds what the document says of E5a alone (T-28).
func archivedHints() map[int]string {
	return map[int]string{http.StatusForbidden: "guests may not list archived projects"}
}
