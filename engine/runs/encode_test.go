package runs_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/testvalue"
)

// A row, and an entry of the outbox, are encoded by hand as json.Marshal encodes them, byte
// for byte.
func TestARowIsEncodedAsJSONEncodesIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := testvalue.Any[runs.Run](t)
		compare(t, row, row.Encode)
		entry := testvalue.Any[runs.OutboxEntry](t)
		if rapid.Bool().Draw(t, "no run") {
			entry.Run = runs.Run{}
		}
		compare(t, entry, entry.Encode)
	})
}

func compare(t *rapid.T, value any, encode func() ([]byte, error)) {
	want, wantErr := json.Marshal(value)
	got, err := encode()
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("encoded with %v, want %v: %+v", err, wantErr, value)
	}
	if err == nil && string(got) != string(want) {
		t.Fatalf("encoded as\n%s\nwant\n%s", got, want)
	}
}
