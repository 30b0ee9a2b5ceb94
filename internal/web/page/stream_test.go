package page

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// reader reads a stream event by event.
type reader struct {
	t      *testing.T
	answer *http.Response
	lines  *bufio.Scanner
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
	return &reader{t, answer, lines}
}

// next returns the next event; "" at the end.
func (r *reader) next() (event string, shown message) {
	r.t.Helper()
	for r.lines.Scan() {
		line := r.lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = name
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &shown); err != nil {
				r.t.Fatalf("%s: %v", data, err)
			}
		}
		if line == "" && event != "" {
			return event, shown
		}
	}
	return "", message{}
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
		if event != "screen" {
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
		if event != "screen" {
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
	if !strings.Contains(body, "event: screen\ndata: {") || !strings.HasSuffix(body, "event: end\ndata: {}\n\n") {
		t.Errorf("%.300s", body)
	}
}

// quietEngine never tells anything by itself.
type quietEngine struct {
	Engine
	runs chan engine.RunsUpdate
	asks int
}

func (q *quietEngine) List(context.Context, engine.RunFilter) ([]plan.Run, string, error) {
	q.asks++
	return []plan.Run{{ID: "01k8zq4c0vdx3y6t7k9m2n5p8r", Workflow: "w", Status: plan.RunRunning, Attempt: q.asks}}, "", nil
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

func TestManyChangesAreOneScreenAndAQuietStreamBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := &quietEngine{runs: make(chan engine.RunsUpdate)}
		s := newSite(Options{Engine: quiet, Now: time.Now})
		ctx, cancel := context.WithCancel(t.Context())
		caller := guard.WithCaller(ctx, guard.Caller{Name: "page of ann", Scope: guard.Viewer})
		w := &keeper{header: http.Header{}}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.stream(w, httptest.NewRequest(http.MethodGet, "/ui/stream?path=/runs", nil).WithContext(caller))
		}()
		synctest.Wait()
		screens := func() int { return w.count("event: screen") }
		if screens() != 1 {
			t.Fatalf("%d screens at first", screens())
		}
		for range 50 {
			quiet.runs <- engine.RunsUpdate{}
		}
		time.Sleep(streamPause + time.Millisecond) // of the bubble's clock
		synctest.Wait()
		if got := screens(); got < 2 || got > 3 {
			t.Errorf("%d screens of fifty changes at once", got)
		}
		before := screens()
		time.Sleep(2*streamBeat + time.Second)
		synctest.Wait()
		if got := w.count(": beat"); got != 2 || screens() != before {
			t.Errorf("%d beats, %d screens in a quiet time", got, screens()-before)
		}
		cancel()
		<-ended
		if len(s.streams) != 0 {
			t.Error("the stream's place is not given back")
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
