package main

import (
	"net/http/httptest"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"

	"github.com/flowrun/flowrun/internal/plugintemplate/golang/sim"
)

// open runs the plugin in this process, against the simulated service.
func open(t *testing.T, key string) *sdktest.Plugin {
	t.Helper()
	service := httptest.NewServer(sim.New())
	t.Cleanup(service.Close)
	return sdktest.Open(t, plugin(), map[string]any{"base_url": service.URL, "key": key})
}

func TestANoteIsListed(t *testing.T) {
	p := open(t, sim.Key)
	var made added
	p.Call("add", map[string]any{"text": "buy milk"}).Decode(t, &made)
	var all notes
	p.Call("list", nil).Decode(t, &all)
	if made.ID == "" || len(all.Notes) != 1 || all.Notes[0] != (note{Text: "buy milk", Level: "normal"}) {
		t.Errorf("added %+v, and it lists %+v", made, all)
	}
}

func TestARepeatedCallAddsOneNote(t *testing.T) {
	p := open(t, sim.Key)
	for range 2 {
		p.Call("add", note{Text: "buy milk", Level: "high"}, sdktest.Key("the same")).Decode(t, &added{})
	}
	var all notes
	p.Call("list", nil).Decode(t, &all)
	if len(all.Notes) != 1 {
		t.Errorf("it lists %+v", all)
	}
}

func TestAWrongKeyIsUnauthorized(t *testing.T) {
	failure := open(t, "another").Call("list", nil).Err
	if failure == nil || failure.Code != sdk.CodeUnauthorized || failure.Applied != sdk.NotApplied {
		t.Errorf("got %v", failure)
	}
}

func TestAWrongLevelIsRefused(t *testing.T) {
	failure := open(t, sim.Key).Call("add", map[string]any{"text": "buy milk", "level": "huge"}).Err
	if failure == nil || failure.Code != sdk.CodeInvalid || failure.Pointer != "/level" {
		t.Errorf("got %v", failure)
	}
}
