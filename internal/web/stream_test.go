package web

import (
	"io"
	"net/http"
	"net/http/httptest"
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
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		mux.ServeHTTP(w, r.WithContext(guard.WithCaller(r.Context(), ci())))
	}))
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

// TestIssue12_24AnUpdateIsWrittenOnceForAllWhoFollow: those who follow a run share the
// text of an update; its id is of each stream alone, since streams differ in their
// topics.
func TestIssue12_24AnUpdateIsWrittenOnceForAllWhoFollow(t *testing.T) {
	rows := &sharedFeed{}
	handler := NewSocketHandler(Options{Gate: NewGate(), Runs: rows})
	var reading sync.WaitGroup
	var answers []*writes
	for _, topics := range []string{"run:" + knownRun, "run:" + knownRun, "runs,run:" + knownRun} {
		answer := &writes{taken: taken{header: http.Header{}}}
		answers = append(answers, answer)
		reading.Go(func() { handler.ServeHTTP(answer, httptest.NewRequest("GET", Prefix+"/stream?topics="+topics, nil)) })
	}
	for rows.joined() < len(answers) {
		continue
	}
	rows.send(engine.Update{Kind: engine.UpdateStep, RunID: knownRun, Seq: 3, Step: &runs.Step{Path: "a"}})
	rows.close()
	reading.Wait()
	var texts [][]byte
	for i, answer := range answers {
		for at, piece := range answer.pieces {
			if strings.HasPrefix(string(piece), "event: step\n") {
				texts = append(texts, piece)
				if id := string(answer.pieces[at-1]); i < 2 && id != "id: 3\n" || i == 2 && !strings.HasSuffix(id, "/3\n") {
					t.Errorf("stream %d: the id is %q", i, id)
				}
			}
		}
	}
	if len(texts) != 3 || &texts[0][0] != &texts[1][0] || &texts[0][0] != &texts[2][0] {
		t.Fatalf("%d texts, not one", len(texts))
	}
	want := "event: step\ndata: {\"kind\":\"step\",\"run_id\":\"" + knownRun + "\",\"seq\":3,\"step\":{\"path\":\"a\""
	if got := string(texts[0]); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "}}\n\n") {
		t.Errorf("%s", got)
	}
}
