package largevalues

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/storetest"
)

// telling is a BlobStore that prints each part when it is durable.
type telling struct{ pluginhost.BlobStore }

func (s telling) AppendBlob(call pluginhost.BlobCall, upload string, part pluginhost.BlobPart) error {
	err := s.BlobStore.AppendBlob(call, upload, part)
	if err == nil {
		fmt.Println(part.Offset + int64(len(part.Data)))
	}
	return err
}

// doomedParts is how many parts of doomedPart bytes the host that is killed is sent.
const (
	doomedParts = 40
	doomedPart  = 10_000
)

func doomedText() string {
	var text strings.Builder
	for n := range doomedParts * doomedPart / 10 {
		fmt.Fprintf(&text, "%09d\n", n)
	}
	return text.String()
}

// serveDoomed is a host whose plugin sends parts until somebody kills it.
func serveDoomed(dir string) error {
	store, err := boltstore.Open(filepath.Join(dir, "flowrun.db"), boltstore.Options{})
	if err != nil {
		return err
	}
	given := services.New(services.Options{StateDir: dir, Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler), Redactor: secret.NewRedactor(), Env: secret.NewEnv(nil)})
	if err := given.Attach(store.KV()); err != nil {
		return err
	}
	given.AttachBlobs(store)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	host := pluginhost.New(pluginhost.Options{
		StateDir: dir, Environ: os.Environ(), Now: time.Now, Entropy: rand.Reader, Opaque: given.Opaque(), Blobs: telling{given.BlobStore()},
		Sources: []pluginhost.Source{{Name: "raw", Bundled: true, Command: []string{self, "plugin", "raw"}}}, Limits: pluginhost.Limits{Memory: -1},
	})
	input, err := inputOf(rawInput{Deeds: pieces(doomedText(), doomedPart, false)})
	if err != nil {
		return err
	}
	host.Call(context.Background(), runs.Request{
		Action: "raw.do", RunID: storetest.ID(1), Step: "a", Operation: "a", Attempt: 1, IdempotencyKey: "key of a", Input: input,
	}, pluginhost.Connection{Name: "main"}, nil)
	select {}
}

// TestAHostThatIsKilledGoesOnAtThePart: kill -9 of the host between any two parts, and inside
// one; what was told to be durable is there, and the value comes to its end with the rest.
func TestAHostThatIsKilledGoesOnAtThePart(t *testing.T) {
	text := doomedText()
	for _, after := range []int{1, 7, 39} {
		t.Run(strconv.Itoa(after), func(t *testing.T) {
			dir := t.TempDir()
			newWorld(t, dir, nil).close()
			told := killedAfter(t, dir, after)
			w := newWorld(t, dir, nil)
			out := w.ok(1, "a", rawInput{Deeds: []deed{{Put: "u"}, {Put: "u", Offset: 1 << 40, Data: "x"}}})
			stands := 0
			if _, err := fmt.Sscanf(out.Said[0], "size %d", &stands); err != nil {
				t.Fatal(out.Said)
			}
			if stands < told || stands%doomedPart != 0 {
				t.Errorf("%d bytes are there, %d were told", stands, told)
			}
			// That call has ended, with nothing: the next one stands for the attempt after the kill.
			dir = t.TempDir()
			newWorld(t, dir, nil).close()
			told = killedAfter(t, dir, after)
			w = newWorld(t, dir, nil)
			rest := pieces(text, doomedPart, true)[told/doomedPart:]
			made := w.ok(1, "a", rawInput{Give: give, Deeds: append([]deed{{Put: "u"}}, rest...)})
			w.says(1, "b", rawInput{From: made.Blob, Deeds: []deed{{Get: digestOf(t, made.Blob)}}}, "got 400000 of 400000 "+sumOf(text))
		})
	}
}

// killedAfter starts a host in a folder and kills it when it has told of so many parts. It
// returns how many bytes were told at least.
func killedAfter(t *testing.T, dir string, parts int) (told int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "host", dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range parts {
		if !lines.Scan() {
			t.Fatal("the host ended")
		}
		if told, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = child.Wait()
	return told
}
