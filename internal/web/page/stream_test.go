package page

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// reader reads a stream event by event, and puts the page together as app.js does.
type reader struct {
	t      *testing.T
	answer *http.Response
	lines  *bufio.Scanner
	pieces []string
	id     string // of the last event
	bytes  int    // of all data, unpacked
}

// message is a page as an event of a stream has made it.
type message struct {
	Title, Main string
	At          int64
}

// follow opens the stream of a page on a server of its own.
func follow(t *testing.T, d *desk, path string) *reader {
	t.Helper()
	server := httptest.NewServer(d.handler)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/ui/stream?path="+url.QueryEscape(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return &reader{t: t, answer: answer, lines: lines}
}

// next returns the next event that is not `now`, with the page that it leads to; ""
// at the end.
func (r *reader) next() (event string, shown message) {
	r.t.Helper()
	for r.lines.Scan() {
		line := r.lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = name
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			r.id = id
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && event != "now" {
			r.bytes += len(data)
			shown = r.apply(event, data)
		}
		if line == "" && event != "" && event != "now" {
			return event, shown
		}
	}
	return "", message{}
}

func (r *reader) apply(event, data string) message {
	r.t.Helper()
	var raw struct {
		At          int64
		Title, Main string
		Parts       []any
	}
	if err := json.Unmarshal([]byte(data), &raw); err != nil {
		r.t.Fatalf("%s: %v", data, err)
	}
	switch event {
	case "screen":
		r.pieces = fragments(raw.Main)
	case "change":
		r.pieces = applied(r.pieces, raw.Parts)
	}
	return message{raw.Title, strings.Join(r.pieces, ""), raw.At}
}

// applied is what app.js does with changes.
func applied(pieces []string, parts []any) (next []string) {
	for i := 0; i < len(parts); i++ {
		if text, ok := parts[i].(string); ok {
			next = append(next, fragments(text)...)
			continue
		}
		from, count := int(parts[i].(float64)), int(parts[i+1].(float64))
		next = append(next, pieces[from:from+count]...)
		i++
	}
	return next
}

func TestARunIsFollowedToItsEnd(t *testing.T) {
	d := newDesk(t, map[string]string{"a.yaml": askingFlow})
	id := d.start("asking", nil)
	r := follow(t, d, runURL(id))
	if kind := r.answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("it is %s", kind)
	}
	event, first := r.next()
	if event != "screen" || !strings.Contains(first.Main, "Publish to stable?") || !strings.HasPrefix(first.Title, "waiting · asking") {
		t.Fatalf("%s %.200s", event, first.Main)
	}
	if whole := d.get(runURL(id), http.StatusOK); !strings.Contains(whole, `data-live`) {
		t.Error("the page does not ask to be followed")
	}
	d.post(stepURL(id, "approve")+"/approve", url.Values{"in.amount": {"7"}}, http.StatusSeeOther)
	var last message
	for {
		event, shown := r.next()
		if event == "end" {
			break
		}
		if event != "change" {
			t.Fatalf("%q before the end", event)
		}
		last = shown
	}
	if !strings.HasPrefix(last.Title, "succeeded") || !strings.Contains(last.Main, `class="step action in t-ok" data-step="publish"`) {
		t.Errorf("%s %.300s", last.Title, last.Main)
	}
	if event, _ := r.next(); event != "" {
		t.Errorf("%s after the end", event)
	}
}

func TestTheListOfRunsIsFollowed(t *testing.T) {
	d := newDesk(t, map[string]string{"f.yaml": failingFlow})
	r := follow(t, d, "/runs?workflow=failing")
	if _, first := r.next(); !strings.Contains(first.Main, "No run fits") {
		t.Errorf("%.300s", first.Main)
	}
	id := d.start("failing", nil)
	for {
		event, shown := r.next()
		if event != "change" {
			t.Fatalf("%q", event)
		}
		if strings.Contains(shown.Main, id) && strings.Contains(shown.Main, "failed") {
			return
		}
	}
}

