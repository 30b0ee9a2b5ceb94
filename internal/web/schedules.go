package web

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Schedules is what the API needs of an engine to act on schedules and polls. An
// id is that of plan.TriggerID.
type Schedules interface {
	Schedules(ctx context.Context) ([]trigger.ScheduleItem, error)
	NextFires(ctx context.Context, id string, from time.Time, n int) (*trigger.NextFires, error)
	Fires(ctx context.Context, f runs.FireFilter) ([]runs.Fire, string, error)
	PauseSchedule(ctx context.Context, id string, r trigger.PauseRequest) (*trigger.ScheduleItem, error)
	ResumeSchedule(ctx context.Context, id string, r trigger.PauseRequest) (*trigger.ScheduleItem, error)
	TriggerSchedule(ctx context.Context, id string, r trigger.Request) (*runs.Run, error)
	Backfill(ctx context.Context, id string, r trigger.BackfillRequest) (*trigger.BackfillResult, error)
	DisableWorkflow(ctx context.Context, name string, r trigger.PauseRequest) error
	EnableWorkflow(ctx context.Context, name string) error
}

// TZData says which time zone rules slots are worked out by.
type TZData struct {
	Version string `json:"tzdata" doc:"The version of the time zone rules: 2026a. Empty where it can't be told."`
	Source  string `json:"tzdata_source" doc:"Where the rules lie."`
}

// SchedulePage is one page of schedules with the zone rules of their next slots.
type SchedulePage struct {
	Page[trigger.ScheduleItem]
	TZData
}

// NextAnswer is the answer of GET /schedules/{id}/next.
type NextAnswer struct {
	trigger.NextFires
	TZData
}

// ScheduleRef names a schedule in a path.
type ScheduleRef struct {
	ID string `path:"id" doc:"WORKFLOW/TRIGGER, percent-encoded: report/nightly is report%2Fnightly. The same paths take it as two segments." example:"report%2Fnightly"`
}

// maxScheduleID bounds the id of a schedule in bytes: names have at most 100
// letters each.
const maxScheduleID = 1024

func (r ScheduleRef) check() error {
	if _, _, ok := runs.SplitTriggerID(r.ID); !ok || len(r.ID) > maxScheduleID {
		return problemOf(&fault.UnknownError{What: "schedule", Name: shorten(r.ID), Hint: diag.Sayf("an id is WORKFLOW/TRIGGER; %s lists them", diag.Command{"schedules"})})
	}
	return nil
}

// schedulePattern is the path of one schedule, splitPattern the other form of it,
// which takes its id as it is written.
const (
	schedulePattern = Prefix + "/schedules/{id}/"
	splitPattern    = Prefix + "/schedules/{workflow}/{trigger}/"
)

// joinID serves the other form of a schedule's path.
func joinID(handle handler) handler {
	return func(s *server, w http.ResponseWriter, r *http.Request) error {
		r.SetPathValue("id", runs.TriggerID(r.PathValue("workflow"), r.PathValue("trigger")))
		return handle(s, w, r)
	}
}

