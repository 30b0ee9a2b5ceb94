package page

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/packed"
)

// Limits of streams.
const (
	maxStreams = 100
	sendPause  = 400 * time.Millisecond // between two pages at least
	sendMost   = time.Second            // the longest pause
	sendRate   = 6000                   // bytes a second: what is longer is followed by a longer pause
	streamBeat = time.Second            // how often a quiet stream says that what is shown is right
	streamLate = 30 * time.Second       // a reader that takes nothing for so long is cut off
)

type captureKey struct{}

// capture takes what a view would show.
type capture struct {
	screen *screen
	main   []byte
	err    error
}

// discard takes what a view would write, which is nothing where it is captured.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// stream sends the content of a page (?path=) and then what changes of it, as
// server-sent events: `screen` is a whole page, `change` what becomes of the one
// before, `now` says that nothing is newer than what was sent, and `end` that
// nothing will change any more. With ?seen=1 the reader tells by GET /ui/seen what
// it shows, and gets nothing newer before: what it has not read does not pile up on
// the way, and is never old when it comes.
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
	b, leave := s.join(target, callerOf(r).Scope)
	defer leave()
	if !b.begun(r.Context()) {
		http.Error(w, "there is nothing to follow", http.StatusNotFound)
		return
	}
	packs := packed.Accepted(r)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store, no-transform")
	header.Set("X-Accel-Buffering", "no")
	header.Add("Vary", "Accept-Encoding")
	if packs {
		header.Set("Content-Encoding", "gzip")
	}
	f := &follower{
		site: s, board: b, caller: callerOf(r), out: packed.NewStream(w, packs), packs: packs, control: http.NewResponseController(w),
		seen: make(chan uint64, 1), tells: r.URL.Query().Get("seen") != "",
	}
	f.id = s.followers.add(f)
	defer s.followers.remove(f.id)
	if f.write(packed.NewPiece([]byte("retry: 2000\n\n"))) == nil && f.follow(r.Context()) == nil {
		_ = f.out.Close() // the reader is gone: nobody is left to tell
	}
}

// begun waits for the first look, and reports whether there is something to see.
func (b *board) begun(ctx context.Context) bool {
	for {
		shown, _, over, news := b.state()
		if shown != nil || over {
			return shown != nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return false
		}
	}
}

// follower is one stream. Used by one goroutine, but for seen.
type follower struct {
	site    *site
	board   *board
	id      uint64
	caller  guard.Caller
	out     *packed.Stream
	packs   bool
	control *http.ResponseController
	tells   bool        // the reader says what it has seen
	seen    chan uint64 // the numbers of pages that it shows

	sent  *drawn    // the page that was sent last
	known uint64    // the number of the page that the reader is known to show
	at    time.Time // when it was sent
	next  time.Time // when it may get another one
}

// follow sends pages until nothing changes any more. An error says that the reader
// is gone.
func (f *follower) follow(ctx context.Context) error {
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for {
		shown, _, over, news := f.board.state()
		due := f.next.Sub(f.site.Now())
		switch {
		case shown != f.sent && !f.waits() && due <= 0:
			if err := f.send(shown); err != nil {
				return err
			}
			continue
		case shown == f.sent && over:
			return f.write(packed.NewPiece([]byte("event: end\ndata: {}\n\n")))
		}
		if shown != f.sent {
			news = nil // there is enough of it
		}
		if err := f.await(ctx, news, due, beat.C); err != nil {
			return err
		}
	}
}

// waits reports whether the page that was sent last is on its way.
func (f *follower) waits() bool { return f.tells && f.sent != nil && f.known != f.sent.number }

// await returns when there may be something to do. news is nil where something
// waits to be sent.
func (f *follower) await(ctx context.Context, news <-chan struct{}, due time.Duration, beat <-chan time.Time) error {
	var timer <-chan time.Time
	switch {
	case f.waits():
		timer = time.After(streamLate - f.site.Now().Sub(f.at))
	case news == nil:
		timer = time.After(due)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case number := <-f.seen:
		if f.sent != nil && number == f.sent.number {
			f.known = number
		}
	case <-timer:
		if f.waits() {
			return fmt.Errorf("the reader has shown nothing for %s", streamLate)
		}
	case <-news:
	case <-beat:
		if shown, asOf, _, _ := f.board.state(); shown == f.sent && !f.waits() {
			return f.write(packed.NewPiece([]byte("event: now\ndata: " + strconv.FormatInt(asOf.UnixMilli(), 10) + "\n\n")))
		}
	}
	return nil
}

// send writes what makes a page of the one that was sent before.
func (f *follower) send(shown *drawn) error {
	event := shown.since(f.sent)
	head := fmt.Appendf(nil, "id: %d.%d\n", f.id, shown.number)
	pause := time.Duration(event.Size(f.packs)+len(head)) * time.Second / sendRate
	f.sent, f.at = shown, f.site.Now()
	f.next = f.at.Add(min(max(pause, sendPause), sendMost))
	return f.write(packed.NewPiece(head), event)
}

func (f *follower) write(pieces ...packed.Piece) error {
	_ = f.control.SetWriteDeadline(f.site.Now().Add(streamLate)) // where it is not supported, it is not needed
	if err := f.out.Write(pieces...); err != nil {
		return err
	}
	return f.control.Flush()
}

// followers are the open streams by their numbers. Safe for concurrent use.
type followers struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*follower
}

func (l *followers) add(f *follower) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.open[l.last] = f
	return l.last
}

func (l *followers) remove(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
}

func (l *followers) get(id uint64) *follower {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[id]
}

// seen hears which page (?id=, as the events of a stream have it) a reader shows
// now. Of a stream that is another session's, or is no more, nothing is told.
func (s *site) seen(w http.ResponseWriter, r *http.Request) {
	stream, number, ok := strings.Cut(r.URL.Query().Get("id"), ".")
	id, err := strconv.ParseUint(stream, 10, 64)
	page, wrong := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil || wrong != nil {
		http.Error(w, "id is not one of an event", http.StatusBadRequest)
		return
	}
	if f, caller := s.followers.get(id), callerOf(r); f != nil && f.caller.CSRF == caller.CSRF && f.caller.Name == caller.Name {
		select {
		case <-f.seen: // an older one that nobody took
		default:
		}
		select {
		case f.seen <- page:
		default:
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// subscribe returns a channel that gets a word when something has changed.
func (s *site) subscribe(ctx context.Context, l live) <-chan struct{} {
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if l.Run != "" {
		if updates, err := s.Engine.Watch(ctx, l.Run, 1<<62); err == nil {
			go drain(updates, wake)
		}
	}
	if l.Run != "" || l.Runs { // of one run, too: it may be resumed after its feed has ended
		if updates, err := s.Engine.WatchRuns(ctx, 0); err == nil {
			go drain(updates, wake)
		}
	}
	return changed
}

// drain takes a feed to its end, which comes with the board's context at the
// latest.
func drain[T any](updates <-chan T, wake func()) {
	for range updates {
		wake()
	}
}
