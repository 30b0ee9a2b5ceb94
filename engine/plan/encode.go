package plan

import (
	"slices"

	"github.com/flowrun/flowrun/engine/jsontext"
)

// A plan is encoded once a run, in a process that may have learned none of its types. So
// what nearly all workflows have is written by hand, byte for byte as json.Marshal writes
// it; json.Marshal writes what is rare.

// Encode returns the plan as JSON: the same bytes for the same plan.
func (w *Workflow) Encode() ([]byte, error) {
	e := encoder{jsontext.Writer{Out: make([]byte, 0, 1024+2*len(w.Source))}}
	e.workflow(w)
	return e.Out, e.Err
}

type encoder struct{ jsontext.Writer }

func (e *encoder) workflow(w *Workflow) {
	e.Open()
	e.Number("format", int64(w.Format))
	e.Named("name", w.Name)
	e.Optional("description", w.Description)
	e.Named("file", w.File)
	e.Named("source", w.Source)
	jsontext.Map(&e.Writer, "labels", w.Labels)
	e.OptionalRaw("inputs", w.Inputs)
	e.OptionalRaw("state", w.State)
	jsontext.Object(&e.Writer, "concurrency", w.Concurrency)
	jsontext.List(&e.Writer, "triggers", w.Triggers)
	e.Number("timeout", int64(w.Timeout))
	e.Member("steps")
	jsontext.Elements(&e.Writer, w.Steps, e.step)
	jsontext.OptionalElements(&e.Writer, "outputs", w.Outputs, e.output)
	jsontext.OptionalElements(&e.Writer, "on_success", w.OnSuccess, e.step)
	jsontext.OptionalElements(&e.Writer, "on_failure", w.OnFailure, e.step)
	jsontext.OptionalElements(&e.Writer, "finally", w.Finally, e.step)
	e.actions(w.Actions)
	jsontext.Map(&e.Writer, "connections", w.Connections)
	e.OptionalRaw("output_schema", w.OutputSchema)
	jsontext.Map(&e.Writer, "workflows", w.Workflows)
	jsontext.Object(&e.Writer, "limits", w.Limits)
	e.Close()
}

func (e *encoder) actions(actions map[string]*Action) {
	if len(actions) == 0 {
		return
	}
	e.Member("actions")
	var names []string
	for name, action := range actions {
		if action == nil || !jsontext.Stands(name) { // a name that is escaped may stand elsewhere in the order
			e.Marshal(actions)
			return
		}
		names = append(names, name)
	}
	slices.Sort(names)
	e.Open()
	for _, name := range names {
		e.Member(name)
		e.action(actions[name])
	}
	e.Close()
}

func (e *encoder) action(a *Action) {
	e.Open()
	e.Named("plugin", a.Plugin)
	e.Named("name", a.Name)
	e.Optional("doc", a.Doc)
	e.Named("effect", string(a.Effect))
	e.Raw("input_schema", a.Input)
	e.Raw("output_schema", a.Output)
	e.Count("default_timeout", int64(a.DefaultTimeout))
	jsontext.OptionalElements(&e.Writer, "limiters", a.Limiters, e.limiter)
	jsontext.Object(&e.Writer, "paging", a.Paging)
	jsontext.Object(&e.Writer, "range", a.Range)
	e.Flag("incremental", a.Incremental)
	jsontext.OptionalElements(&e.Writer, "examples", a.Examples, e.example)
	jsontext.OptionalElements(&e.Writer, "faults", a.Faults, e.fault)
	e.Optional("deprecated", a.Deprecated)
	e.Flag("reconcile", a.Reconcile)
	e.Optional("recipe", a.Recipe)
	e.Optional("plugin_version", a.PluginVersion)
	e.Optional("plugin_digest", a.PluginDigest)
	e.Close()
}

func (e *encoder) limiter(l *Limiter) {
	e.Open()
	e.Named("name", l.Name)
	e.Number("requests", int64(l.Requests))
	e.Number("window", int64(l.Window))
	e.Bool("fixed_window", l.FixedWindow)
	e.Count("max_concurrent", int64(l.MaxConcurrent))
	jsontext.Texts(&e.Writer, "scope", l.Scope)
	e.Close()
}