func registerSchedules(t *typed, s *server) {
	register(t, guard.Viewer, "GET /schedules", huma.Operation{
		OperationID: "listSchedules", Tags: []string{"schedules"}, Summary: "List the schedules and polls of all workflows",
	}, s.schedules)
	register(t, guard.Viewer, "GET /schedules/{id}/next", huma.Operation{
		OperationID: "nextFires", Tags: []string{"schedules"}, Summary: "List the coming slots of a schedule",
		Description: "With a note where a change of the clock moves or drops one.",
	}, s.nextFires, wire.CodeConflict, wire.CodeInvalidInput)
	register(t, guard.Operator, "POST /schedules/{id}/pause", huma.Operation{
		OperationID: "pauseSchedule", Tags: []string{"schedules"}, Summary: "Stop a schedule from firing until it is resumed",
	}, func(ctx context.Context, in *pauseInput) (*trigger.ScheduleItem, error) {
		return s.turn(ctx, in, s.Schedules.PauseSchedule)
	}, wire.CodeConflict)
	register(t, guard.Operator, "POST /schedules/{id}/resume", huma.Operation{
		OperationID: "resumeSchedule", Tags: []string{"schedules"}, Summary: "Let a paused schedule fire again",
		Description: "From its next slot on: what was due meanwhile is not made up for.",
	}, func(ctx context.Context, in *pauseInput) (*trigger.ScheduleItem, error) {
		return s.turn(ctx, in, s.Schedules.ResumeSchedule)
	}, wire.CodeConflict)
	registerWhole(t, guard.Operator, "POST /schedules/{id}/trigger", huma.Operation{
		OperationID: "triggerSchedule", Tags: []string{"schedules"}, DefaultStatus: http.StatusCreated, Metadata: map[string]any{responses: polledResponse},
		Summary: "Start a run of a schedule now", Description: "Its slots stay as they are.",
	}, s.triggerSchedule, wire.CodeConflict, wire.CodeInvalidInput, wire.CodeReusedKey)
	registerWhole(t, guard.Operator, "POST /schedules/{id}/backfill", huma.Operation{
		OperationID: "backfillSchedule", Tags: []string{"schedules"}, DefaultStatus: http.StatusAccepted, Metadata: map[string]any{responses: backfillResponse},
		Summary: "Start runs of past slots", Description: "Slots from `from` on and before `until`. With `dry_run` it is only told which, with the status 200.",
	}, s.backfill, wire.CodeConflict, wire.CodeInvalidInput)
	register(t, guard.Viewer, "GET /fires", huma.Operation{
		OperationID: "listFires", Tags: []string{"schedules"}, Summary: "List what triggers did, the newest slot first",
		Description: "Each is a run, or the reason why there is none.",
	}, s.fires, wire.CodeInvalidInput)
}

// tzData asks for the zone rules.
func (s *server) tzData() TZData {
	teller, ok := s.Schedules.(interface {
		TZData() (version, source string)
	})
	if !ok {
		return TZData{}
	}
	version, source := teller.TZData()
	return TZData{Version: version, Source: source}
}

func (s *server) schedules(ctx context.Context, _ *struct{}) (SchedulePage, error) {
	items, err := s.Schedules.Schedules(ctx)
	return SchedulePage{newPage(items, ""), s.tzData()}, err
}

// defaultNext is how many coming slots are told where nobody says.
const defaultNext = 10

type nextQuery struct {
	ScheduleRef
	N    int    `query:"n" minimum:"1" maximum:"1000" doc:"How many; 10 where it is not given."`
	From string `query:"from" doc:"Only slots after this time, RFC 3339 or a duration ago such as 24h; now where it is not given."`
}

func (s *server) nextFires(ctx context.Context, in *nextQuery) (NextAnswer, error) {
	from, err := runquery.Moment("from", in.From, s.Now)
	if err != nil {
		return NextAnswer{}, err
	}
	next, err := s.Schedules.NextFires(ctx, in.ID, from, cmp.Or(in.N, defaultNext))
	if err != nil {
		return NextAnswer{}, err
	}
	return NextAnswer{*next, s.tzData()}, nil
}

type firesQuery struct {
	PageQuery
	Workflow string `query:"workflow" doc:"Only fires of this workflow."`
	Trigger  string `query:"trigger" doc:"Only fires of the trigger of this name."`
	Since    string `query:"since" doc:"Only slots at this time or later: RFC 3339, or a duration that is taken off now, such as 24h." example:"24h"`
	Until    string `query:"until" doc:"Only slots before this time, written like since."`
}

func (s *server) fires(ctx context.Context, in *firesQuery) (Page[runs.Fire], error) {
	since, err := runquery.Moment("since", in.Since, s.Now)
	if err != nil {
		return Page[runs.Fire]{}, err
	}
	until, err := runquery.Moment("until", in.Until, s.Now)
	if err != nil {
		return Page[runs.Fire]{}, err
	}
	fires, next, err := s.Schedules.Fires(ctx, runs.FireFilter{
		Workflow: in.Workflow, Trigger: in.Trigger, Since: since, Until: until, Limit: in.Limit, Cursor: in.Cursor,
	})
	return newPage(fires, next), err
}