func TestWhatCanNotBeFollowed(t *testing.T) {
	d := newDesk(t, map[string]string{"f.yaml": failingFlow})
	for path, status := range map[string]int{
		"": http.StatusBadRequest, "x": http.StatusBadRequest, "//evil.example/": http.StatusBadRequest, "https://evil.example/": http.StatusBadRequest,
		"/nothing": http.StatusNotFound, "/runs/nope": http.StatusNotFound, "/ui/stream?path=/": http.StatusNotFound, "/static/app.css": http.StatusNotFound,
		"/runs/01k8zq4c0vdx3y6t7k9m2n5p8r/outputs/x": http.StatusNotFound, "%zz": http.StatusBadRequest,
	} {
		d.get("/ui/stream?path="+url.QueryEscape(path), status)
	}
	d.caller.Scope = guard.Viewer // a page that asks for more is not shown by the stream either
	id := d.start("failing", nil)
	d.get("/ui/stream?path="+url.QueryEscape(runURL(id)+"/rerun"), http.StatusNotFound)
}

func TestAStreamOfWhatHasEndedEndsAtOnce(t *testing.T) {
	d := newDesk(t, map[string]string{"f.yaml": failingFlow})
	id := d.start("failing", nil)
	body := d.get("/ui/stream?path="+url.QueryEscape(runURL(id)), http.StatusOK)
	if !strings.Contains(body, "\nevent: screen\ndata: {") || !strings.HasSuffix(body, "event: end\ndata: {}\n\n") {
		t.Errorf("%.300s", body)
	}
}

// quietEngine never tells anything by itself.
type quietEngine struct {
	Engine
	runs chan engine.RunsUpdate
	asks int
}

func (q *quietEngine) List(context.Context, runs.Filter) ([]runs.Run, string, error) {
	q.asks++
	return []runs.Run{{ID: "01k8zq4c0vdx3y6t7k9m2n5p8r", Workflow: "w", Status: runs.RunRunning, Attempt: q.asks}}, "", nil
}

func (q *quietEngine) WatchRuns(ctx context.Context, _ uint64) (<-chan engine.RunsUpdate, error) {
	out := make(chan engine.RunsUpdate)
	go func() {
		defer close(out)
		for {
			select {
			case update := <-q.runs:
				select {
				case out <- update:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// keeper keeps what is written, as a server without deadlines.
type keeper struct {
	header http.Header
	mu     sync.Mutex
	text   []byte
}

func (k *keeper) Header() http.Header { return k.header }
func (k *keeper) WriteHeader(int)     {}
func (k *keeper) Flush()              {}

func (k *keeper) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text = append(k.text, b...)
	return len(b), nil
}

func (k *keeper) count(part string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Count(string(k.text), part)
}

// watch follows a page of runs without a network, by the clock of a bubble.
func watch(t *testing.T, s *site, path string) (w *keeper, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	caller := guard.WithCaller(ctx, guard.Caller{Name: "page of ann", Scope: guard.Viewer})
	w = &keeper{header: http.Header{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.stream(w, httptest.NewRequest(http.MethodGet, "/ui/stream?"+path, nil).WithContext(caller))
	}()
	synctest.Wait()
	return w, func() {
		cancel()
		<-ended
		synctest.Wait()
		if len(s.streams) != 0 || len(s.boards.open) != 0 || len(s.followers.open) != 0 {
			t.Error("the stream's place is not given back")
		}
	}
}

func TestManyChangesAreOneMessageAndAQuietStreamSaysThatItIsRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := &quietEngine{runs: make(chan engine.RunsUpdate)}
		s := newSite(Options{Engine: quiet, Now: time.Now})
		w, end := watch(t, s, "path=/runs")
		defer end()
		if w.count("event: screen") != 1 {
			t.Fatalf("%d screens at first", w.count("event: screen"))
		}
		for range 50 {
			quiet.runs <- engine.RunsUpdate{}
		}
		time.Sleep(2 * sendPause) // of the bubble's clock
		synctest.Wait()
		if got := w.count("event: change"); got < 1 || got > 2 || w.count("event: screen") != 1 {
			t.Errorf("%d messages of fifty changes at once", got)
		}
		changes, beats := w.count("event: change"), w.count("event: now")
		time.Sleep(10 * streamBeat)
		synctest.Wait()
		if got := w.count("event: now") - beats; got != 10 || w.count("event: change") != changes {
			t.Errorf("%d beats, %d messages in a quiet time", got, w.count("event: change")-changes)
		}
	})
}

func TestIssue12_24_OneMessageIsOnItsWayAndTheNewestComesNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := &quietEngine{runs: make(chan engine.RunsUpdate)}
		s := newSite(Options{Engine: quiet, Now: time.Now})
		w, end := watch(t, s, "seen=1&path=/runs")
		defer end()
		churn := func(seconds int) {
			for range seconds * 50 {
				quiet.runs <- engine.RunsUpdate{}
				time.Sleep(20 * time.Millisecond)
			}
			synctest.Wait()
		}
		churn(5) // the reader has not said yet that it shows the first page
		if got := w.count("event: "); got != 1 {
			t.Fatalf("%d messages are on their way:\n%.300s", got, w.text)
		}
		say := func(id, csrf string) {
			caller := guard.WithCaller(t.Context(), guard.Caller{Name: "page of ann", Scope: guard.Viewer, CSRF: csrf})
			answer := httptest.NewRecorder()
			s.seen(answer, httptest.NewRequest(http.MethodGet, "/ui/seen?id="+id, nil).WithContext(caller))
			synctest.Wait()
		}
		say("1.1", "another session's")
		say("1.7", "")
		say("2.1", "")
		if got := w.count("event: "); got != 1 {
			t.Fatalf("%d messages after what is no word of this reader", got)
		}
		say("1.1", "")
		if w.count("event: change") != 1 {
			t.Fatalf("%d messages after the reader has seen the first", w.count("event: change"))
		}
		latest := quiet.asks
		w.mu.Lock()
		newest := strings.Contains(string(w.text), fmt.Sprintf("attempt %d", latest)) || strings.Contains(string(w.text), fmt.Sprint(latest))
		w.mu.Unlock()
		if !newest {
			t.Errorf("the message is not of the newest drawing, %d:\n%s", latest, w.text)
		}
		churn(3)
		if got := w.count("event: "); got != 2 {
			t.Errorf("%d messages, the last of which nobody has seen", got)
		}
		time.Sleep(streamLate)
		synctest.Wait()
		if len(s.followers.open) != 0 {
			t.Error("a reader that shows nothing keeps its place")
		}
	})
}

