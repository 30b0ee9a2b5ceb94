package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// frames splits a stream into its events: id, name, and whether it is a reset.
func frames(body string) []string {
	var found []string
	for frame := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		id, name, rest := "", "", ""
		for line := range strings.SplitSeq(frame, "\n") {
			if text, ok := strings.CutPrefix(line, "id: "); ok {
				id = text
			}
			if text, ok := strings.CutPrefix(line, "event: "); ok {
				name = text
			}
			if strings.Contains(line, `"reset":true`) {
				rest = " reset"
			}
		}
		found = append(found, id+" "+name+rest)
	}
	return found
}

func TestAStreamOfAllRuns(t *testing.T) {
	handler := NewSocketHandler(newAlwaysOn(t).options())
	for last, want := range map[string]string{"": "7 runs, 8 runs", "7": "8 runs", "9": "8 runs reset"} {
		w := send(handler, "GET", Prefix+"/stream?topics=runs", "", "Last-Event-ID", last)
		if got := strings.Join(frames(w.Body.String()), ", "); w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || got != want {
			t.Errorf("after %q: %d, %s, want %s", last, w.Code, got, want)
		}
	}
}

func TestAStreamOfSeveralTopicsGoesOnInEachOfThem(t *testing.T) {
	a := newAlwaysOn(t)
	a.runs.feed = []engine.Update{{Kind: engine.UpdateRecord, Seq: 1}, {Kind: engine.UpdateRecord, Seq: 2}, {Kind: engine.UpdateEnd, Seq: 2}}
	handler := NewSocketHandler(a.options())
	target := Prefix + "/stream?topics=run:" + knownRun + ",runs"
	body := send(handler, "GET", target, "").Body.String()
	if got := frames(body); len(got) != 5 || !strings.HasPrefix(got[4], "2/8 ") {
		t.Errorf("from the beginning: %v", got)
	}
	for last, want := range map[string]int{"2/7": 1, "1/8": 2, "2/8": 0, "0/9": 4} {
		got := 0
		for _, frame := range frames(send(handler, "GET", target, "", "Last-Event-ID", last).Body.String()) {
			if frame != " " {
				got++
			}
		}
		if got != want {
			t.Errorf("after %s: %d events, want %d", last, got, want)
		}
	}
}

func TestStreamsThatAreRefused(t *testing.T) {
	handler := NewSocketHandler(newAlwaysOn(t).options())
	many := strings.Repeat("run:"+knownRun+",", maxTopics) + "runs"
	for name, test := range map[string]struct {
		topics, last string
		want         wire.Code
	}{
		"no topic":              {"", "", wire.CodeBadRequest},
		"an unknown topic":      {"jobs", "", wire.CodeBadRequest},
		"an empty one":          {"runs,", "", wire.CodeBadRequest},
		"the same twice":        {"runs,runs", "", wire.CodeBadRequest},
		"too many":              {many, "", wire.CodeBadRequest},
		"an unknown run":        {"runs,run:01zzz", "", wire.CodeNotFound},
		"a place of two topics": {"runs", "1/2", wire.CodeBadRequest},
		"a place of one topic":  {"runs,run:" + knownRun, "1", wire.CodeBadRequest},
		"a place that is none":  {"runs", "x", wire.CodeBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			w := send(handler, "GET", Prefix+"/stream?topics="+test.topics, "", "Last-Event-ID", test.last)
			if got := problemCode(t, w); got != test.want {
				t.Errorf("code %s, want %s: %s", got, test.want, w.Body)
			}
		})
	}
}

// TestARefusedStreamHoldsNoPlace: the cap counts those that are open.
func TestARefusedStreamHoldsNoPlace(t *testing.T) {
	handler := NewSocketHandler(newAlwaysOn(t).options())
	for range 2 * streamCap {
		if w := send(handler, "GET", Prefix+"/stream?topics=runs,run:01zzz", ""); w.Code != http.StatusNotFound {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	for range 2 * streamCap {
		if w := send(handler, "GET", Prefix+"/stream?topics=runs", ""); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
}

// TestAReaderThatTakesNothingIsCutOff: its place is free again. The clock stands
// still, so that the time for each write is over already.
func TestAReaderThatTakesNothingIsCutOff(t *testing.T) {
	a := newAlwaysOn(t)
	a.runs.feed = []engine.Update{{Kind: engine.UpdateRecord, Seq: 1}}
	a.runs.hold = make(chan struct{})
	defer close(a.runs.hold)
	options := a.options()
	options.Now = func() time.Time { return time.Unix(0, 0) }
	mux := http.NewServeMux()
	ended := make(chan struct{})
	for _, route := range API(options) {
		mux.Handle(route.Pattern, route.Handler)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		mux.ServeHTTP(w, r.WithContext(guard.WithCaller(r.Context(), ci())))
	}))
	server.Listener, server.Config.ConnContext = newBoundedListener(server.Listener, 1, 1, sharedBy(nil), nil), withConn
	server.Start()
	defer server.Close()
	response, err := http.Get(server.URL + Prefix + "/stream?topics=run:" + knownRun)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	<-ended
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("the stream ended as if it were whole: %q", body)
	}
}