type pauseInput struct {
	ScheduleRef
	Body *trigger.PauseRequest
}

func (s *server) turn(ctx context.Context, in *pauseInput, act func(context.Context, string, trigger.PauseRequest) (*trigger.ScheduleItem, error)) (*trigger.ScheduleItem, error) {
	request := orZero(in.Body)
	request.By = by(ctx, request.By)
	return act(ctx, in.ID, request)
}

type triggerInput struct {
	ScheduleRef
	KeyHeader
	Body *trigger.Request
}

var polledResponse = also{"200", "A poll that found nothing: there is no run.", "application/json", []reflect.Type{reflect.TypeFor[RunAnswer]()}}

func (s *server) triggerSchedule(ctx context.Context, in *triggerInput) (*creation[RunAnswer], error) {
	request := orZero(in.Body)
	request.By = by(ctx, request.By)
	key, err := in.identify(ctx, in.ID, request.RequestID, request.At)
	if err != nil {
		return nil, err
	}
	request.RequestID, request.Digest, request.Replayed = key.id, key.digest, key.replay()
	run, err := s.Schedules.TriggerSchedule(ctx, in.ID, request)
	if err != nil {
		return nil, err
	}
	if run == nil { // a poll that found nothing
		return &creation[RunAnswer]{Status: http.StatusOK, Body: RunAnswer{}}, nil
	}
	return &creation[RunAnswer]{Location: runLocation(run.ID), Replayed: key.replayed, Body: RunAnswer{Run: run}}, nil
}

// BackfillBody names the slots of a backfill.
type BackfillBody struct {
	From        string `json:"from" doc:"The first slot: RFC 3339, or a duration that is taken off now, such as 7d." example:"7d"`
	Until       string `json:"until,omitempty" doc:"Slots before this time, written like from; now where it is not given."`
	All         bool   `json:"all,omitempty" doc:"Also slots that have a run; else only missing ones."`
	DryRun      bool   `json:"dry_run,omitempty" doc:"Only say which slots there are."`
	MaxParallel int    `json:"max_parallel,omitempty" doc:"Runs of this backfill at a time; 1 where it is not given."`
	By          string `json:"by,omitempty" doc:"Who asks. Over TCP it is ignored."`
}

type backfillInput struct {
	ScheduleRef
	Body BackfillBody
}

// backfillOf reads the times of a backfill, and tells what is wrong with both.
func (s *server) backfillOf(body BackfillBody) (trigger.BackfillRequest, error) {
	request := trigger.BackfillRequest{All: body.All, DryRun: body.DryRun, MaxParallel: body.MaxParallel, By: body.By}
	var wrong *Problem
	for _, one := range []struct {
		name, text string
		into       *time.Time
	}{{"from", body.From, &request.From}, {"until", body.Until, &request.Until}} {
		at, err := runquery.Moment(one.name, one.text, s.Now)
		if err == nil {
			*one.into = at
			continue
		}
		problem := problemOf(err)
		problem.Faults = []wire.InputFault{{Input: one.name, Pointer: "/" + one.name, Detail: problem.Detail, Hint: problem.Hint}}
		if wrong == nil {
			wrong = problem
		} else {
			wrong.Detail, wrong.Faults = wrong.Detail+"; "+problem.Detail, append(wrong.Faults, problem.Faults...)
		}
	}
	if wrong != nil {
		return request, wrong
	}
	return request, nil
}

var backfillResponse = also{"200", "What would be started.", "application/json", []reflect.Type{reflect.TypeFor[trigger.BackfillResult]()}}

func (s *server) backfill(ctx context.Context, in *backfillInput) (*outcome[*trigger.BackfillResult], error) {
	request, err := s.backfillOf(in.Body)
	if err != nil {
		return nil, err
	}
	request.By = by(ctx, request.By)
	result, err := s.Schedules.Backfill(ctx, in.ID, request)
	if err != nil {
		return nil, err
	}
	answer := &outcome[*trigger.BackfillResult]{Body: result}
	if result.DryRun {
		answer.Status = http.StatusOK
	}
	return answer, nil
}
