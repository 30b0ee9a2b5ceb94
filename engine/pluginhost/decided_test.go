package pluginhost

import (
	"context"
	"encoding/json"
	"testing"
)

// An action whose schemas decide everything is not asked about an input that was held
// against them: also by a host that knows it from the record, which starts no process.
func TestAnActionWhoseSchemasDecideIsNotAsked(t *testing.T) {
	ask := func(w *world, action string) Validation {
		t.Helper()
		v, err := w.host.ValidateOn(context.Background(), action, "", Connection{}, json.RawMessage(`{"text":"x"}`), []string{"/size"})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := newWorld(t, "decided", nil)
	if v := ask(first, "evil.echo"); len(v.Diagnostics) > 0 {
		t.Errorf("it was asked, and said %+v", v.Diagnostics)
	}
	if v := ask(first, "evil."+evilActions()[1]); len(v.Diagnostics) != 1 {
		t.Errorf("an action that does not say so was not asked: %+v", v)
	}
	if said, _, err := first.host.Validate(context.Background(), "evil.echo", "", json.RawMessage(`{"text":1}`), nil); err != nil || len(said) != 1 {
		t.Errorf("an input that nobody held against the schema was not asked about: %+v, %v", said, err)
	}
	if err := first.host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	second := newWorld(t, "decided", func(o *Options) { o.StateDir = first.host.options.StateDir })
	if v := ask(second, "evil.echo"); len(v.Diagnostics) > 0 || second.host.Status("evil").State != Stopped {
		t.Errorf("%+v, %v: want no answer, and no process", v, second.host.Status("evil"))
	}
}

// A schema with words that are not read does not decide here, whatever the plugin says.
func TestAnActionIsAskedWhereItsSchemaIsNotReadWhole(t *testing.T) {
	w := newWorld(t, "decided-unread", nil)
	v, err := w.host.ValidateOn(context.Background(), "evil.echo", "", Connection{}, json.RawMessage(`{"text":"x"}`), nil)
	if err != nil || len(v.Diagnostics) != 1 {
		t.Errorf("it was not asked: %+v, %v", v, err)
	}
}

// What an action of an index says is kept with it.
func TestWhatDecidesIsKeptOfAnIndex(t *testing.T) {
	say := "hello"
	first := tellWorld(t, "told", "", &say, 2)
	decided := func(w *world) bool {
		t.Helper()
		if _, err := w.host.Actions(t.Context(), "crm", "", "say_00001"); err != nil {
			t.Fatal(err)
		}
		_, c, err := w.host.contract(t.Context(), "crm", "")
		if err != nil {
			t.Fatal(err)
		}
		return c.action("say_00001").decided
	}
	if !decided(first) {
		t.Error("the SDK does not say of an action without rules that its schemas decide")
	}
	second := tellWorld(t, "told", first.host.options.StateDir, &say, 2)
	if !decided(second) || second.host.Status("crm").State != Stopped {
		t.Errorf("the record does not say it: %v", second.host.Status("crm"))
	}
}
