package largevalues

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/storetest"
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

// TestHostilePartsAreRefused and leave what was there.
func TestHostilePartsAreRefused(t *testing.T) {
	w := newWorld(t, t.TempDir(), nil)
	out := w.ok(1, "a", rawInput{Give: give, Deeds: []deed{
		{Put: "u", Data: "first"},
		{Put: "u", Offset: 5, Fill: 2 << 20},
		{Put: "u", Offset: 6, Data: "x"},
		{Put: "u", Offset: 1 << 40, Data: "x"},
		{Put: "u", Offset: 1<<64 - 1, Data: "x"},
		{Put: "u", Offset: 3, Data: "x"},
		{Put: "u", Offset: 5, Note: strings.Repeat("n", 5000)},
		{Put: strings.Repeat("u", 201), Data: "x"},
		{Put: "", Data: "x"},
		{Get: "../../flowrun.db"},
		{Get: "sha256:../../flowrun.db"},
		{Put: "../../../../tmp/escaped", Data: "x", Last: true},
		{Put: "u\nother\nu", Data: "x"},
		{Put: "u", Offset: 5, Data: " second", Last: true},
		{Put: "u", Offset: 12, Data: "third"},
	}})
	wants := []string{
		"size 5", "InvalidArgument: a part has at most 1048576 bytes, this one has 2097152", "InvalidArgument: a part at 6 leaves a hole", "InvalidArgument: a part at 1099511627776 leaves a hole",
		"InvalidArgument: the offset is no place", "InvalidArgument: a part at 3 begins inside another one: go on at 0 or at 5", "InvalidArgument: a note has at most 4096 bytes",
		"InvalidArgument: the name of an upload has 1 to 200 bytes", "InvalidArgument: the name of an upload has 1 to 200 bytes",
		"InvalidArgument: the call was not given", "InvalidArgument: the call was not given", "size 1 done", "size 1", "size 12 done", "InvalidArgument: the large value is finished",
	}
	for i, want := range wants {
		if !strings.HasPrefix(out.Said[i], want) {
			t.Errorf("deed %d: the host said %q, want %q", i+1, out.Said[i], want)
		}
	}
	if digestOf(t, out.Blob) == "" {
		t.Error("no reference")
	}
}

// TestACallThatHasEndedWritesNothing though its process goes on.
func TestACallThatHasEndedWritesNothing(t *testing.T) {
	w := newWorld(t, t.TempDir(), nil)
	w.says(1, "a", rawInput{Deeds: []deed{{Put: "u", Data: "in time"}, {Put: "u", Offset: 7, Data: "late", Late: true}}}, "size 7")
	w.says(1, "b", rawInput{}, "late: PermissionDenied: say which call the large value is of, in the metadata flowrun-call-id; a call that has ended has none")
	blobs, err := w.services.Blobs()
	if err != nil {
		t.Fatal(err)
	}
	if total, err := blobs.BlobBytes(storetest.ID(1)); err != nil || total != 0 {
		t.Errorf("%d bytes are left of an upload that the call did not finish: %v", total, err)
	}
}

// TestAPluginThatIsKilledGoesOnWhereItStood: its next process finds the part.
func TestAPluginThatIsKilledGoesOnWhereItStood(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, dir, nil)
	answer := w.do(1, "a", rawInput{Deeds: []deed{{Put: "u", Data: "first part", Note: "etag 1"}, {Die: true}}})
	if answer.Failed == nil || answer.Failed.Kind != plan.KindCrashed {
		t.Fatalf("%+v", answer)
	}
	w.says(1, "a", rawInput{Deeds: []deed{{Put: "u"}}, Give: nil}, "size 10 note etag 1")
	// That call has ended well, and left it out of its output.
	w.says(1, "a", rawInput{Deeds: []deed{{Put: "u"}}}, "size 0")
	// Of a failed one it stays, also for another process of the host.
	w.do(1, "b", rawInput{Deeds: []deed{{Put: "u", Data: "first part"}}, Fail: true})
	w.close()
	w = newWorld(t, dir, nil)
	w.says(1, "b", rawInput{Deeds: []deed{{Put: "u"}, {Put: "u", Offset: 10, Data: ", second", Last: true}, {Put: "u"}}, Give: give}, "size 10", "size 18 done", "size 18 done")
	// The answer was lost: the call that is made again has nothing to send.
	w.says(1, "b", rawInput{Deeds: []deed{{Put: "u"}}, Give: give}, "size 18 done")
}

// TestThereAreBounds of uploads of a call, of one value, and of all values of a run: the
// call fails that goes over them, and the host takes no more.
func TestThereAreBounds(t *testing.T) {
	w := newWorld(t, t.TempDir(), quota.Values{quota.Blob: 100, quota.Blobs: 1000})
	out := w.ok(1, "many", rawInput{Deeds: []deed{{Put: "u", Times: 10_000}}})
	if out.Said[0] != "ResourceExhausted: a call has at most 1000 large values" {
		t.Errorf("the host said %q", out.Said)
	}
	for name, c := range map[string]struct {
		deeds []deed
		limit string
	}{
		"one":           {[]deed{{Put: "u", Fill: 100}, {Put: "u", Offset: 100, Data: "x"}}, `"limit":"blob"`},
		"all":           {[]deed{{Put: "u", Fill: 100, Times: 20}}, `"limit":"blobs"`},
		"their heads":   {append(pieces(strings.Repeat("x", 50), 1, false), deed{Put: "u", Data: "x"}), `"limit":"blobs"`}, // 44 bytes each
		"the step back": {[]deed{{Put: "u", Fill: 100}, {Put: "u", Offset: 0, Fill: 100}}, ""},
	} {
		answer := w.do(1, name, rawInput{Deeds: c.deeds})
		switch {
		case c.limit == "" && answer.Failed != nil:
			t.Errorf("%s: %v", name, answer.Failed)
		case c.limit != "" && (answer.Failed == nil || answer.Failed.Reason != "limit" || !strings.Contains(string(answer.Failed.Details), c.limit)):
			t.Errorf("%s: %+v", name, answer.Failed)
		}
		blobs, err := w.services.Blobs()
		if err != nil {
			t.Fatal(err)
		}
		if total, err := blobs.BlobBytes(storetest.ID(1)); err != nil || total > 1200 {
			t.Errorf("%s: %d bytes are kept, %v", name, total, err)
		}
		if err := blobs.DropUploads(storetest.ID(1), "", nil); err != nil { // the next one begins with nothing
			t.Fatal(err)
		}
	}
}

// TestManyCallsWriteAtOnce: each its own values, whatever the names.
func TestManyCallsWriteAtOnce(t *testing.T) {
	w := newWorld(t, t.TempDir(), nil)
	var calls sync.WaitGroup
	for n := range 8 {
		calls.Go(func() {
			step := "step " + strconv.Itoa(n)
			text := strings.Repeat(step+" ", 1000)
			out := w.ok(1, step, rawInput{Give: give, Deeds: pieces(text, 3000, true)})
			w.says(1, step+" reads", rawInput{From: out.Blob, Deeds: []deed{{Get: digestOf(t, out.Blob)}}}, "got 7000 of 7000 "+sumOf(text))
		})
	}
	calls.Wait()
}
