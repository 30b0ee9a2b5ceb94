package pluginhost

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// manyActions are generated ones, as a description of a service has them: schemas
// with definitions that refer to each other.
func manyActions(count int) []*pluginv1.Action {
	const defs = `"$defs":{"owner":{"type":"object","properties":{"login":{"type":"string"},"team":{"$ref":"#/$defs/team"}}},
		"team":{"type":"object","properties":{"name":{"type":"string"},"lead":{"$ref":"#/$defs/owner"}}}}`
	actions := make([]*pluginv1.Action, count)
	for i := range actions {
		actions[i] = &pluginv1.Action{
			Name: fmt.Sprintf("generated_%05d", i), Doc: "One of many", Effect: pluginv1.Effect_EFFECT_READ,
			InputSchema: fmt.Appendf(nil, `{"type":"object","additionalProperties":false,"properties":{"i%d":{"type":"string"},"owner":{"$ref":"#/$defs/owner"}},%s}`, i, defs),
			OutputSchema: fmt.Appendf(nil, `{"type":"object",
				"properties":{"text":{"type":"string"},"o%d":{"$ref":"#/$defs/team"}},%s}`, i, defs),
		}
	}
	return actions
}

// readSchemas counts the actions whose schemas a host has read.
func readSchemas(t *testing.T, h *Host, plugin string) (read, all int) {
	t.Helper()
	_, c, err := h.contract(context.Background(), plugin, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range c.actions {
		if a.input != nil || a.output != nil {
			read++
		}
	}
	return read, len(c.actions)
}

func TestIssue15_3_SchemasAreReadWhenTheirActionIsUsed(t *testing.T) {
	t.Parallel()
	first := newWorld(t, "many", nil)
	if read, all := readSchemas(t, first.host, "evil"); read != all || all < 1000 {
		t.Errorf("of a plugin that nobody knew %d schemas of %d were read: all of them are checked", read, all)
	}
	later := newWorld(t, "many", func(o *Options) { o.StateDir = first.host.options.StateDir })
	d, err := later.host.Describe(context.Background(), "evil")
	if err != nil || len(d.Actions) < 1000 || later.host.Status("evil").State != Stopped {
		t.Fatalf("%v, %s", err, later.host.Status("evil").State)
	}
	if read, _ := readSchemas(t, later.host, "evil"); read != 0 {
		t.Errorf("%d schemas were read of actions that nobody uses", read)
	}
	if answer := later.call("echo", `{"text":"hello"}`); answer.Completed == nil {
		t.Fatalf("%+v", answer.Failed)
	}
	if read, _ := readSchemas(t, later.host, "evil"); read != 1 {
		t.Errorf("%d schemas were read, one action was used", read)
	}
}

func TestIssue15_3_TheRecordHoldsWhatWasSaid(t *testing.T) {
	t.Parallel()
	first := newWorld(t, "many", nil)
	said, err := first.host.Describe(context.Background(), "evil")
	if err != nil {
		t.Fatal(err)
	}
	later := newWorld(t, "exit", func(o *Options) { o.StateDir = first.host.options.StateDir })
	kept, err := later.host.Describe(context.Background(), "evil")
	if err != nil {
		t.Fatal(err)
	}
	want, wantErr := json.Marshal(said)
	got, gotErr := json.Marshal(kept)
	if wantErr != nil || gotErr != nil || !bytes.Equal(got, want) {
		t.Errorf("%v %v: another description was kept: %d bytes, said %d", wantErr, gotErr, len(got), len(want))
	}
	action, ok := kept.Action("generated_00999")
	if !ok || action.Plugin != "evil" || action.PluginVersion != "1.0.0" || action.PluginDigest != kept.Digest || !bytes.Contains(action.Input, []byte(`"i999"`)) {
		t.Errorf("action = %+v", action)
	}
}

func TestIssue15_3_ADamagedRecordIsAskedForAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "good", nil)
	if _, err := w.host.Describe(context.Background(), "evil"); err != nil {
		t.Fatal(err)
	}
	file := stateFiles(t, filepath.Join(w.host.dir, "*.describe.json"))[0]
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line := bytes.IndexByte(whole, '\n')
	signed := func(data []byte) []byte { return append(bytes.Clone(data), sumLine(data)...) }
	for name, damaged := range map[string][]byte{
		"a letter of a schema": bytes.Replace(whole, []byte(`"count":{`), []byte(`"cOunt":{`), 1),
		"cut off":              whole[:len(whole)-3],
		"a letter of a name":   bytes.Replace(whole, []byte(`"name":"echo"`), []byte(`"name":"ecko"`), 1),
		"the index alone":      signed(whole[:line+1]),
		"no index":             signed(whole[line+1:]),
		"a place outside":      signed([]byte(`{"format":4,"actions":[{"name":"a","input_schema":[0,2],"output_schema":[3,5]}]}` + "\n{}\n")),
		"a place before":       signed([]byte(`{"format":4,"actions":[{"name":"a","input_schema":[-1,2],"output_schema":[0,2]}]}` + "\n{}\n")),
		"an action of nothing": signed([]byte(`{"format":4,"actions":[null]}` + "\n")),
		"another format":       signed([]byte(`{"format":3,"actions":[]}` + "\n")),
		"nothing":              {},
	} {
		t.Run(name, func(t *testing.T) {
			if bytes.Equal(damaged, whole) {
				t.Fatal("it is not damaged")
			}
			if d, err := decodeRecord(damaged); err == nil {
				t.Fatalf("read as %+v", d)
			}
			if err := os.WriteFile(file, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			again := newWorld(t, "good", func(o *Options) { o.StateDir = w.host.options.StateDir })
			if d, err := again.host.Describe(context.Background(), "evil"); err != nil || len(d.Actions) != len(evilActions()) || again.host.Status("evil").Starts != 1 {
				t.Errorf("%v", err)
			}
			if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, whole) {
				t.Errorf("the record was not written anew: %v", err)
			}
		})
	}
}

// FuzzRecord: a record is what was written, or refused.
func FuzzRecord(f *testing.F) {
	good, err := encodeRecord(&Description{Format: describeFormat, Name: "x", Digest: "d", Actions: []*plan.Action{{Name: "a", Input: []byte(`{}`), Output: []byte(`{}`)}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[:len(good)-len(sumLine(nil))])
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := decodeRecord(append(data, sumLine(data)...))
		if err != nil {
			return
		}
		for _, action := range d.Actions {
			if len(action.Input) == 0 || len(action.Output) == 0 {
				t.Errorf("an action without schemas: %+v", action)
			}
		}
	})
}