func TestIssue12_24_AQuickReaderGetsABoundedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := &quietEngine{runs: make(chan engine.RunsUpdate)}
		s := newSite(Options{Engine: quiet, Now: time.Now})
		w, end := watch(t, s, "path=/runs")
		defer end()
		whole := len(w.text)
		for range 120 * 50 { // two minutes, fifty changes a second
			quiet.runs <- engine.RunsUpdate{}
			time.Sleep(20 * time.Millisecond)
		}
		synctest.Wait()
		sent, messages := len(w.text)-whole, w.count("event: change")
		if messages < 100 || messages > 120*5/2+1 || sent > 120*sendRate {
			t.Errorf("%d messages, %d bytes", messages, sent)
		}
		if quiet.asks > 120*4+2 {
			t.Errorf("drawn %d times", quiet.asks)
		}
	})
}

func TestIssue12_24_APageIsDrawnOnceForAllWhoFollowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := &quietEngine{runs: make(chan engine.RunsUpdate)}
		s := newSite(Options{Engine: quiet, Now: time.Now})
		var ends []func()
		var readers []*keeper
		for range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			w, ended := &keeper{header: http.Header{}}, make(chan struct{})
			go func() {
				defer close(ended)
				caller := guard.WithCaller(ctx, guard.Caller{Name: "page of ann", Scope: guard.Viewer})
				s.stream(w, httptest.NewRequest(http.MethodGet, "/ui/stream?path=/runs", nil).WithContext(caller))
			}()
			readers, ends = append(readers, w), append(ends, func() { cancel(); <-ended })
		}
		synctest.Wait()
		quiet.runs <- engine.RunsUpdate{}
		time.Sleep(sendMost)
		synctest.Wait()
		if quiet.asks != 2 {
			t.Errorf("drawn %d times for two pages of 50 readers", quiet.asks)
		}
		for i, w := range readers {
			if w.count("event: screen") != 1 || w.count("event: change") != 1 {
				t.Fatalf("reader %d: %s", i, w.text)
			}
		}
		for _, end := range ends {
			end()
		}
		synctest.Wait()
		if len(s.boards.open) != 0 {
			t.Error("a page that nobody follows is drawn on")
		}
	})
}

func TestStreamsAreBounded(t *testing.T) {
	s := newSite(Options{Engine: &quietEngine{}, Now: time.Now})
	for range maxStreams {
		s.streams <- struct{}{}
	}
	w := httptest.NewRecorder()
	s.stream(w, httptest.NewRequest(http.MethodGet, "/ui/stream?path=/runs", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
