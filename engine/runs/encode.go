package runs

import (
	"reflect"

	"github.com/flowrun/flowrun/engine/jsontext"
)

// Encode returns the row as json.Marshal writes it, byte for byte, for a store: it is
// stored with each commit of its run. What is rare is left to json.Marshal, which learns
// the types of it then.
func (r *Run) Encode() ([]byte, error) {
	w := jsontext.Writer{Out: make([]byte, 0, 512)}
	r.write(&w)
	return w.Out, w.Err
}

func (r *Run) write(w *jsontext.Writer) {
	w.Open()
	w.Named("id", r.ID)
	w.Named("workflow", r.Workflow)
	w.Named("status", string(r.Status))
	w.Optional("paused", r.Paused)
	w.Number("attempt", int64(r.Attempt))
	w.Named("trigger", r.Trigger)
	jsontext.Map(w, "labels", r.Labels)
	w.Optional("rerun_of", r.RerunOf)
	w.Optional("rerun_from", r.RerunFrom)
	jsontext.Texts(w, "edited_inputs", r.Edited)
	w.Time("scheduled_at", r.ScheduledAt)
	w.Time("started_at", r.StartedAt)
	w.OptionalTime("finished_at", r.FinishedAt)
	w.Number("duration_ms", r.DurationMS)
	jsontext.Object(w, "error", r.Error)
	w.Optional("plan_hash", r.PlanHash)
	jsontext.Object(w, "concurrency", r.Slot)
	w.Flag("closed", r.Closed)
	jsontext.Object(w, "parent", r.Parent)
	w.Optional("latest_plan_hash", r.LatestPlan)
	jsontext.Object(w, "fire", r.Fire)
	w.Count("asks", int64(r.Asks))
	w.Flag("undriven", r.Undriven)
	w.Close()
}

// Encode returns the entry as json.Marshal writes it.
func (e *OutboxEntry) Encode() ([]byte, error) {
	w := jsontext.Writer{Out: make([]byte, 0, 512)}
	w.Open()
	w.Unsigned("seq", e.Seq)
	w.Named("kind", string(e.Kind))
	w.Time("at", e.At)
	if e.Epoch != 0 {
		w.Unsigned("epoch", e.Epoch)
	}
	if !reflect.ValueOf(&e.Run).Elem().IsZero() {
		w.Member("run")
		e.Run.write(&w)
	}
	jsontext.Object(&w, "trigger", e.Trigger)
	w.Close()
	return w.Out, w.Err
}
