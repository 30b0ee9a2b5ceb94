package tasks

import (
	"net/url"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// Windows that the engine cuts long ranges into: never longer than what the
// service takes, wherever they begin. 89 days are the shortest 3 months.
const (
	completionWindow = 89 * 24 * time.Hour
	dueWindow        = 42 * 24 * time.Hour
)

// CompletedInput is the input of completed_by_due_date, and all but the key of
// completed_by_completion_date. What is absent is not sent.
type CompletedInput struct {
	Since       string  `json:"since" format:"date-time" doc:"Start of the range, inclusive, with its offset." example:"2026-01-05T00:00:00Z"`
	Until       string  `json:"until" format:"date-time" doc:"End of the range, exclusive, with its offset." example:"2026-01-12T00:00:00Z"`
	WorkspaceID *int64  `json:"workspace_id,omitempty" doc:"Only tasks of this workspace."`
	ProjectID   *string `json:"project_id,omitempty" min:"1" doc:"Only tasks of this project."`
	SectionID   *string `json:"section_id,omitempty" min:"1" doc:"Only tasks of this section."`
	ParentID    *string `json:"parent_id,omitempty" min:"1" doc:"Only subtasks of this task."`
	FilterQuery *string `json:"filter_query,omitempty" min:"1" max:"1024" doc:"Filter in the service's own language." example:"@client-x"`
	FilterLang  *string `json:"filter_lang,omitempty" min:"1" doc:"Language that filter_query is written in, as the service names it." example:"en"`
	Cursor      *string `json:"cursor,omitempty" min:"1" pattern:"^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$" doc:"next_cursor of a page before, with otherwise the same inputs."`
	Limit       *int64  `json:"limit,omitempty" min:"1" doc:"Tasks on a page; the service's default is 50, its maximum is not documented."`
	ItemsField  *string `json:"items_field,omitempty" min:"1" doc:"Name of the list in the answer, where there are several. Without it the only list is taken."`
}

// ByCompletionInput is the input of completed_by_completion_date.
type ByCompletionInput struct {
	CompletedInput
	PublicKey *string `json:"public_key,omitempty" secret:"true" min:"1" doc:"Public access key of a project; with it the connection needs no credential."`
}

// byCompletion is action tasks.completed_by_completion_date (E9).
func (s *service) byCompletion(c *sdk.Call[Config], in ByCompletionInput) (sdk.Page, error) {
	query := in.query()
	use := currentToken
	if in.PublicKey != nil {
		query.Set("public_key", *in.PublicKey)
		use = optionalToken
	}
	return s.page(c, request{path: []string{"tasks", "completed", "by_completion_date"}, query: query, use: use}, in.Cursor, in.ItemsField)
}

// byDueDate is action tasks.completed_by_due_date (E10).
func (s *service) byDueDate(c *sdk.Call[Config], in CompletedInput) (sdk.Page, error) {
	return s.page(c, request{path: []string{"tasks", "completed", "by_due_date"}, query: in.query()}, in.Cursor, in.ItemsField)
}

// query returns the parameters without cursor. The project, section and parent
// go with both actions: the parameter table lists them for both, though the prose
// names them for E10 only (T-44).
func (in CompletedInput) query() url.Values {
	query := url.Values{"since": {in.Since}, "until": {in.Until}}
	sdk.SetInteger(query, "workspace_id", in.WorkspaceID)
	sdk.SetText(query, "project_id", in.ProjectID)
	sdk.SetText(query, "section_id", in.SectionID)
	sdk.SetText(query, "parent_id", in.ParentID)
	sdk.SetText(query, "filter_query", in.FilterQuery)
	sdk.SetText(query, "filter_lang", in.FilterLang)
	sdk.SetInteger(query, "limit", in.Limit)
	return query
}

// byCompletionProblems is what tags cannot say about E9 (T-38).
func byCompletionProblems(in ByCompletionInput, unknown []string) []sdk.Problem {
	return in.problems(unknown, completionLimit)
}

// byDueDateProblems is what tags cannot say about E10 (T-39).
func byDueDateProblems(in CompletedInput, unknown []string) []sdk.Problem {
	return in.problems(unknown, dueLimit)
}

func (in CompletedInput) problems(unknown []string, limit rangeLimit) []sdk.Problem {
	var problems []sdk.Problem
	if !sdk.IsUnknown(unknown, "/since") && !sdk.IsUnknown(unknown, "/until") {
		problems = append(problems, limit.problems(in.Since, in.Until)...)
	}
	for _, id := range []struct {
		pointer string
		value   *string
	}{{"/project_id", in.ProjectID}, {"/section_id", in.SectionID}, {"/parent_id", in.ParentID}} {
		if id.value != nil && !sdk.IsUnknown(unknown, id.pointer) {
			problems = append(problems, placeholder(id.pointer, *id.value)...)
		}
	}
	if in.FilterLang != nil && in.FilterQuery == nil && !sdk.IsUnknown(unknown, "/filter_query") && !sdk.IsUnknown(unknown, "/filter_lang") {
		problems = append(problems, sdk.Warningf("/filter_lang", "has no effect without `filter_query`").
			WithDetail("it says in which language filter_query is written"))
	}
	return problems
}