// writes keeps what is written, each piece as it was given.
type writes struct {
	taken
	pieces [][]byte
}

func (w *writes) Write(piece []byte) (int, error) {
	w.pieces = append(w.pieces, piece)
	return len(piece), nil
}

// TestIssue17_AnUpdateIsWrittenOnceForAllWhoFollow: those who follow one run alone get the
// same bytes, with their ids, and packed the same; a stream of several topics has ids of its
// own, and the texts of the others.
func TestIssue17_AnUpdateIsWrittenOnceForAllWhoFollow(t *testing.T) {
	const readers = 49 // of each kind: the cap of streams is 100
	rows := &sharedFeed{}
	handler := NewSocketHandler(Options{Gate: NewGate(), Runs: rows})
	var reading sync.WaitGroup
	follow := func(topics, accepts string) *writes {
		answer := &writes{taken: taken{header: http.Header{}}}
		request := httptest.NewRequest("GET", Prefix+"/stream?topics="+topics, nil)
		request.Header.Set("Accept-Encoding", accepts)
		reading.Go(func() { handler.ServeHTTP(answer, request) })
		return answer
	}
	var plain, packs []*writes
	for range readers {
		plain, packs = append(plain, follow("run:"+knownRun, "identity")), append(packs, follow("run:"+knownRun, "gzip"))
	}
	several := follow("runs,run:"+knownRun, "identity")
	for rows.joined() < 2*readers+1 {
		continue
	}
	record := []byte(`{"said":"before"}`)
	update := engine.Update{Kind: engine.UpdateRecord, RunID: knownRun, Seq: 3, Record: record, Shared: new(runs.Shared)}
	if _, err := update.Text(runText); err != nil {
		t.Fatal(err)
	}
	copy(record, `{"said":"after!"}`) // whoever writes it again writes this
	rows.send(engine.Update{Kind: engine.UpdateLog, Log: &runs.Log{Message: "first"}}, update)
	rows.send(engine.Update{Kind: engine.UpdateStep, RunID: knownRun, Seq: 4, Step: &runs.Step{Path: "a"}})
	rows.close()
	reading.Wait()
	first, second := string(plain[0].pieces[0]), string(plain[0].pieces[1])
	if !strings.HasPrefix(first, "event: log\ndata: ") || !strings.HasSuffix(first, "\n\nid: 3\nevent: record\ndata: {\"kind\":\"record\",\"run_id\":\""+knownRun+"\",\"seq\":3,\"record\":{\"said\":\"before\"}}\n\n") {
		t.Errorf("the first piece is %s", first)
	}
	if !strings.HasPrefix(second, "id: 4\nevent: step\ndata: {\"kind\":\"step\"") || !strings.HasSuffix(second, "}}\n\n") {
		t.Errorf("the second piece is %s", second)
	}
	for i := range readers {
		if len(plain[i].pieces) != 2 || &plain[i].pieces[0][0] != &plain[0].pieces[0][0] || &plain[i].pieces[1][0] != &plain[0].pieces[1][0] {
			t.Fatalf("reader %d got %d pieces, or texts of its own", i, len(plain[i].pieces))
		}
		if len(packs[i].pieces) != 3 || &packs[i].pieces[1][0] != &packs[0].pieces[1][0] { // the last one is the end
			t.Fatalf("reader %d got %d packed pieces, or its own", i, len(packs[i].pieces))
		}
	}
	unpacks, err := gzip.NewReader(bytes.NewReader(slices.Concat(packs[0].pieces...)))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unpacks); err != nil || string(text) != first+second {
		t.Errorf("unpacked: %v, %s", err, text)
	}
	if text := string(slices.Concat(several.pieces...)); !strings.Contains(text, "/3\nevent: record\n") || !strings.Contains(text, `"before"`) || !strings.Contains(text, "/4\nevent: step\n") {
		t.Errorf("with another topic: %s", text)
	}
}
