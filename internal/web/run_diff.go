package web

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine/rundiff"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func registerDiff(t *typed, s *server) {
	register(t, guard.Viewer, "GET /runs/{id}/diff", huma.Operation{
		OperationID: "diffRuns", Tags: []string{"runs"}, Summary: "Compare a run with another one",
		Description: "What was given to the runs, what they went by, what came of them and how long their steps took. `a` is the run of the path, `b` the one of `with`. " +
			"Secrets stand as references. At most 1,000 steps are listed, those that differ before others; `steps_left` counts the rest. Outputs of steps that are long in both runs are not compared.",
	}, s.diff)
}

type diffQuery struct {
	RunRef
	With string `query:"with" required:"true" doc:"The id of the other run." example:"01k8zq4c0vdx3y6t7k9m2n5p8r"`
}

func (s *server) diff(ctx context.Context, in *diffQuery) (*rundiff.Diff, error) {
	other := RunRef{ID: in.With}
	if err := other.check(); err != nil {
		return nil, err
	}
	for _, id := range []string{in.ID, in.With} { // which of them is not there stands in the problem
		if _, err := s.Runs.GetOpen(ctx, id); err != nil {
			return nil, ofRun(id, err)
		}
	}
	return s.Runs.Diff(ctx, in.ID, in.With)
}

// Diff compares two runs.
func (c *Client) Diff(ctx context.Context, a, b string) (*rundiff.Diff, error) {
	return fetch[rundiff.Diff](ctx, c, wire.WithQuery(runPath(a, "/diff"), wire.Query("with", b)))
}
