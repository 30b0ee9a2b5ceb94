package web

import (
	"context"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/guard"
)

const stepsText = "The steps of a loop's items stand behind the loop in the order of the items, handlers last. `tail` gives the last ones, and its next_cursor leads to those before them."

func registerSteps(t *typed, s *server) {
	register(t, guard.Viewer, "GET /runs/{id}/steps", huma.Operation{
		OperationID: "listSteps", Tags: []string{"runs"}, Summary: "List the steps of a run in the order of the file", Description: stepsText,
	}, s.steps)
}

// longestSteps is the longest page of steps: each page of a run that nobody drives
// costs a look through its whole journal.
const longestSteps = 10_000

type stepsQuery struct {
	RunRef
	ShortQuery
	TailQuery
	Limit  int             `query:"limit" minimum:"1" maximum:"10000" doc:"The length of the page; 50 where it is not given."`
	Cursor string          `query:"cursor" doc:"The next_cursor of the page before."`
	Step   string          `query:"step" doc:"Only this step, and of a loop the steps of its items."`
	Status runs.StepStatus `query:"status" enum:"pending,running,waiting,retrying,succeeded,failed,skipped,blocked,canceled,unknown" doc:"Only steps of this status."`
	Level  string          `query:"level" enum:"debug,info,warn,error" doc:"error: only steps that failed or whose outcome is unknown; warn: those that are tried again, were blocked or canceled, too; else all."`
	Since  string          `query:"since" doc:"Only steps that began or ended at this time or later: RFC 3339, or a duration that is taken off now, such as 10m." example:"10m"`
	Text   string          `query:"q" maxLength:"200" doc:"Only steps whose path, action, message or error holds this text, in letters of either case."`
}

func (s *server) steps(ctx context.Context, in *stepsQuery) (Page[runs.Step], error) {
	p, err := s.partOf("steps", in.ID, in.Limit, in.Tail, in.Cursor, in.Since, in.Step, string(in.Status), in.Level, in.Since, in.Text)
	if err != nil {
		return Page[runs.Step]{}, err
	}
	read := s.Runs.Steps
	if in.Short {
		read = s.Runs.StepsInShort
	}
	steps, err := read(ctx, in.ID)
	if err != nil {
		return Page[runs.Step]{}, ofRun(in.ID, err)
	}
	if p.back {
		slices.Reverse(steps)
	}
	shown, next := pageOfSteps(steps, p.from, p.length, in.matcher(p.since))
	if p.back {
		slices.Reverse(shown)
	}
	return pageOf(p, shown, next), nil
}

// pageOfSteps returns the steps that fit from a place on, and the place to go on
// at; 0 at the end.
func pageOfSteps(steps []runs.Step, place uint64, limit int, fits func(*runs.Step) bool) (shown []runs.Step, next uint64) {
	last := -1
	for i := afterPlace(steps, place); i < len(steps); i++ {
		if !fits(&steps[i]) {
			continue
		}
		if len(shown) == limit {
			return shown, placeOf(last, steps[last].Path)
		}
		shown, last = append(shown, steps[i]), i
	}
	return shown, 0
}

// placeOf is a step's index and digest: while a run goes on, steps of items come to
// stand before others.
func placeOf(index int, path string) uint64 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(path)) // a hash takes all
	return uint64(index+1)<<32 | uint64(sum.Sum32())
}

// afterPlace finds the index after the step of a place.
func afterPlace(steps []runs.Step, place uint64) int {
	if place == 0 {
		return 0
	}
	index := int(place>>32) - 1
	is := func(i int) bool { return uint32(placeOf(0, steps[i].Path)) == uint32(place) }
	if index < len(steps) && is(index) {
		return index + 1
	}
	for i := range steps {
		if is(i) {
			return i + 1
		}
	}
	return index + 1
}

// matcher is the filter as a function.
func (q *stepsQuery) matcher(since time.Time) func(*runs.Step) bool {
	text := strings.ToLower(q.Text)
	return func(step *runs.Step) bool {
		switch {
		case q.Step != "" && step.Path != q.Step && !runs.InLoop(step.Path, q.Step):
		case q.Status != "" && step.Status != q.Status:
		case !ofLevel(step.Status, q.Level):
		case !since.IsZero() && !activeSince(step, since):
		case text != "" && !stepHolds(step, text):
		default:
			return true
		}
		return false
	}
}

func ofLevel(status runs.StepStatus, level string) bool {
	bad := status == runs.StepFailed || status == runs.StepUnknown
	switch level {
	case "error":
		return bad
	case "warn":
		return bad || status == runs.StepRetrying || status == runs.StepBlocked || status == runs.StepCanceled
	}
	return true
}

func activeSince(step *runs.Step, since time.Time) bool {
	for _, at := range []*time.Time{step.StartedAt, step.FinishedAt} {
		if at != nil && !at.Before(since) {
			return true
		}
	}
	return false
}

// stepHolds reports whether a step has a text, which is in lower case.
func stepHolds(step *runs.Step, text string) bool {
	texts := []string{step.Path, step.Uses, step.Message, step.Wait}
	if step.Error != nil {
		texts = append(texts, step.Error.Message, step.Error.Reason, string(step.Error.Kind))
	}
	return slices.ContainsFunc(texts, func(part string) bool { return strings.Contains(strings.ToLower(part), text) })
}
