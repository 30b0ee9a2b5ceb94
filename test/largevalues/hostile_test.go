package largevalues

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
)

// digestOf reads the digest of a reference.
func digestOf(t *testing.T, reference json.RawMessage) string {
	t.Helper()
	var fields struct {
		Digest string `json:"digest"`
	}
	if err := json.Unmarshal(reference, &fields); err != nil || fields.Digest == "" {
		t.Fatalf("%s is no reference: %v", reference, err)
	}
	return fields.Digest
}

var give = json.RawMessage(`"last"`)

// TestAPartIsDurableAndReadBack: written by one call, read by another one of the run.
func TestAPartIsDurableAndReadBack(t *testing.T) {
	w := newWorld(t, t.TempDir(), nil)
	made := w.says(1, "a", rawInput{Give: give, Deeds: []deed{
		{Put: "u"}, {Put: "u", Fill: 1 << 20, Note: "etag"}, {Put: "u", Offset: 1 << 20, Data: "end", Last: true}, {Put: "u"},
	}}, "size 0", "size 1048576 note etag", "size 1048579 note etag done", "size 1048579 note etag done")
	digest := digestOf(t, made.Blob)
	w.says(1, "b", rawInput{From: made.Blob, Give: made.Blob, Deeds: []deed{{Get: digest}, {Get: digest, Offset: 1 << 20}, {Get: digest, Offset: 1 << 40}}},
		"got 1048576 of 1048579 "+sumOf(strings.Repeat("x", 1<<20)), "got 3 of 1048579 "+sumOf("end"), "got 0 of 1048579 "+sumOf(""))
}

// TestALargeValueIsForWhoWasGivenIt: not for another call of the run, nor for another run.
func TestALargeValueIsForWhoWasGivenIt(t *testing.T) {
	w := newWorld(t, t.TempDir(), nil)
	made := w.ok(1, "a", rawInput{Give: give, Deeds: []deed{{Put: "u", Data: "text", Last: true}}})
	digest := digestOf(t, made.Blob)
	w.says(1, "b", rawInput{Deeds: []deed{{Get: digest}}}, "InvalidArgument: the call was not given this large value")
	w.says(2, "a", rawInput{From: made.Blob, Deeds: []deed{{Get: digest}}}, "InvalidArgument: the run has no such large value")
	w.says(0, "a", rawInput{Deeds: []deed{{Put: "u", Data: "x"}}}, "no blobs", "FailedPrecondition: this call keeps no large values: it belongs to no run")
	w.says(1, "c", rawInput{Deeds: []deed{{Put: "u", Data: "x", Call: "none"}, {Put: "u", Data: "x", Call: "9999"}}},
		"PermissionDenied: say which call the large value is of, in the metadata flowrun-call-id; a call that has ended has none",
		"PermissionDenied: say which call the large value is of, in the metadata flowrun-call-id; a call that has ended has none")
}

// TestAForgedReferenceIsRefused whatever it names.
func TestAForgedReferenceIsRefused(t *testing.T) {
	w := newWorld(t, t.TempDir(), nil)
	mine := w.ok(1, "a", rawInput{Give: give, Deeds: []deed{{Put: "u", Data: "text", Last: true}}})
	others := w.ok(2, "a", rawInput{Give: give, Deeds: []deed{{Put: "u", Data: "other", Last: true}}})
	for name, in := range map[string]rawInput{
		"another run's":      {Give: others.Blob},
		"another call's":     {Give: mine.Blob},
		"made up":            {Give: json.RawMessage(`{"digest":"sha256:` + strings.Repeat("0", 64) + `","size":4,"media_type":"","name":""}`)},
		"another size":       {Deeds: []deed{{Put: "v", Data: "text 2", Last: true}}, Give: json.RawMessage(`{"digest":"sha256:` + fullSumOf("text 2") + `","size":7,"media_type":"","name":""}`)},
		"of what is not one": {Deeds: []deed{{Put: "w", Data: "text 3"}}, Give: json.RawMessage(`{"digest":"sha256:` + fullSumOf("text 3") + `","size":6,"media_type":"","name":""}`)},
	} {
		answer := w.do(1, name, in)
		if answer.Failed == nil || answer.Failed.Kind != plan.KindUnexpectedResponse || !strings.Contains(answer.Failed.Message, "refers to a large value at /blob") {
			t.Errorf("%s: %+v", name, answer.Failed)
		}
	}
	w.ok(1, "control", rawInput{From: mine.Blob, Give: mine.Blob})
}
