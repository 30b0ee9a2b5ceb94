package web

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// drained are readers of one run's stream that only take bytes off their connections.
type drained struct {
	rows *sharedFeed
	took chan int // of each what it read at a time
}

// drain opens streams of a run, and returns when all have their header.
func drain(t *testing.T, readers int, accepts string) *drained {
	d := &drained{rows: &sharedFeed{}, took: make(chan int, 1024)}
	mux := http.NewServeMux()
	for _, route := range API(Options{Gate: NewGate(), Runs: d.rows, Now: time.Now}) {
		mux.Handle(route.Pattern, route.Handler)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ConnContext: withConn, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(guard.WithCaller(r.Context(), ci())))
	})}
	go func() { _ = server.Serve(newBoundedListener(inner, readers, readers, sharedBy(nil), nil)) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	for range readers {
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, err = fmt.Fprintf(conn, "GET %s/stream?topics=run:%s HTTP/1.1\r\nHost: flowrun\r\nAccept-Encoding: %s\r\n\r\n", Prefix, knownRun, accepts)
		if err != nil {
			t.Fatal(err)
		}
		room, header := make([]byte, 256<<10), ""
		for !strings.HasSuffix(header, "\r\n\r\n") { // nothing is sent yet
			n, err := conn.Read(room)
			if err != nil {
				t.Fatal(err)
			}
			header += string(room[:n])
		}
		go func() {
			for {
				n, err := conn.Read(room)
				if err != nil {
					return
				}
				d.took <- n
			}
		}()
	}
	return d
}

// send sends updates to all, and waits until they have them.
func (d *drained) send(together engine.Updates, size int) {
	d.rows.mu.Lock()
	for _, w := range d.rows.watchers {
		w <- together
	}
	missing := size * len(d.rows.watchers)
	d.rows.mu.Unlock()
	for missing > 0 {
		missing -= <-d.took
	}
}

// TestIssue17_AMessageToAReaderAllocatesNothing but the number that says how long its chunk
// is: what goes to all stays the same memory, and what is the reader's own is used again.
func TestIssue17_AMessageToAReaderAllocatesNothing(t *testing.T) {
	const readers, messages, each = 50, 8, 1000
	for _, accepts := range []string{"gzip", "identity"} {
		t.Run(accepts, func(t *testing.T) {
			d := drain(t, readers, accepts)
			packs, all, sizes := accepts == "gzip", make([]engine.Updates, messages+2), make([]int, messages+2)
			for m := range all {
				list := make([]engine.Update, each)
				for i := range list {
					list[i] = engine.Update{Kind: engine.UpdateStep, RunID: knownRun, Seq: uint64(m + 1), Step: &runs.Step{Path: "each." + strconv.FormatUint(uint64(m*each+i+1)*0x9E3779B97F4A7C15, 36), Status: runs.StepSucceeded}}
				}
				all[m] = engine.Together(list...)
				made, _ := all[m].Made(passageOf).(*passage)
				if sizes[m] = len(made.as(packs).Bytes(packs)); sizes[m] <= 2*4096 {
					t.Fatalf("a message of %d bytes fits into the buffers of net/http", sizes[m])
				}
				sizes[m] += len(strconv.FormatInt(int64(sizes[m]), 16)) + len("\r\n\r\n")
			}
			if packs {
				sizes[0] += 10 // the header of gzip
			}
			var before, after runtime.MemStats
			d.send(all[0], sizes[0])
			d.send(all[1], sizes[1])
			runtime.ReadMemStats(&before)
			for m := range messages {
				d.send(all[m+2], sizes[m+2])
			}
			runtime.ReadMemStats(&after)
			times := float64(after.Mallocs-before.Mallocs) / readers / messages
			size := float64(after.TotalAlloc-before.TotalAlloc) / readers / messages
			t.Logf("%.2f allocations and %.0f bytes a message and reader", times, size)
			if times > 2.5 || size > 200 {
				t.Errorf("a message to a reader takes %.2f allocations of %.0f bytes", times, size)
			}
		})
	}
}

// TestAGatheredMessageIsWhatWasWritten: however what is written is cut, and whatever stands
// around the text; the next message of the connection too.
func TestAGatheredMessageIsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near, far := net.Pipe()
		got := make(chan []byte)
		go func() {
			all, _ := io.ReadAll(far)
			got <- all
		}()
		conn := &boundedConn{Conn: near, listener: newBoundedListener(nil, 1, 1, sharedBy(nil), nil)}
		var want []byte
		for range rapid.IntRange(1, 4).Draw(t, "messages") {
			text := rapid.SliceOfN(rapid.SampledFrom([]byte("ab\n")), 0, 12).Draw(t, "text")
			conn.gather(text)
			for range rapid.IntRange(0, 5).Draw(t, "pieces") {
				from := rapid.IntRange(0, len(text)).Draw(t, "from")
				piece := text[from:rapid.IntRange(from, len(text)).Draw(t, "to")]
				if rapid.Bool().Draw(t, "in the buffer") {
					piece = slices.Concat(rapid.SampledFrom([][]byte{nil, []byte("c\r\n"), []byte("\r\n")}).Draw(t, "before"), piece)
				}
				want = append(want, piece...)
				if n, err := conn.Write(piece); n != len(piece) || err != nil {
					t.Fatalf("%d, %v", n, err)
				}
				if len(piece) > 0 && !within(text, piece) {
					clear(piece) // the buffer is the server's, which uses it again
				}
			}
			if err := conn.release(nil); err != nil {
				t.Fatal(err)
			}
		}
		_ = near.Close()
		if all := <-got; !bytes.Equal(all, want) {
			t.Fatalf("sent %q, written was %q", all, want)
		}
	})
}

// within reports whether a piece is a part of a text's own memory.
func within(text, piece []byte) bool {
	for i := range text {
		if &text[i] == &piece[0] {
			return true
		}
	}
	return false
}
