package journal

import (
	"github.com/flowrun/flowrun/engine/jsontext"
	"github.com/flowrun/flowrun/engine/plan"
)

// What happens at every step is written by hand, byte for byte as json.Marshal writes it;
// json.Marshal writes what is rare.

// writer appends parts of records.
type writer struct{ jsontext.Writer }

// event appends an event.
func (w *writer) event(ev *Event) {
	w.Open()
	w.Named("kind", string(ev.Kind))
	w.Time("at", ev.At)
	w.Optional("path", ev.Path)
	if ev.Start != nil {
		w.Member("start")
		w.start(ev.Start)
	}
	if c := ev.Completed; c != nil {
		w.Member("completed")
		w.Open()
		w.Raw("output", c.Output)
		w.Optional("next_cursor", c.NextCursor)
		w.Bytes("watermark", c.Watermark)
		w.OptionalRaw("meta", c.Meta)
		w.Bytes("page_note", c.PageNote)
		w.Flag("cached", c.Cached)
		if c.Cursor != nil {
			w.Member("cursor")
			w.Open()
			w.Named("key", c.Cursor.Key)
			w.Unsigned("version", c.Cursor.Version)
			w.Close()
		}
		w.Close()
	}
	jsontext.Object(&w.Writer, "pending", ev.Pending)
	jsontext.Object(&w.Writer, "failed", ev.Failed)
	jsontext.Object(&w.Writer, "signal", ev.Signal)
	jsontext.Object(&w.Writer, "resolution", ev.Resolution)
	jsontext.Object(&w.Writer, "cancel", ev.Cancel)
	jsontext.Object(&w.Writer, "child", ev.Child)
	jsontext.Object(&w.Writer, "outcome", ev.Outcome)
	jsontext.Object(&w.Writer, "replan", ev.Replan)
	w.Flag("discard", ev.Discard)
	w.Optional("by", ev.By)
	jsontext.List(&w.Writer, "interrupted", ev.Interrupted)
	jsontext.List(&w.Writer, "waits", ev.Waits)
	jsontext.List(&w.Writer, "unsent", ev.Unsent)
	w.Close()
}

func (w *writer) start(s *Start) {
	w.Open()
	w.Named("run_id", s.RunID)
	w.Raw("inputs", s.Inputs)
	w.Named("trigger", s.Trigger)
	w.Time("scheduled_at", s.ScheduledAt)
	w.Number("interpreter", int64(s.Interpreter))
	w.Named("plan_hash", s.PlanHash)
	w.Optional("lock_hash", s.LockHash)
	w.Optional("rerun_of", s.RerunOf)
	jsontext.Map(&w.Writer, "state", s.State)
	jsontext.Map(&w.Writer, "state_versions", s.StateVersions)
	jsontext.OptionalElements(&w.Writer, "plugins", s.Plugins, w.pin)
	jsontext.Texts(&w.Writer, "edited_inputs", s.EditedInputs)
	w.Optional("from", s.From)
	jsontext.Map(&w.Writer, "taken", s.Taken)
	w.Optional("trigger_kind", string(s.TriggerKind))
	if !s.TriggerAt.IsZero() {
		w.Time("trigger_at", s.TriggerAt)
	}
	w.OptionalRaw("trigger_item", s.TriggerItem)
	w.OptionalRaw("trigger_outputs", s.TriggerOutputs)
	w.Optional("request_digest", s.RequestDigest)
	w.Close()
}

func (w *writer) pin(p *plan.PluginPin) {
	w.Open()
	w.Named("plugin", p.Plugin)
	w.Optional("version", p.Version)
	w.Optional("digest", p.Digest)
	w.Named("contract", p.Contract)
	w.Close()
}

// commands appends a list of commands.
func (w *writer) commands(commands []Command) {
	jsontext.Elements(&w.Writer, commands, w.command)
}

func (w *writer) command(c *Command) {
	w.Open()
	w.Named("kind", string(c.Kind))
	w.Optional("path", c.Path)
	if c.Call != nil {
		w.Member("call")
		w.call(c.Call)
	}
	if c.Timer != nil {
		w.Member("timer")
		w.Open()
		w.Time("at", c.Timer.At)
		w.Named("reason", c.Timer.Reason)
		w.Close()
	}
	jsontext.Object(&w.Writer, "child", c.Child)
	jsontext.Object(&w.Writer, "log", c.Log)
	if c.Finish != nil {
		w.Member("finish")
		w.finish(c.Finish)
	}
	w.Close()
}

func (w *writer) call(c *Call) {
	w.Open()
	w.Named("step", c.Step)
	w.Named("action", c.Action)
	w.Named("effect", string(c.Effect))
	w.Optional("connection", c.Connection)
	w.Raw("input", c.Input)
	w.Number("attempt", int64(c.Attempt))
	w.Optional("page_cursor", c.PageCursor)
	w.Bytes("checkpoint", c.Checkpoint)
	w.Bytes("page_note", c.PageNote)
	w.Flag("all_pages", c.AllPages)
	w.Optional("cursor", c.Cursor)
	w.Number("timeout", int64(c.Timeout))
	if c.Cache != 0 {
		w.Number("cache", int64(c.Cache))
	}
	w.Optional("reconcile", c.Reconcile)
	w.Close()
}

func (w *writer) finish(f *Finish) {
	if len(f.State)+len(f.Cursors)+len(f.StateVersions)+len(f.CursorVersions) > 0 {
		w.Marshal(f)
		return
	}
	w.Open()
	w.Named("status", string(f.Status))
	w.Optional("paused", f.Paused)
	if len(f.Outputs) > 0 {
		w.Member("outputs")
		w.Values(f.Outputs)
	}
	jsontext.Object(&w.Writer, "error", f.Error)
	w.Close()
}
