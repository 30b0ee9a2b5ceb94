package web

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// writeCalls are the calls of this process that write, so far.
func writeCalls(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip("the system does not count calls:", err)
	}
	_, rest, _ := strings.Cut(string(text), "syscw: ")
	count, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(count)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestIssue17_AMessageOfAStreamIsOneCallOfTheSystem for each of 50 readers, packed or not, and
// what they read is whole. Without gathering it is three.
func TestIssue17_AMessageOfAStreamIsOneCallOfTheSystem(t *testing.T) {
	const readers, messages, each = 50, 8, 400
	for _, accepts := range []string{"gzip", "identity"} {
		t.Run(accepts, func(t *testing.T) {
			rows := &sharedFeed{}
			mux := http.NewServeMux()
			for _, route := range API(Options{Gate: NewGate(), Runs: rows, Now: time.Now}) {
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
			defer server.Close()
			client := &http.Client{Transport: &http.Transport{DisableCompression: accepts == "identity"}}
			var reading, took sync.WaitGroup
			for range readers {
				answer, err := client.Get("http://" + inner.Addr().String() + Prefix + "/stream?topics=run:" + knownRun)
				if err != nil {
					t.Fatal(err)
				}
				reading.Go(func() {
					defer answer.Body.Close()
					got := 0
					for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
						if lines.Text() == "event: step" {
							if got++; got%each == 0 {
								took.Done()
							}
						}
					}
					if got != messages*each {
						t.Errorf("a reader got %d updates of %d", got, messages*each)
					}
				})
			}
			for rows.joined() < readers {
				time.Sleep(time.Millisecond)
			}
			before, seq := writeCalls(t), uint64(0)
			for range messages {
				list := make([]engine.Update, each)
				for i := range list {
					seq++
					list[i] = engine.Update{Kind: engine.UpdateStep, RunID: knownRun, Seq: seq, Step: &runs.Step{Path: "each[" + strconv.FormatUint(seq, 10) + "].one", Status: runs.StepSucceeded}}
				}
				took.Add(readers)
				rows.send(list...)
				took.Wait()
			}
			calls := float64(writeCalls(t)-before) / readers / messages
			t.Logf("%.2f calls a message and reader", calls)
			if calls > 1.3 {
				t.Errorf("a message takes %.2f calls of the system for each reader", calls)
			}
			rows.close()
			reading.Wait()
		})
	}
}
