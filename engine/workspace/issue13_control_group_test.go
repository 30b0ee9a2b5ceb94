package workspace

import (
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/pluginhost"
)

// TestIssue13_04_AMissingControlGroupIsWatched: it is told with its reason and missed
// nowhere, but with the sandbox off, where nothing stands for it.
func TestIssue13_04_AMissingControlGroupIsWatched(t *testing.T) {
	for mode, watched := range map[string]bool{"auto": true, "require": true, "off": false} {
		p := load(t, map[string]string{"flowrun.yaml": "limits: {sandbox: " + mode + "}\n"})
		isGroup := func(part Confinement) bool { return part.Part == pluginhost.PartResources }
		parts := p.Confinement()
		at := slices.IndexFunc(parts, isGroup)
		if at < 0 {
			t.Fatalf("%s: %+v", mode, parts)
		}
		if part := parts[at]; part.Held || part.Watched != watched || part.Why == "" || watched != strings.Contains(part.Why, "watched instead") {
			t.Errorf("%s: %+v", mode, part)
		}
		if missing := slices.ContainsFunc(p.MissingConfinement(), isGroup); missing == watched {
			t.Errorf("%s: missing %v", mode, missing)
		}
	}
}
