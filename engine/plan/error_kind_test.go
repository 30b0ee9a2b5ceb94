package plan_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
)

func TestEachKindOfErrorHasItsMeaning(t *testing.T) {
	said := map[string]plan.ErrorKind{"": "a word that is no kind"}
	for _, kind := range plan.ErrorKinds() {
		if other, twice := said[kind.Meaning()]; twice {
			t.Errorf("%s says %q, as %s does", kind, kind.Meaning(), other)
		}
		said[kind.Meaning()] = kind
	}
	if got := plan.ErrorKind("lost").Meaning(); got != "" {
		t.Errorf("a word that is no kind says %q", got)
	}
}
