package interp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// storedHistory is one file of the corpus: a plan, its journal and where it
// led to. A later version must replay it to the same commands and the same end.
type storedHistory struct {
	Name    string                     `json:"name"`
	Plan    *plan.Workflow             `json:"plan"`
	Records []*journal.Record          `json:"records"`
	Status  runs.Status                `json:"status"`
	Paused  string                     `json:"paused,omitempty"`
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
}

// The histories of older versions of the interpreter are only read.
const (
	historyFolder  = "testdata/history/v5"
	histories      = "testdata/history/*/*.json"
	olderHistories = 143
)

// kept are the cases whose histories are in the corpus, by a part of the name.
func kept() []string {
	return []string{
		"parks its step, the others go on", "a graceful stop counts no crash", "a graceful stop cut off is unknown",
		"ends with what the plugin says", "a question that a crash cut off", "a failed step goes on as the newer plan",
		"step of a loop's item that failed is another",
		"run_if failed runs after", "now() is the time", "tried again, with growing delays", "repeat asks again",
		"resolved as did_not", "an unknown outcome that on_error pauses for", "a loop that pauses for an unknown outcome", "an expired cursor", "a long range is cut", "a loop that fails keeps", "loops nest", "on_error collect goes on",
		"a resume of a loop", "on_failure, then finally", "a canceled run resumes", "other branches go on first",
		"P3: a once call", "timed_out", "an approval gives the form", "an approval that was recorded", "match picks the step",
		"a resume asks again after a rejection", "resolved while nobody drove",
		"one item that moved over to a later page", "a resume reads a page with repeated items once more", "what a page leaves goes with the next one",
	}
}

func TestP8TheCorpusOfHistoriesReplaysToTheSameEnd(t *testing.T) {
	if os.Getenv("UPDATE") == "1" {
		writeHistories(t)
	}
	files, err := filepath.Glob(histories)
	if err != nil || len(files) < olderHistories+len(kept()) {
		t.Fatalf("%d histories, want %d (error %v); UPDATE=1 writes them", len(files), olderHistories+len(kept()), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) { replayHistory(t, file) })
	}
}

func replayHistory(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var history storedHistory
	if err := json.Unmarshal(data, &history); err != nil {
		t.Fatal(err)
	}
	machine, err := interp.New(history.Plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range history.Records { // the file is indented, commands are compared compact
		for i := range record.Commands {
			if call := record.Commands[i].Call; call != nil {
				call.Input = compact(t, call.Input)
			}
		}
	}
	enginetest.Replay(t, machine, history.Records)
	status, paused := machine.Status()
	if status != history.Status || paused != history.Paused {
		t.Errorf("the run is %s %q, was %s %q", status, paused, history.Status, history.Paused)
	}
	for name, want := range history.Outputs {
		if got := machine.Outputs()[name]; string(got) != string(compact(t, want)) {
			t.Errorf("output %s is %s, was %s", name, got, want)
		}
	}
}

func compact(t *testing.T, data json.RawMessage) json.RawMessage {
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	short, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return short
}

func writeHistories(t *testing.T) {
	if err := os.MkdirAll(historyFolder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, part := range kept() {
		found := false
		for _, c := range enginetest.Cases() {
			if !strings.Contains(c.Name, part) {
				continue
			}
			found = true
			writeHistory(t, part, c)
			break
		}
		if !found {
			t.Errorf("no case is named like %q", part)
		}
	}
}

func writeHistory(t *testing.T, part string, c *enginetest.Case) {
	inputs := c.Inputs
	if inputs == "" {
		inputs = "{}"
	}
	got := (&enginetest.Reference{}).Run(t, c.Workflow, json.RawMessage(inputs), c.Script())
	data, err := json.MarshalIndent(storedHistory{
		Name: c.Name, Plan: c.Workflow, Records: got.Records, Status: got.Status, Paused: got.Paused, Outputs: got.Outputs,
	}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	name := strings.NewReplacer("'", "", " ", "-", ",", "", ":", "", "(", "", ")", "").Replace(strings.ToLower(part)) + ".json"
	if err := os.WriteFile(filepath.Join(historyFolder, name), append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
