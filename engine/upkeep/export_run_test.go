package upkeep_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
)

// TestAnExportHoldsNoSecret plants canaries into everything that an export reads,
// as if nobody had masked them when they were written.
func TestAnExportHoldsNoSecret(t *testing.T) {
	canaries := map[string]string{"stored": "canary-stored-11", "env": "canary-env-22", "sealed": "canary-sealed-33", "nested": "canary-nested-44", "number": "5512345678901"}
	e := opened(t, t.TempDir(), func(c *workspace.Config) { c.Environ = []string{"FLOWRUN_SECRET_E=" + canaries["env"]} })
	defer closeEngine(t, e)
	if _, err := e.SetSecret(t.Context(), "S", canaries["stored"]); err != nil {
		t.Fatal(err)
	}
	all := strings.Join([]string{canaries["stored"], canaries["env"], canaries["sealed"], canaries["nested"]}, " ")
	const source = "flowrun: v1\nname: leak\ninputs: {who: {type: string}}\nsteps:\n  - {id: say, uses: core.log, with: {text: \"${{ inputs.who }}\"}}\n" +
		"  - {id: no, uses: core.fail, with: {message: \"${{ inputs.who }}\"}}\n"
	run, problems, err := e.Start(t.Context(), engine.StartRequest{File: "leak.yaml", Source: []byte(source), Inputs: map[string]workspace.Input{"who": {Text: all}}})
	if err != nil || run == nil {
		t.Fatalf("start: %v %v", err, problems)
	}
	result, err := e.Wait(t.Context(), run.ID)
	if err != nil || result.Error == nil {
		t.Fatalf("%+v: %v", result, err)
	}
	for _, value := range []string{`"` + canaries["sealed"] + `"`, `{"pin":"` + canaries["nested"] + `","number":` + canaries["number"] + `}`} {
		if _, err := e.Project().Services().Seal(t.Context(), pluginhost.SealRequest{RunID: run.ID, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	records, err := e.Store().Records(run.ID, 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	stored := make(chan error, 1)
	e.Store().Append(run.ID, []*journal.Record{{Seq: records[len(records)-1].Seq + 1, Event: journal.Event{
		Kind: journal.Signaled, At: time.Now(), Signal: &journal.Signal{Name: all, Payload: json.RawMessage(`{"` + canaries["stored"] + `":` + canaries["number"] + `}`)},
	}}}, nil, []runs.Log{{At: time.Now(), Level: "info", Message: "said " + all}}, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	var kinds []string
	if err := e.ExportRun(t.Context(), run.ID, func(line upkeep.ExportLine) error {
		kinds = append(kinds, line.Type)
		encoded, err := json.Marshal(line)
		text.Write(encoded)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for name, canary := range canaries {
		if strings.Contains(text.String(), canary) {
			t.Errorf("the canary %s is in the export", name)
		}
	}
	kinds = slices.Compact(kinds)
	if want := []string{upkeep.ExportHead, upkeep.ExportRunRow, upkeep.ExportPlan, upkeep.ExportInputs, upkeep.ExportOutputs, upkeep.ExportError, upkeep.ExportStep, upkeep.ExportEvent, upkeep.ExportLog, upkeep.ExportEnd}; !slices.Equal(kinds, want) {
		t.Errorf("the lines are %v, want %v", kinds, want)
	}
	// The control: with no masks they are all there.
	unmasked, err := e.ExportUnmasked(t.Context(), run.ID)
	if err != nil || !strings.Contains(unmasked, canaries["env"]) || !strings.Contains(unmasked, canaries["number"]) {
		t.Errorf("the canaries were not planted: %v", err)
	}
}