func (e *encoder) example(x *Example) {
	e.Open()
	e.Named("name", x.Name)
	e.Raw("input", x.Input)
	e.OptionalRaw("output", x.Output)
	e.Close()
}

func (e *encoder) fault(f *Fault) {
	e.Open()
	e.Named("kind", string(f.Kind))
	e.Optional("reason", f.Reason)
	e.Optional("doc", f.Doc)
	e.Close()
}

func (e *encoder) step(s *Step) {
	e.Open()
	e.Named("id", s.ID)
	e.Optional("title", s.Title)
	e.Named("kind", string(s.Kind))
	e.pos("pos", s.Pos)
	jsontext.Texts(&e.Writer, "needs", s.Needs)
	jsontext.Texts(&e.Writer, "reads", s.Reads)
	e.optionalExpr("if", s.If)
	e.Named("run_if", string(s.RunIf))
	e.Count("timeout", int64(s.Timeout))
	e.Count("within", int64(s.Within))
	e.Optional("uses", s.Uses)
	e.optionalValue("connection", s.Connection)
	if !s.With.IsZero() {
		e.optionalValue("with", &s.With)
	}
	if s.Retry != nil {
		e.Member("retry")
		e.retry(s.Retry)
	}
	jsontext.Object(&e.Writer, "paginate", s.Paginate)
	jsontext.Object(&e.Writer, "repeat", s.Repeat)
	e.Count("cache", int64(s.Cache))
	e.Optional("incremental", s.Incremental)
	e.Optional("on_error_all", string(s.OnErrorAll))
	jsontext.Map(&e.Writer, "on_error", s.OnError)
	e.Optional("on_unknown", s.OnUnknown)
	e.OptionalRaw("output_schema", s.OutputSchema)
	e.Optional("page_identity", s.PageIdentity)
	e.Optional("workflow", s.Workflow)
	jsontext.OptionalElements(&e.Writer, "let", s.Let, e.binding)
	jsontext.Object(&e.Writer, "loop", s.Loop)
	e.Close()
}

func (e *encoder) retry(r *Retry) {
	e.Open()
	e.Number("attempts", int64(r.Attempts))
	e.Number("delay", int64(r.Delay))
	e.Float("factor", r.Factor)
	e.Number("max_delay", int64(r.MaxDelay))
	e.Float("jitter", r.Jitter)
	e.Member("on")
	jsontext.Elements(&e.Writer, r.On, func(kind *ErrorKind) { e.Text(string(*kind)) })
	e.Flag("explicit", r.Explicit)
	e.Close()
}

func (e *encoder) output(o *Output) {
	e.Open()
	e.Named("name", o.Name)
	e.Member("value")
	e.value(&o.Value)
	e.Optional("format", o.Format)
	jsontext.Texts(&e.Writer, "columns", o.Columns)
	jsontext.OptionalElements(&e.Writer, "to", o.To, e.step)
	e.Close()
}

func (e *encoder) binding(b *Binding) {
	e.Open()
	e.Named("name", b.Name)
	e.Member("value")
	e.value(&b.Value)
	e.Close()
}

func (e *encoder) optionalValue(name string, v *Value) {
	if v != nil {
		e.Member(name)
		e.value(v)
	}
}

func (e *encoder) value(v *Value) {
	e.Open()
	e.Optional("kind", string(v.Kind))
	e.OptionalRaw("literal", v.Literal)
	e.optionalExpr("expr", v.Expr)
	jsontext.OptionalElements(&e.Writer, "text", v.Text, func(part *TextPart) {
		e.Open()
		e.Optional("text", part.Text)
		e.optionalExpr("expr", part.Expr)
		e.Close()
	})
	jsontext.OptionalElements(&e.Writer, "object", v.Object, e.binding)
	jsontext.OptionalElements(&e.Writer, "list", v.List, e.value)
	e.Optional("secret", v.Secret)
	e.Close()
}

func (e *encoder) optionalExpr(name string, x *Expr) {
	if x != nil {
		e.Member(name)
		e.Open()
		e.Named("source", x.Source)
		e.pos("pos", x.Pos)
		e.Close()
	}
}

func (e *encoder) pos(name string, p Pos) {
	e.Member(name)
	e.Open()
	e.Number("line", int64(p.Line))
	e.Number("column", int64(p.Column))
	e.Close()
}
