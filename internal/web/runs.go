package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// defaultPage is the length of a page of a list that nobody chose.
const defaultPage = 50

// RunRef names a run in a path.
type RunRef struct {
	ID string `path:"id" doc:"The run's id, a lower-case ULID." example:"01k8zq4c0vdx3y6t7k9m2n5p8r"`
}

// check refuses an id that can't be a run's: it never reaches the store.
func (p RunRef) check() error {
	if !ValidID(p.ID) {
		return noRun(shorten(p.ID))
	}
	return nil
}

// PageQuery selects a page of a list.
type PageQuery struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" doc:"The length of the page; 50 where it is not given."`
	Cursor string `query:"cursor" doc:"The next_cursor of the page before."`
}

func registerRuns(t *typed, s *server) {
	register(t, guard.Viewer, "GET /runs", huma.Operation{
		OperationID: "listRuns", Tags: []string{"runs"}, Summary: "List runs, the newest first",
	}, s.runs)
	register(t, guard.Viewer, "GET /runs/{id}", huma.Operation{
		OperationID: "getRun", Tags: []string{"runs"}, Summary: "Get a run with its steps and outputs", Description: "What `flowrun run -o json` prints.",
	}, s.run)
	registerContents(t, s)
	registerSteps(t, s)
	registerLogs(t, s)
	registerDiff(t, s)
	register(t, guard.Viewer, "GET /runs/{id}/events", huma.Operation{
		OperationID: "listEvents", Tags: []string{"runs"}, Summary: "List the stored records of a run",
		Description: "The journal as it is stored; `cursor` is a sequence number.",
	}, s.events)
}

type runsQuery struct {
	PageQuery
	Workflow  string      `query:"workflow" doc:"Only runs of this workflow."`
	Status    runs.Status `query:"status" enum:"queued,running,waiting,paused,succeeded,failed,canceled,timed_out" doc:"Only runs of this status."`
	Attention bool        `query:"attention" doc:"Only runs that need somebody: see getRunsSummary."`
	Labels    []string    `query:"label,explode" doc:"Only runs with this label, as name=value. Where it is given twice both must hold."`
	IDPrefix  string      `query:"id_prefix" doc:"Only runs whose id begins so: 4 letters or more."`
	IDSuffix  string      `query:"id_suffix" doc:"Only runs whose id ends so: 4 letters or more. A page may then be short, or empty, before the end, as with a query."`
	Since     string      `query:"since" doc:"Only runs that began at this time or later: RFC 3339, or a duration that is taken off now, such as 24h." example:"24h"`
	Query     string      `query:"query" doc:"Only runs of which this expression is true. It reads the fields of a run. With a query a page may be short, or empty, before the end: next_cursor is null at the end alone." example:"status == \"failed\" && duration_ms > 60000"`
}

func (s *server) runs(ctx context.Context, in *runsQuery) (Page[runs.Run], error) {
	filter, err := runquery.Text{
		Workflow: in.Workflow, Status: string(in.Status), Attention: in.Attention, Labels: in.Labels, Since: in.Since, Query: in.Query, Cursor: in.Cursor, Limit: in.Limit,
		IDPrefix: in.IDPrefix, IDSuffix: in.IDSuffix,
	}.Filter(s.Now)
	if err != nil {
		return Page[runs.Run]{}, err
	}
	rows, next, err := s.Runs.List(ctx, filter)
	return newPage(rows, next), err
}

// ShortQuery leaves out what is long.
type ShortQuery struct {
	Short bool `query:"short" doc:"Leave out the outputs of steps that are long, such as those of a reading of many pages: outputs_bytes says how long they are."`
}

type runQuery struct {
	RunRef
	ShortQuery
	Open bool `query:"open" doc:"As short, with those steps alone that have not ended: a loop may have had many."`
}

func (s *server) run(ctx context.Context, in *runQuery) (*runs.Result, error) {
	get := s.Runs.Get
	switch {
	case in.Open:
		get = s.Runs.GetOpen
	case in.Short:
		get = s.Runs.GetInShort
	}
	result, err := get(ctx, in.ID)
	return result, ofRun(in.ID, err)
}

type eventsQuery struct {
	RunRef
	PageQuery
}

func (s *server) events(ctx context.Context, in *eventsQuery) (Page[json.RawMessage], error) {
	from := uint64(1)
	if in.Cursor != "" {
		seq, err := strconv.ParseUint(in.Cursor, 10, 64)
		if err != nil {
			return Page[json.RawMessage]{}, wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("cursor %q is not a sequence number", shorten(in.Cursor)))
		}
		from = seq
	}
	records, follows, err := s.Runs.Events(ctx, in.ID, from, cmp.Or(in.Limit, defaultPage))
	if err != nil {
		return Page[json.RawMessage]{}, ofRun(in.ID, err)
	}
	next := ""
	if follows > 0 {
		next = strconv.FormatUint(follows, 10)
	}
	items := make([]json.RawMessage, len(records))
	for i := range records {
		if items[i], err = records[i].MarshalJSON(); err != nil {
			return Page[json.RawMessage]{}, problemOf(err)
		}
	}
	return newPage(items, next), nil
}

func newPage[T any](items []T, next string) Page[T] {
	page := Page[T]{Items: items}
	if items == nil {
		page.Items = []T{}
	}
	if next != "" {
		page.NextCursor = &next
	}
	return page
}
