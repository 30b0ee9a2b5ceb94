package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost"
)

// TestIssue13_04_AMissingControlGroupIsWatched: it is told with its reason and missed
// nowhere, but with the sandbox off, where nothing stands for it.
func TestIssue13_04_AMissingControlGroupIsWatched(t *testing.T) {
	for mode, watched := range map[string]bool{"auto": true, "require": true, "off": false} {
		e := stateProject(t, time.Now, map[string]string{"flowrun.yaml": "limits: {sandbox: " + mode + "}\n"})
		isGroup := func(part Confinement) bool { return part.Part == pluginhost.PartResources }
		parts := e.Project().Confinement()
		at := slices.IndexFunc(parts, isGroup)
		if at < 0 {
			t.Fatalf("%s: %+v", mode, parts)
		}
		if part := parts[at]; part.Held || part.Watched != watched || part.Why == "" || watched != strings.Contains(part.Why, "watched instead") {
			t.Errorf("%s: %+v", mode, part)
		}
		if missing := slices.ContainsFunc(e.Project().MissingConfinement(), isGroup); missing == watched {
			t.Errorf("%s: missing %v", mode, missing)
		}
	}
}
