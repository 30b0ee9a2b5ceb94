package web

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func sameText(t interface{ Fatalf(string, ...any) }, u engine.Update) {
	want, wantErr := wire.EncodeJSON(u)
	got, err := appendUpdate([]byte("before"), &u)
	if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, append([]byte("before"), bytes.TrimSuffix(want, []byte("\n"))...)) {
		t.Fatalf("%s, %v\nwant %s, %v", got, err, want, wantErr)
	}
}

// TestIssue17_AnUpdateByHandIsWhatTheEncoderWrites: random ones, of the kinds that are
// written by hand, with texts, times and outputs of any form.
func TestIssue17_AnUpdateByHandIsWhatTheEncoderWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a[1].b", "<b>&\u2028", "\xff", `"\`}))
		count := rapid.SampledFrom([]int{0, 1, -1, 1000})
		at := func(name string) *time.Time {
			when := time.Unix(rapid.Int64Range(-1e11, 1e12).Draw(t, name), rapid.Int64Range(0, 1e9).Draw(t, name+"ns"))
			switch rapid.IntRange(0, 3).Draw(t, name+" as") {
			case 0:
				return nil
			case 1:
				when = when.In(time.FixedZone("east", 7200))
			default:
				when = when.UTC()
			}
			return &when
		}
		u := engine.Update{Kind: engine.UpdateKind(text.Draw(t, "kind")), RunID: text.Draw(t, "run"), Seq: rapid.Uint64Range(0, 3).Draw(t, "seq")}
		if rapid.Bool().Draw(t, "a record") {
			u.Record, _ = json.Marshal(map[string]any{"seq": 1, "event": text.Draw(t, "event")})
		}
		if rapid.Bool().Draw(t, "a step") {
			u.Step = &runs.Step{
				Path: text.Draw(t, "path"), Status: runs.StepStatus(text.Draw(t, "status")), Attempts: count.Draw(t, "attempts"), Uses: text.Draw(t, "uses"),
				Items: count.Draw(t, "items"), Done: count.Draw(t, "done"), ItemErrors: count.Draw(t, "errors"), StartedAt: at("started"), FinishedAt: at("finished"),
				Outputs: json.RawMessage(rapid.SampledFrom([]string{"", `{"a":1}`, " { \"a\" : \"<\u2028>\" }\n", `{"a":`, "null"}).Draw(t, "outputs")),
			}
		}
		sameText(t, u)
	})
}

// TestIssue17_NothingThatAStepHasIsLeftOut: each field alone, those of later versions too.
func TestIssue17_NothingThatAStepHasIsLeftOut(t *testing.T) {
	for i := range reflect.TypeFor[runs.Step]().NumField() {
		step := runs.Step{}
		field := reflect.ValueOf(&step).Elem().Field(i)
		fillAny(field)
		if field.IsZero() {
			t.Fatalf("%s is empty", reflect.TypeFor[runs.Step]().Field(i).Name)
		}
		sameText(t, engine.Update{Kind: engine.UpdateStep, RunID: knownRun, Seq: 1, Step: &step})
	}
	for i := range reflect.TypeFor[engine.Update]().NumField() {
		u := engine.Update{}
		fillAny(reflect.ValueOf(&u).Elem().Field(i))
		sameText(t, u)
	}
}

// fillAny gives a field something that is not nothing.
func fillAny(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice: // JSON as it stands
		v.SetBytes([]byte(`{"x":1}`))
	case reflect.Struct:
		v.Set(reflect.ValueOf(time.Unix(1, 0)))
	}
}
