package web

import (
	"cmp"
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func registerSummary(t *typed, s *server) {
	register(t, guard.Viewer, "GET /runs/summary", huma.Operation{
		OperationID: "getRunsSummary", Tags: []string{"runs"}, Summary: "Count the stored runs, and name those that need somebody",
		Description: "All stored runs are counted, by status, by workflow and by the hour of their acceptance. Runs that failed, ran out of time, " +
			"are paused or ask a person need somebody; a failure until somebody has acknowledged it or a run of its workflow that was accepted later has succeeded. " +
			"`listRuns` with `attention=true` gives them page by page.",
	}, s.summary)
	register(t, guard.Operator, "POST /runs/acknowledge", huma.Operation{
		OperationID: "acknowledgeRuns", Tags: []string{"runs"}, Summary: "Say that somebody has looked at failed runs",
		Description: "They need nobody any more, and stay what they are. Runs that are paused or ask a person wait for an act and are passed over.",
	}, s.acknowledge)
}

type summaryQuery struct {
	Workflow string `query:"workflow" doc:"Only runs of this workflow."`
	Hours    int    `query:"hours" minimum:"0" maximum:"2160" doc:"How many hours are counted one by one, the current one included; 24 where it is not given."`
	Limit    int    `query:"limit" minimum:"1" maximum:"1000" doc:"How many of the runs that need somebody are named, the newest first; 50 where it is not given."`
}

// defaultHours are those of a summary that nobody chose.
const defaultHours = 24

func (s *server) summary(ctx context.Context, in *summaryQuery) (*engine.RunsSummary, error) {
	return s.Runs.Summary(ctx, engine.SummaryRequest{Workflow: in.Workflow, Limit: cmp.Or(in.Limit, defaultPage), Hours: cmp.Or(in.Hours, defaultHours)})
}

// AcknowledgeBody names runs that have failed: by their ids, or by a workflow and up
// to which run.
type AcknowledgeBody struct {
	Runs     []string `json:"runs,omitempty" maxItems:"1000" doc:"The ids of the runs."`
	Workflow string   `json:"workflow,omitempty" doc:"With up_to: only runs of this workflow."`
	UpTo     string   `json:"up_to,omitempty" doc:"In place of runs: all that need somebody and were accepted up to this run, which keeps those out that failed since."`
	By       string   `json:"by,omitempty" doc:"Who asks. Over TCP it is ignored."`
}

// AcknowledgeAnswer says how many runs needed somebody until now.
type AcknowledgeAnswer struct {
	Acknowledged int `json:"acknowledged" doc:"How many runs needed somebody until now."`
}

type acknowledgeInput struct{ Body AcknowledgeBody }

func (s *server) acknowledge(ctx context.Context, in *acknowledgeInput) (AcknowledgeAnswer, error) {
	for _, id := range in.Body.Runs {
		if !ValidID(id) {
			return AcknowledgeAnswer{}, noRun(shorten(id))
		}
	}
	switch {
	case len(in.Body.Runs) > 0 && in.Body.UpTo+in.Body.Workflow != "":
		return AcknowledgeAnswer{}, wire.NewProblem(wire.CodeBadRequest, "runs stands beside up_to or workflow: name the runs, or up to which one all are meant")
	case len(in.Body.Runs) == 0 && !ValidCursor(in.Body.UpTo):
		return AcknowledgeAnswer{}, wire.NewProblem(wire.CodeBadRequest, "neither runs nor up_to names a run: give their ids, or that of the newest one that is meant")
	}
	n, err := s.Runs.Acknowledge(ctx, engine.AcknowledgeRequest{
		Runs: in.Body.Runs, Workflow: in.Body.Workflow, UpTo: in.Body.UpTo, By: by(ctx, in.Body.By),
	})
	return AcknowledgeAnswer{Acknowledged: n}, err
}

// Summary counts the stored runs.
func (c *Client) Summary(ctx context.Context, r engine.SummaryRequest) (*engine.RunsSummary, error) {
	query := wire.Query("workflow", r.Workflow, "limit", number(r.Limit), "hours", number(r.Hours))
	return fetch[engine.RunsSummary](ctx, c, wire.WithQuery("/runs/summary", query))
}

// Acknowledge notes that somebody has looked at failed runs.
func (c *Client) Acknowledge(ctx context.Context, r engine.AcknowledgeRequest) (int, error) {
	answer, err := post[AcknowledgeAnswer](ctx, c, "/runs/acknowledge", AcknowledgeBody{Runs: r.Runs, Workflow: r.Workflow, UpTo: r.UpTo, By: r.By})
	return answer.Acknowledged, err
}
