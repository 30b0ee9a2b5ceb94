package check

import (
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
)

// ADR 44: what the plugin calls required is written, though it has a default, whether
// something else is written or nothing: the engine refuses the call otherwise.
func TestARequiredInputWithADefaultIsWritten(t *testing.T) {
	for with, want := range map[string]string{
		"":                         "FR4004 3:5",
		"    with: {more: x}\n":    "FR4004 4:12",
		"    with: {count: 4}\n":   "",
		"    with: {count: '3'}\n": "FR4005 4:19",
	} {
		catalog := fake()
		catalog.add("task.done", plan.EffectRead, `{"type":"object","required":["count"],"properties":{
			"count":{"type":"integer","default":3},"more":{"type":"string"}}}`, listOutput)
		_, problems := checkText(catalog, "w.yaml", "flowrun: v1\nsteps:\n  - uses: task.done\n"+with)
		if got := places(problems); got != want {
			t.Errorf("%q: %q, want %q", with, got, want)
		}
	}
}
