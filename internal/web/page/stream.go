package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits of streams.
const (
	maxStreams  = 100
	streamPause = 200 * time.Millisecond // between two screens at least
	streamBeat  = 15 * time.Second       // a line at least, so that a dead connection is found
	streamLate  = 30 * time.Second       // a reader that takes nothing for so long is cut off
	// streamShare bounds the part of the time that a stream may draw in: a page
	// that takes long is drawn less often.
	streamShare = 5
)

type captureKey struct{}

// capture takes what a view would show.
type capture struct {
	screen *screen
	main   []byte
	err    error
}

// message is one screen in a stream.
type message struct {
	Title string `json:"title"`
	Main  string `json:"main"`
}

// stream sends the content of a page (?path=) whenever it is another one than
// before, as server-sent events: `screen` with a message, and `end` when nothing
// will change any more.
func (s *site) stream(w http.ResponseWriter, r *http.Request) {
	target, err := url.ParseRequestURI(r.URL.Query().Get("path"))
	if err != nil || !isOwnPath(target.Path) || target.Host != "" {
		http.Error(w, "path is not one of this server", http.StatusBadRequest)
		return
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many pages are followed at a time", http.StatusServiceUnavailable)
		return
	}
	f := &follower{site: s, request: r, target: target, out: w, control: http.NewResponseController(w)}
	first := f.look()
	if first == nil || first.err != nil {
		http.Error(w, "there is nothing to follow", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	_ = f.write("retry: 2000\n\n") // a failure shows itself at the first screen
	f.follow(first)
}

// follower is one stream. Used by one goroutine.
type follower struct {
	site    *site
	request *http.Request
	target  *url.URL
	out     http.ResponseWriter
	control *http.ResponseController
	last    []byte
	took    time.Duration // for drawing, the last time
}

// look draws the page that is followed; nil when it does not exist, or the caller
// may not see it.
func (f *follower) look() *capture {
	caught := new(capture)
	asked := f.request.Clone(context.WithValue(f.request.Context(), captureKey{}, caught))
	asked.Method, asked.URL, asked.RequestURI = http.MethodGet, f.target, ""
	began := f.site.Now()
	f.site.mux.ServeHTTP(discard{http.Header{}}, asked)
	f.took = f.site.Now().Sub(began)
	if caught.screen == nil {
		return nil
	}
	return caught
}

// discard takes what a view would write, which is nothing where it is captured.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// follow sends screens until nothing changes any more, or the reader is gone.
func (f *follower) follow(caught *capture) {
	ctx, cancel := context.WithCancel(f.request.Context())
	defer cancel()
	changed := f.subscribe(ctx, caught.screen.Live)
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for {
		if f.send(caught) != nil {
			return
		}
		if !caught.screen.Live.any() {
			_ = f.write("event: end\ndata: {}\n\n") // it is the last word
			return
		}
		if !f.await(ctx, changed, beat.C, caught.screen.Live.Every) {
			return
		}
		next := f.look()
		if next == nil || next.err != nil {
			_ = f.write("event: end\ndata: {}\n\n") // what was followed is gone: the reader loads the page again
			return
		}
		caught = next
	}
}

// await returns when the page may be another one, and false when the reader is
// gone.
func (f *follower) await(ctx context.Context, changed <-chan struct{}, beat <-chan time.Time, every time.Duration) bool {
	var tick <-chan time.Time
	if every > 0 {
		timer := time.NewTimer(max(every, f.pause()))
		defer timer.Stop()
		tick = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-beat:
			if f.write(": beat\n\n") != nil {
				return false
			}
			continue
		case <-tick:
			return true
		case <-changed:
		}
		break
	}
	rest := time.NewTimer(f.pause())
	defer rest.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-rest.C:
	}
	select { // what came meanwhile is seen by the same look
	case <-changed:
	default:
	}
	return true
}

func (f *follower) pause() time.Duration { return max(streamPause, streamShare*f.took) }

// subscribe returns a channel that gets a word when something has changed.
func (f *follower) subscribe(ctx context.Context, l live) <-chan struct{} {
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if l.Run != "" {
		if updates, err := f.site.Engine.Watch(ctx, l.Run, 1<<62); err == nil {
			go drain(updates, wake)
		}
	}
	if l.Run != "" || l.Runs { // of one run, too: it may be resumed after its feed has ended
		if updates, err := f.site.Engine.WatchRuns(ctx, 0); err == nil {
			go drain(updates, wake)
		}
	}
	return changed
}

// drain takes a feed to its end, which comes with the stream's context at the
// latest.
func drain[T any](updates <-chan T, wake func()) {
	for range updates {
		wake()
	}
}

// send writes a screen unless it is the one before.
func (f *follower) send(caught *capture) error {
	if bytes.Equal(caught.main, f.last) {
		return nil
	}
	f.last = caught.main
	var data strings.Builder
	encoder := json.NewEncoder(&data) // ends with a line feed and holds no other
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(message{Title: caught.screen.Title + " · flowrun", Main: string(caught.main)}); err != nil {
		return fmt.Errorf("encode screen: %w", err)
	}
	return f.write("event: screen\ndata: " + data.String() + "\n")
}

func (f *follower) write(text string) error {
	_ = f.control.SetWriteDeadline(f.site.Now().Add(streamLate)) // where it is not supported, it is not needed
	if _, err := f.out.Write([]byte(text)); err != nil {
		return err
	}
	return f.control.Flush()
}
