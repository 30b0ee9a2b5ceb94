package gate

import (
	"slices"
	"testing"
)

// What people see is never taken over as it came: a field that is shown has a kind
// that is masked, or refused with a secret in it.
func TestIssue13_08_WhatIsShownIsMasked(t *testing.T) {
	masked := []Kind{Text, Name, Said, Document, Sample, Schema}
	for _, row := range Table() {
		if row.Shown && !slices.Contains(masked, row.Kind) {
			t.Errorf("%s is shown, and is of the kind %d, which is not masked", row.Field, row.Kind)
		}
	}
}
