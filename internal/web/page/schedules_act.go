package page

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
)

// maxReason bounds what a person says about a pause, in letters.
const maxReason = 500

// reasonOf is what a person says about a pause. *fault.InputError.
func reasonOf(r *http.Request) (string, error) {
	reason := strings.TrimSpace(r.PostFormValue("reason"))
	if letters := []rune(reason); len(letters) > maxReason {
		return "", &fault.InputError{Input: "reason", Message: "the reason is longer than " + strconv.Itoa(maxReason) + " letters"}
	}
	return reason, nil
}

func (s *site) pauseSchedule(r *http.Request) (*outcome, error) {
	reason, err := reasonOf(r)
	if err != nil {
		return nil, err
	}
	_, err = s.Engine.PauseSchedule(r.Context(), scheduleID(r), trigger.PauseRequest{Reason: reason, By: by(r)})
	return s.toSchedule(r), err
}

func (s *site) resumeSchedule(r *http.Request) (*outcome, error) {
	_, err := s.Engine.ResumeSchedule(r.Context(), scheduleID(r), trigger.PauseRequest{By: by(r)})
	return s.toSchedule(r), err
}

// toSchedule goes back to the page that the form stood on: the list or the
// schedule.
func (s *site) toSchedule(r *http.Request) *outcome {
	if back := r.PostFormValue("back"); isOwnPath(back) && strings.HasPrefix(back, "/schedules") {
		return &outcome{to: back}
	}
	return &outcome{to: scheduleURL(r.PathValue("workflow"), r.PathValue("trigger"))}
}

func (s *site) triggerSchedule(r *http.Request) (*outcome, error) {
	at := s.timeField("at")
	when := readTime(at, r)
	if at.Error == "" {
		run, err := s.Engine.TriggerSchedule(r.Context(), scheduleID(r), trigger.Request{At: when, RequestID: requestID(r), By: by(r)})
		if err == nil {
			return &outcome{to: runURL(run.ID)}, nil
		}
		if !isRefusal(err) {
			return nil, err
		}
		at.Error = err.Error()
	}
	data, err := s.scheduleData(r)
	if err != nil {
		return nil, err
	}
	data.At = at
	return &outcome{screen: s.scheduleScreen(data)}, nil
}

// isRefusal reports whether an error is about what was asked for, so that it
// belongs beside the form.
func isRefusal(err error) bool {
	_, input := errors.AsType[*fault.InputError](err)
	_, conflict := errors.AsType[*fault.ConflictError](err)
	return input || conflict
}

// requestID makes a form that is sent twice, as by an impatient click, one
// request: it names the form as it was shown and what was filled in. "" where the
// form had no name.
func requestID(r *http.Request) string {
	once := r.PostFormValue("once")
	if once == "" || len(once) > 64 {
		return ""
	}
	filled := maps.Clone(r.PostForm)
	delete(filled, "csrf")
	delete(filled, "back")
	sum := sha256.Sum256([]byte(r.URL.Path + "?" + filled.Encode()))
	return "page/" + callerOf(r).Name + "/" + once + "/" + hex.EncodeToString(sum[:8])
}

// maxAtOnce bounds the runs of one backfill at a time.
const maxAtOnce = 100

// backfill shows what a backfill would start, or starts it.
func (s *site) backfill(r *http.Request) (*outcome, error) {
	data, err := s.scheduleData(r)
	if err != nil {
		return nil, err
	}
	made := s.scheduleScreen(data)
	from, until := readTime(data.From, r), readTime(data.Until, r)
	data.All, data.AtOnce = r.PostFormValue("all") != "", strings.TrimSpace(r.PostFormValue("at_once"))
	atOnce, err := strconv.Atoi(data.AtOnce)
	switch {
	case data.From.Error+data.Until.Error != "":
		return &outcome{screen: made}, nil
	case from.IsZero():
		data.From.Error = "is missing: the first slot that is looked at"
	case !until.IsZero() && !until.After(from):
		data.Until.Error = "must lie after the begin"
	case err != nil || atOnce < 1 || atOnce > maxAtOnce:
		data.Error = "runs at a time: 1 to " + strconv.Itoa(maxAtOnce)
	default:
		return s.runBackfill(r, data, made, trigger.BackfillRequest{
			From: from, Until: until, All: data.All, MaxParallel: atOnce, DryRun: r.PostFormValue("do") != "start", By: by(r),
		})
	}
	return &outcome{screen: made}, nil
}

func (s *site) runBackfill(r *http.Request, data *scheduleData, made *screen, request trigger.BackfillRequest) (*outcome, error) {
	result, err := s.Engine.Backfill(r.Context(), data.ID, request)
	switch {
	case err != nil && isRefusal(err):
		data.Error = err.Error()
		return &outcome{screen: made}, nil
	case err != nil:
		return nil, err
	case request.DryRun:
		data.Preview = result
	default:
		fresh, err := s.scheduleData(r) // with what it has started
		if err != nil {
			return nil, err
		}
		fresh.Started = result
		made = s.scheduleScreen(fresh)
	}
	return done(made), nil
}

// slotsShown is how many slots of a backfill a page names; the rest is counted.
const slotsShown = 50

// Slots are those of them that the page names.
func (d *scheduleData) Slots(fires []runs.Fire) []runs.Fire {
	return fires[:min(len(fires), slotsShown)]
}
