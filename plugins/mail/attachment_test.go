package mail

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/mail/mailsim"
	"github.com/flowrun/flowrun/sdk"
)

func randomBytes(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // it never fails
	return data
}

// Files of every length around that of a line arrive as they are, from text, base64 and
// large values; the size that the output says is what the server got.
func TestAttachedFilesArrive(t *testing.T) {
	for _, size := range []int{0, 1, 2, 3, 56, 57, 58, 113, 114, 115, 3000, 200_001} {
		data := randomBytes(size)
		p := newPeer(t, nil, script(content, "S 250 taken")...)
		plugin := open(t, settings(p))
		blob := plugin.Host().PutBlob(data, "application/x-dump", "dump.bin")
		text := strings.Repeat("é", size/2)
		out := outputOf(t, plugin.Call("send", hello(in{"attachments": []any{
			in{"name": "a.txt", "text": text}, in{"name": "b.bin", "base64": base64.StdEncoding.EncodeToString(data)}, in{"blob": blob}, in{"blob": blob, "name": "c.csv", "media_type": "text/csv"},
		}})))
		_, _, body := p.said()
		raw := strings.TrimSuffix(body, ".\r\n")
		if stuffed := strings.Count(raw, "\r\n.."); int64(len(raw)-stuffed) != out.Size {
			t.Errorf("size %d: %d bytes were sent, the output says %d", size, len(raw)-stuffed, out.Size)
		}
		_, parts := partsOf(t, []byte(raw))
		if len(parts) != 5 {
			t.Fatalf("size %d: %d parts", size, len(parts))
		}
		plain := strings.ReplaceAll(string(data), "\r\n", "\n") // as decoded does
		for i, want := range []part{{filename: "a.txt", mediaType: "text/plain", body: text}, {filename: "b.bin", mediaType: "application/octet-stream", body: plain}, {filename: "dump.bin", mediaType: "application/x-dump", body: plain}, {filename: "c.csv", mediaType: "text/csv", body: plain}} {
			if got := parts[i+1]; got.filename != want.filename || got.mediaType != want.mediaType || sha256.Sum256([]byte(got.body)) != sha256.Sum256([]byte(want.body)) {
				t.Errorf("size %d: part %d is %s %s with %d bytes", size, i, got.filename, got.mediaType, len(got.body))
			}
		}
	}
}

// A large value that can't be read to its end is no message: the connection ends within it,
// and nothing was done.
func TestALargeValueThatBreaksIsNoMessage(t *testing.T) {
	sim, config := simulate(t, mailsim.Options{})
	plugin := open(t, config)
	blob := plugin.Host().PutBlob(bytes.Repeat([]byte("x"), 3<<20), "", "x.bin")
	gone := blob
	gone.Digest = "sha256:" + strings.Repeat("0", 64)
	r := plugin.Call("send", hello(in{"attachments": []any{in{"blob": gone}}}))
	if r.Err == nil || r.Err.Applied != sdk.NotApplied || len(sim.Messages()) != 0 {
		t.Errorf("got %v, %d messages", r.Err, len(sim.Messages()))
	}
	failure := fails(t, open(t, with(config, in{"max_bytes": 1 << 20})).Call("send", hello(in{"attachments": []any{in{"blob": blob}}})), sdk.CodeInvalid, sdk.NotApplied, "more than 1048576 bytes")
	if failure.Reason != "too_large" {
		t.Errorf("reason %q", failure.Reason)
	}
	outputOf(t, plugin.Call("send", hello(in{"attachments": []any{in{"blob": blob}}}))) // the control
	if kept := sim.Messages(); len(kept) != 1 || kept[0].Size < 4<<20 {
		t.Errorf("%d messages", len(kept))
	}
}

// A message that names nobody goes to the recipients of the connection.
func TestRecipientsOfTheConnection(t *testing.T) {
	sim, config := simulate(t, mailsim.Options{})
	plugin := open(t, with(config, in{"to": []any{"Team <team@example.com>", "boss@example.com"}}))
	outputOf(t, plugin.Call("send", in{"subject": "x", "text": "y"}))
	outputOf(t, plugin.Call("send", in{"subject": "x", "text": "y", "cc": []any{"ann@example.com"}}, anyKey()))
	kept := sim.Messages()
	if got := strings.Join(kept[0].Recipients, " ") + ", " + strings.Join(kept[1].Recipients, " "); got != "team@example.com boss@example.com, ann@example.com" {
		t.Errorf("sent to %s", got)
	}
	fails(t, open(t, config).Call("send", in{"subject": "x", "text": "y"}), sdk.CodeInvalid, sdk.NotApplied, "there is no recipient")
}
