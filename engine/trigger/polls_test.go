package trigger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

const pollWorkflow = `flowrun: v1
name: items
inputs: {id: {type: integer}, title: {type: string}}
triggers:
  new:
    poll:
      uses: feed.list
      with: {limit: 50}
      every: 10s
      items: ${{ result.items }}
      key: ${{ item.id }}
    inputs: {id: "${{ item.id }}", title: "${{ item.title }}"}
    pause_after_failures: 3
steps:
  - {id: say, uses: core.log, with: {text: "${{ inputs.title }}"}}
outputs:
  text: ${{ string(inputs.id) + " " + inputs.title + " " + string(trigger.item?.seen ?? 0) + " " + trigger.kind }}
`

// polled is an engine that polls a list which a test writes.
type polled struct {
	*engine.Engine
	t     *testing.T
	dir   string
	clock *testClock
}

func newPolled(t *testing.T) *polled {
	t.Helper()
	p := &polled{t: t, dir: t.TempDir(), clock: &testClock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
	writePlain(t, p.dir, "flowrun.yaml", "workflows: [items.yaml]\nlimits: {sandbox: \"off\"}\nconnections: {feed: {plugin: feed, config: {file: "+filepath.Join(p.dir, "list.json")+", token: \"${{ secrets.TOKEN }}\"}}}\n")
	writePlain(t, p.dir, "items.yaml", pollWorkflow)
	p.open(nil)
	t.Cleanup(func() { closeEngine(t, p.Engine) })
	return p
}

func (p *polled) open(change func(*workspace.Config)) {
	p.t.Helper()
	program, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	p.Engine = openTriggered(p.t, p.dir, p.clock, func(c *workspace.Config) {
		c.Executable, c.Bundled = program, []string{"feed"}
		if change != nil {
			change(c)
		}
	})
}

// reopen closes the engine and opens its store again, as a restart does.
func (p *polled) reopen() {
	p.t.Helper()
	closeEngine(p.t, p.Engine)
	p.open(nil)
}

// list puts items into the list, "ID:TITLE:SEEN".
func (p *polled) list(items ...string) {
	p.t.Helper()
	list := []map[string]any{}
	for _, item := range items {
		parts := strings.Split(item, ":")
		list = append(list, map[string]any{"id": json.Number(parts[0]), "title": parts[1], "seen": json.Number(parts[2])})
	}
	data, err := json.Marshal(map[string]any{"items": list})
	if err != nil {
		p.t.Fatal(err)
	}
	writePlain(p.t, p.dir, "list.json", string(data))
}

// poll makes one poll and returns the outputs of the runs that it started.
func (p *polled) poll() ([]string, error) {
	p.t.Helper()
	p.clock.move(10 * time.Second)
	rev, err := p.Revisions().Named(p.t.Context(), "items")
	if err != nil {
		p.t.Fatal(err)
	}
	ids, err := p.Poll(p.t.Context(), rev, "new")
	return p.texts(ids), err
}

func (p *polled) texts(ids []string) []string {
	p.t.Helper()
	var texts []string
	for _, id := range ids {
		result, err := p.Wait(p.t.Context(), id)
		if err != nil {
			p.t.Fatal(err)
		}
		var text string
		if err := json.Unmarshal(result.Outputs["text"], &text); err != nil {
			p.t.Fatalf("run %s is %s: %v", id, result.Run.Status, err)
		}
		texts = append(texts, text)
	}
	return texts
}

func (p *polled) want(what string, want ...string) {
	p.t.Helper()
	got, err := p.poll()
	if err != nil || !slices.Equal(got, want) {
		p.t.Errorf("%s: runs %q, want %q (%v)", what, got, want, err)
	}
}

func TestAPollFiresForNewAndChangedKeys(t *testing.T) {
	p := newPolled(t)
	p.list("1:one:0", "2:two:0")
	p.want("the first poll notes what is there")
	p.want("nothing new")
	p.list("3:three:0", "1:one:0", "2:two:0")
	p.want("a new item", "3 three 0 poll")
	p.list("3:three:0", "1:one:0", "2:zwei:0")
	p.want("a changed one", "2 zwei 0 poll")
	p.list("3:three:0")
	p.want("some are gone")
	p.list("3:three:0", "1:one:0", "2:zwei:0")
	p.want("and come again as they were")
	p.list("3:three:0", "1:one:0", "2:two:0")
	p.want("changed back", "2 two 0 poll")
	p.list("5:five:0", "4:four:0", "4:vier:0")
	p.want("two in order, and a key that stands twice", "5 five 0 poll", "4 four 0 poll")
	p.reopen()
	p.want("after a restart")
	p.list("4:four:1", "6:six:0")
	p.want("what came while nobody was there", "4 four 1 poll", "6 six 0 poll")

	fires := firesOf(t, p.Engine, "items", "new")
	if len(fires) != 7 || fires[0].Kind != plan.TriggerPoll || fires[0].Run == "" || fires[0].Skipped != "" {
		t.Errorf("fires: %+v", fires)
	}
	row, err := p.Store().Run(fires[0].Run)
	if err != nil || row.Trigger != "new" || row.Fire == nil || !row.Fire.Slot.Equal(fires[0].Slot) {
		t.Errorf("row: %+v %v", row, err)
	}
}

func TestAPollBeginsAnewWhereItsKeysMeanSomethingElse(t *testing.T) {
	p := newPolled(t)
	p.list("1:one:0")
	p.want("first")
	p.list("1:one:0", "2:two:0")
	writeFile(t, p.dir, "items.yaml", strings.Replace(pollWorkflow, "key: ${{ item.id }}", "key: ${{ item.title }}", 1))
	p.want("another key")
	p.list("1:one:0", "2:two:0", "3:three:0")
	writeFile(t, p.dir, "items.yaml", strings.NewReplacer("key: ${{ item.id }}", "key: ${{ item.title }}", "every: 10s", "every: 20s", "cases", "x").Replace(pollWorkflow))
	p.want("another `every` is the same poll", "3 three 0 poll")

	// Paused and resumed: what came meanwhile is noted.
	pause := func(edit func(*runs.TriggerState)) {
		t.Helper()
		if _, err := p.Store().EditTriggerState("items", "new", edit); err != nil {
			t.Fatal(err)
		}
	}
	pause(func(s *runs.TriggerState) { s.Paused = true })
	p.list("1:one:0", "2:two:0", "3:three:0", "4:four:0")
	p.want("paused")
	p.clock.move(time.Minute)
	pause(func(s *runs.TriggerState) { s.Paused, s.Done = false, p.clock.now() })
	p.want("resumed")
	p.list("4:four:0", "5:five:0")
	p.want("the next new one", "5 five 0 poll")
}

func TestAFailedPollIsSeenAndPauses(t *testing.T) {
	p := newPolled(t)
	p.list("1:one:0")
	p.want("first")
	fail := func(text string) {
		t.Helper()
		writePlain(t, p.dir, "list.json", `{"fail":"`+text+`"}`)
		var failure *runs.Error
		if _, err := p.poll(); !errors.As(err, &failure) || failure.Kind != "forbidden" || !strings.Contains(failure.Message, strings.ReplaceAll(text, "t0kent0ken", "[redacted]")) {
			t.Errorf("%v", err)
		}
	}
	fail("no entry")
	fail("no entry")
	p.list("1:one:0", "2:two:0")
	p.want("one that ends well", "2 two 0 poll")
	fail("no entry for t0kent0ken")
	fail("still none")
	if state, err := p.Store().TriggerState("items", "new"); err != nil || state == nil || state.Paused {
		t.Fatalf("paused too early: %+v %v", state, err)
	}
	fail("still none")
	state, err := p.Store().TriggerState("items", "new")
	if err != nil || !state.Paused || state.PausedBy != "" || !strings.HasPrefix(state.Reason, "3 polls in a row failed: forbidden: still none; ") || state.PausedAt.IsZero() {
		t.Errorf("state: %+v %v", state, err)
	}
	p.list("1:one:0", "2:two:0", "3:three:0")
	p.want("paused")
	var notes []string
	for _, fire := range firesOf(t, p.Engine, "items", "new") {
		note, _, _ := strings.Cut(fire.Note, ";")
		notes = append(notes, fire.Skipped+" "+note)
	}
	want := []string{"failed forbidden: still none", "failed forbidden: still none", "failed forbidden: no entry for [redacted]", " ", "failed forbidden: no entry"}
	if !slices.Equal(notes, want) {
		t.Errorf("rows: %q, want %q", notes, want)
	}
	rev, err := p.Revisions().Named(t.Context(), "items")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := p.PollNow(t.Context(), rev, "new", "ann")
	if got := p.texts(ids); err != nil || !slices.Equal(got, []string{"3 three 0 poll"}) {
		t.Errorf("a person may poll while it is paused: %q %v", got, err)
	}
	var conflict *fault.ConflictError
	if _, err := p.PollNow(t.Context(), rev, "new", "ann"); !errors.As(err, &conflict) {
		t.Errorf("nothing new: %v", err)
	}

	// A resume begins to count anew, whether polls failed before it or not.
	resume := func() {
		t.Helper()
		p.clock.move(time.Second)
		if _, err := p.ResumeSchedule(t.Context(), "items/new", trigger.PauseRequest{By: "ann"}); err != nil {
			t.Fatal(err)
		}
		p.clock.move(time.Second)
	}
	resume()
	fail("no entry")
	fail("no entry")
	fail("no entry")
	if state, err := p.Store().TriggerState("items", "new"); err != nil || !state.Paused {
		t.Fatalf("not paused again: %+v %v", state, err)
	}
	resume()
	for _, paused := range []bool{false, false, true} {
		fail("no entry")
		if state, err := p.Store().TriggerState("items", "new"); err != nil || state.Paused != paused {
			t.Fatalf("paused must be %v: %+v %v", paused, state, err)
		}
	}
}

func TestAnItemThatCanNotBeARunIsDecided(t *testing.T) {
	p := newPolled(t)
	writeFile(t, p.dir, "items.yaml", strings.Replace(pollWorkflow, "title: {type: string}}", "title: {type: string, maxLength: 5}}", 1))
	p.list("1:one:0")
	p.want("first")
	p.list("1:one:0", "2:much too long:0", "3:three:0")
	p.want("one of two", "3 three 0 poll")
	p.want("it is not tried again")
	fires := firesOf(t, p.Engine, "items", "new")
	if len(fires) != 2 || fires[1].Skipped != runs.SkipInvalid && fires[0].Skipped != runs.SkipInvalid {
		t.Errorf("fires: %+v", fires)
	}
}

func TestAPollWithoutItsSecretSaysSo(t *testing.T) {
	p := newPolled(t)
	closeEngine(t, p.Engine)
	p.open(func(c *workspace.Config) { c.Environ = nil })
	p.list("1:one:0")
	if _, err := p.poll(); err == nil || !strings.Contains(err.Error(), "needs the secret TOKEN") {
		t.Errorf("%v", err)
	}
}

// TestAPollThatIsCutOffFiresOnce ends a poll between the start of a run and the
// note of its key: the same item must not get a second run.
func TestAPollThatIsCutOffFiresOnce(t *testing.T) {
	for _, forgetful := range []bool{false, true} {
		p := newPolled(t)
		p.list("1:one:0")
		p.want("first")
		before, err := p.PollRow("items", "new")
		if err != nil {
			t.Fatal(err)
		}
		p.list("1:one:0", "2:two:0")
		p.want("a new one", "2 two 0 poll")
		if forgetful {
			before.Poll += 7 // the control: another number is another event
		}
		if err := p.PutPollRow("items", "new", before); err != nil { // as if the process had died before
			t.Fatal(err)
		}
		want := []string(nil)
		if forgetful {
			want = []string{"2 two 0 poll"}
		}
		p.want(fmt.Sprintf("forgetful %v", forgetful), want...)
	}
}
