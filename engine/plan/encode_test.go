package plan_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/internal/testvalue"
)

// A plan is encoded by hand as json.Marshal encodes it, byte for byte: its hash is that of
// the plans that are stored already.
func TestAPlanIsEncodedAsJSONEncodesIt(t *testing.T) {
	written := 0
	rapid.Check(t, func(t *rapid.T) {
		workflow := testvalue.Any[plan.Workflow](t)
		want, wantErr := json.Marshal(&workflow)
		got, err := workflow.Encode()
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("encoded with %v, want %v: %+v", err, wantErr, workflow)
		}
		if err == nil && string(got) != string(want) {
			t.Fatalf("encoded as\n%s\nwant\n%s", got, want)
		}
		if err == nil && len(got) > 500 {
			written++
		}
	})
	if written < 10 {
		t.Errorf("%d plans with parts were encoded", written)
	}
}
