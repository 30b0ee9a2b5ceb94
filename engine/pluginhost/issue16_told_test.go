package pluginhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/sdk"
)

// toldSettings is what the plugin of these tests can be told.
type toldSettings struct {
	Count int    `json:"count" min:"1" doc:"How many actions"`
	Note  string `json:"note,omitempty" format:"project-file" doc:"What each of them says"`
}

// toldPlugin describes as many actions as it is told. What it says of them may be made to
// differ from start to start.
func toldPlugin(mode string) *sdk.Plugin {
	var described atomic.Int64
	differs := func(where string) string {
		if mode == where {
			return fmt.Sprint(" ", os.Getpid())
		}
		return ""
	}
	return sdk.New("teller", "1.0.0", "Says what it is told", sdk.Described[toldSettings, sdkConfig]{
		Describe: func(told sdk.Told[toldSettings]) (sdk.Manifest, error) {
			described.Add(1)
			note, _ := told.File("/note")
			m := sdk.Manifest{Doc: "Told as " + told.Name + differs("told-index"), Recipe: []byte("of " + told.Name)}
			for i := range told.Settings.Count {
				m.Actions = append(m.Actions, sdk.Entry{Name: fmt.Sprintf("say_%05d", i), Doc: "One of many", Effect: sdk.EffectRead})
			}
			m.Action = func(name string) (sdk.ActionBody, error) {
				return sdk.ActionBody{
					Input:  sdk.Value(`{"type":"object","properties":{"mark":{"type":"string","default":"!","description":"Put behind` + differs("told-action") + `"}},"additionalProperties":false}`),
					Output: sdk.Value(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
					Recipe: append([]byte(name+" "), note.Content...),
				}, nil
			}
			return m, nil
		},
		Execute: func(c *sdk.Call[sdkConfig], recipe []byte, input sdk.Value) (sdk.Value, error) {
			var in struct{ Mark string }
			if err := json.Unmarshal(input, &in); err != nil {
				return nil, err
			}
			return json.Marshal(map[string]any{"text": string(recipe) + in.Mark + " " + string(c.Recipe()), "described": described.Load()})
		},
	})
}

// tellWorld is a host that tells the plugin what say holds at the time.
func tellWorld(t *testing.T, mode, state string, say *string, count int) *world {
	t.Helper()
	return newWorld(t, mode, func(o *Options) {
		if state != "" {
			o.StateDir = state
		}
		source := evilSource(t, mode)
		if source.Name = "crm"; strings.HasPrefix(mode, "told-") { // bundled ones are not asked twice
			source.Bundled, source.Path = false, source.Command[0]
		}
		source.Settings = func(json.RawMessage) (Settings, error) {
			return Settings{
				Value: json.RawMessage(fmt.Sprintf(`{"count":%d,"note":"note.txt"}`, count)),
				Files: []SettingsFile{{Pointer: "/note", Path: "note.txt", Content: []byte(*say)}},
			}, nil
		}
		o.Sources = []Source{source}
	})
}

// say calls an action of a revision.
func (w *world) say(t *testing.T, digest, action string) (text string, described int) {
	t.Helper()
	answer := w.host.Call(t.Context(), runs.Request{Action: "crm." + action, PluginDigest: digest, Input: json.RawMessage(`{}`), Attempt: 1}, Connection{Name: "main", Plugin: "crm"}, nil)
	if answer.Failed != nil {
		t.Fatalf("call %s: %v", action, answer.Failed)
	}
	var output struct {
		Text      string
		Described int
	}
	if err := json.Unmarshal(answer.Completed.Output, &output); err != nil {
		t.Fatal(err)
	}
	return output.Text, output.Described
}

// wholeActions counts the actions of which a host knows the schemas.
func wholeActions(t *testing.T, h *Host) (whole, all int) {
	t.Helper()
	_, c, err := h.contract(t.Context(), "crm", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range c.actions {
		if Whole(a.Action) {
			whole++
		}
	}
	return whole, len(c.actions)
}

func TestIssue16_1_ActionsOfAnIndexAreAskedForWhenTheyAreUsed(t *testing.T) {
	t.Parallel()
	say := "hello"
	first := tellWorld(t, "told", "", &say, 1000)
	d, err := first.host.Describe(t.Context(), "crm")
	if err != nil || d.Name != "crm" || len(d.Actions) != 1000 || Whole(d.Actions[0]) {
		t.Fatalf("%v: %+v", err, d)
	}
	actions, err := first.host.Actions(t.Context(), "crm", "", "say_00007", "say_00900", "say_00007")
	if err != nil || len(actions) != 3 || !Whole(actions[0]) || actions[0] != actions[2] || actions[1].Recipe == "" {
		t.Fatalf("%v: %+v", err, actions)
	}
	if whole, all := wholeActions(t, first.host); whole != 2 || all != 1000 {
		t.Errorf("of %d actions %d are whole, 2 were asked for", all, whole)
	}

	later := tellWorld(t, "told", first.host.options.StateDir, &say, 1000)
	if _, err := later.host.Actions(t.Context(), "crm", "", "say_00007"); err != nil {
		t.Fatal(err)
	}
	if whole, _ := wholeActions(t, later.host); whole != 1 || later.host.Status("crm").Starts != 0 {
		t.Errorf("the next host knows %d actions and has started %d processes", whole, later.host.Status("crm").Starts)
	}
	text, described := later.say(t, d.Digest, "say_00007")
	if text != "say_00007 hello! of crm" || described != 0 {
		t.Errorf("the call gives %q, by a process that has described itself %d times", text, described)
	}
	if _, err := later.host.Actions(t.Context(), "crm", "", "say_1"); err == nil || !strings.Contains(err.Error(), `no action "say_1"`) {
		t.Errorf("an action that is not there: %v", err)
	}
}

func TestIssue16_1_WhatAPluginIsToldIsItsRevision(t *testing.T) {
	t.Parallel()
	say := "one"
	w := tellWorld(t, "told", "", &say, 3)
	d, err := w.host.Describe(t.Context(), "crm")
	if err != nil {
		t.Fatal(err)
	}
	one := d.Digest
	w.say(t, one, "say_00000")
	say = "two"
	fresh, err := w.host.Fresh(t.Context(), "crm")
	if err != nil || fresh.Digest == one || fresh.Executable != d.Executable {
		t.Fatalf("%v: %+v", err, fresh)
	}
	if err := w.host.PutInForce("crm", fresh.Digest); err != nil {
		t.Fatal(err)
	}
	if text, _ := w.say(t, fresh.Digest, "say_00000"); text != "say_00000 two! of crm" {
		t.Errorf("the new revision says %q", text)
	}
	for _, digest := range []string{one, ""} {
		want := map[string]string{one: "say_00000 one! of crm", "": "say_00000 two! of crm"}[digest]
		if text, _ := w.say(t, digest, "say_00000"); text != want {
			t.Errorf("revision %.8q says %q, want %q", digest, text, want)
		}
	}

	// Another host on the folder has the old one by its record alone: what was used of it.
	later := tellWorld(t, "told", w.host.options.StateDir, &say, 3)
	if err := later.host.Holds("crm", one); err != nil {
		t.Errorf("the revision is kept: %v", err)
	}
	if text, _ := later.say(t, one, "say_00000"); text != "say_00000 one! of crm" {
		t.Errorf("the kept revision says %q", text)
	}
	answer := later.host.Call(t.Context(), runs.Request{Action: "crm.say_00001", PluginDigest: one, Input: json.RawMessage(`{}`)}, Connection{Name: "main", Plugin: "crm"}, nil)
	if answer.Failed == nil || answer.Failed.Reason != ReasonGone {
		t.Errorf("an action that nobody used of a revision whose settings are gone: %+v", answer.Failed)
	}

	// As long as somebody needs it, it stays.
	drop := tellWorld(t, "told", w.host.options.StateDir, &say, 3)
	drop.clock.advance(time.Hour)
	drop.say(t, "", "say_00000")
	drop.host.DropRevisions(func(_, digest string) bool { return digest == fresh.Digest || digest == one })
	if kept, err := filepath.Glob(filepath.Join(w.host.dir, one+"*")); err != nil || len(kept) != 2 {
		t.Errorf("%v: of a revision that is needed %v is left", err, kept)
	}
	drop.host.DropRevisions(func(_, digest string) bool { return digest == fresh.Digest })
	var gone *PluginError
	if err := drop.host.Holds("crm", one); !errors.As(err, &gone) || gone.Reason != ReasonGone {
		t.Errorf("a dropped revision: %v", err)
	}
	if err := drop.host.Holds("crm", fresh.Digest); err != nil {
		t.Errorf("the revision in force: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(w.host.dir, one+"*"))
	if err != nil || len(left) != 0 {
		t.Errorf("%v: %v is left of the dropped revision", err, left)
	}
}

func TestIssue16_1_WhatIsToldTwiceIsDescribedAlike(t *testing.T) {
	t.Parallel()
	say := "hello"
	index := tellWorld(t, "told-index", "", &say, 2)
	if _, err := index.host.Describe(t.Context(), "crm"); err == nil || !strings.Contains(err.Error(), "differs from one start to the next") {
		t.Errorf("an index that differs: %v", err)
	}
	action := tellWorld(t, "told-action", "", &say, 2)
	if _, err := action.host.Describe(t.Context(), "crm"); err != nil {
		t.Fatal(err)
	}
	if _, err := action.host.Actions(t.Context(), "crm", "", "say_00000"); err == nil || !strings.Contains(err.Error(), "the input schema of the action say_00000") {
		t.Errorf("an action that differs: %v", err)
	}
	whole, _ := wholeActions(t, action.host)
	if whole != 0 {
		t.Error("the action that differs is used")
	}
}

func TestIssue16_1_ManyAskForActionsAtOnce(t *testing.T) {
	t.Parallel()
	say := "hello"
	w := tellWorld(t, "told", "", &say, 50)
	var asking sync.WaitGroup
	for i := range 24 {
		asking.Go(func() {
			names := []string{fmt.Sprintf("say_%05d", i%6), fmt.Sprintf("say_%05d", 10+i)}
			actions, err := w.host.Actions(t.Context(), "crm", "", names...)
			if err != nil || !Whole(actions[0]) || actions[1].Name != names[1] {
				t.Errorf("%v: %v", names, err)
			}
		})
	}
	asking.Wait()
	if whole, _ := wholeActions(t, w.host); whole != 30 {
		t.Errorf("%d actions are whole, 30 were asked for", whole)
	}
}

func TestIssue16_1_ADamagedRecordOfAnActionIsAskedForAgain(t *testing.T) {
	t.Parallel()
	say := "hello"
	w := tellWorld(t, "told", "", &say, 2)
	if _, err := w.host.Actions(t.Context(), "crm", "", "say_00001"); err != nil {
		t.Fatal(err)
	}
	records, err := filepath.Glob(filepath.Join(w.host.dir, "*"+actionsSuffix, "say_00001"+describeSuffix))
	if err != nil || len(records) != 1 {
		t.Fatalf("%v: %v", err, records)
	}
	if err := os.WriteFile(records[0], []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	later := tellWorld(t, "told", w.host.options.StateDir, &say, 2)
	if actions, err := later.host.Actions(t.Context(), "crm", "", "say_00001"); err != nil || !Whole(actions[0]) {
		t.Errorf("%v", err)
	}
	if later.host.Status("crm").Starts == 0 {
		t.Error("nobody was asked")
	}
}

func TestIssue16_1_SettingsOfAPluginThatTakesNone(t *testing.T) {
	t.Parallel()
	say := "hello"
	w := tellWorld(t, "sdk", "", &say, 2)
	_, err := w.host.Describe(t.Context(), "crm")
	var failure *PluginError
	if !errors.As(err, &failure) || failure.Reason != ReasonSettings || !strings.Contains(failure.Message, "no other name than evil") {
		t.Errorf("%v", err)
	}
	wrong := errors.New("a place: it is wrong")
	w = newWorld(t, "told", func(o *Options) {
		o.Sources[0].Settings = func(json.RawMessage) (Settings, error) { return Settings{}, wrong }
	})
	if _, err := w.host.Describe(t.Context(), "evil"); !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
	bare := newWorld(t, "told", func(o *Options) { o.Sources[0].Name = "teller" })
	if d, err := bare.host.Describe(t.Context(), "teller"); err != nil || !d.Bare() {
		t.Errorf("a plugin that is told nothing: %v", err)
	}
}
