package page

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/packed"
)

// How often a page is drawn while it changes.
const (
	drawSoon  = 30 * time.Millisecond  // changes come in swarms
	drawPause = 250 * time.Millisecond // between two drawings at least
	drawMost  = 500 * time.Millisecond // the longest pause
	// drawShare bounds the part of the time that goes into drawing: a page that
	// takes long is drawn less often.
	drawShare = 3
)

// boardKey is what decides how a page looks: what stands on it, and what its reader
// may do. Who the reader is does not: forms get their token in the browser.
type boardKey struct {
	target string
	scope  guard.Scope
}

// boards are the pages that are followed. Safe for concurrent use.
type boards struct {
	mu   sync.Mutex
	open map[boardKey]*board
}

// board is a page that is drawn once for all who follow it. It is drawn as long as
// somebody does. Safe for concurrent use.
type board struct {
	site   *site
	target *url.URL
	scope  guard.Scope
	cancel context.CancelFunc
	ended  chan struct{} // closed when nobody draws any more

	readers int // guarded by boards.mu

	histories histories // of who draws

	mu    sync.Mutex
	shown *drawn
	fresh bool          // nothing has happened since it was drawn
	asOf  time.Time     // when what is shown was known to be right
	over  bool          // it will not change any more
	news  chan struct{} // closed when there is something else to show
}

// drawn is a page as it was at a time. Safe for concurrent use.
type drawn struct {
	number uint64 // of the drawings of its board
	title  string
	main   []byte
	parts  []string
	at     time.Time

	mu      sync.Mutex
	whole   *packed.Piece
	changes map[uint64]*packed.Piece // from the drawings of those numbers
}

// join returns the board of a page, whose first look has been taken. leave must be
// called.
func (s *site) join(target *url.URL, scope guard.Scope) (b *board, leave func()) {
	key := boardKey{target.RequestURI(), scope}
	s.boards.mu.Lock()
	b = s.boards.open[key]
	if b == nil {
		ctx, cancel := context.WithCancel(context.Background())
		b = &board{site: s, target: target, scope: scope, cancel: cancel, ended: make(chan struct{}), news: make(chan struct{}), histories: histories{}}
		s.boards.open[key] = b
		go b.draw(ctx)
	}
	b.readers++
	s.boards.mu.Unlock()
	return b, func() {
		s.boards.mu.Lock()
		b.readers--
		last := b.readers == 0
		if last {
			delete(s.boards.open, key)
		}
		s.boards.mu.Unlock()
		if last {
			b.cancel()
			<-b.ended
		}
	}
}

// look draws the page; nil when it does not exist, or may not be seen.
func (b *board) look(ctx context.Context) *capture {
	caught := new(capture)
	ctx = context.WithValue(ctx, historiesKey{}, b.histories)
	ctx = guard.WithCaller(context.WithValue(ctx, captureKey{}, caught), guard.Caller{Scope: b.scope})
	asked, err := http.NewRequestWithContext(ctx, http.MethodGet, b.target.RequestURI(), http.NoBody)
	if err != nil {
		return nil
	}
	b.site.mux.ServeHTTP(discard{http.Header{}}, asked)
	if caught.screen == nil || caught.err != nil {
		return nil
	}
	return caught
}

// histories are those of runs and steps that a board reads again and again. Used by
// one goroutine.
type histories map[[2]string]*engine.HistoryReader

type historiesKey struct{}

// history is what a run did so far. A board reads what is new of it.
func (s *site) history(ctx context.Context, view *engine.RunView, run, step string) (*engine.RunHistory, error) {
	kept, followed := ctx.Value(historiesKey{}).(histories)
	if !followed {
		return s.Engine.FollowHistory(run, step).ReadWith(ctx, view)
	}
	key := [2]string{run, step}
	if kept[key] == nil {
		kept[key] = s.Engine.FollowHistory(run, step)
	}
	return kept[key].ReadWith(ctx, view)
}

// draw draws the page whenever something happens that may change it.
func (b *board) draw(ctx context.Context) {
	defer close(b.ended)
	defer b.finish()
	began := b.site.Now()
	caught := b.look(ctx)
	if caught == nil {
		return
	}
	changed := b.site.subscribe(ctx, caught.screen.Live)
	for {
		took := b.site.Now().Sub(began)
		b.show(caught, began)
		if !caught.screen.Live.any() || !b.await(ctx, changed, min(max(drawPause, drawShare*took), drawMost), caught.screen.Live.Every) {
			return
		}
		began = b.site.Now()
		if caught = b.look(ctx); caught == nil {
			return // what was followed is gone: the reader loads the page again
		}
	}
}

// await returns when the page may be another one, and false when nobody looks.
func (b *board) await(ctx context.Context, changed <-chan struct{}, pause, every time.Duration) bool {
	drawn := b.site.Now()
	var tick <-chan time.Time
	if every > 0 {
		timer := time.NewTimer(max(every, pause))
		defer timer.Stop()
		tick = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-tick:
	case <-changed:
		b.stale()
		rest := time.NewTimer(max(drawSoon, pause-b.site.Now().Sub(drawn)))
		defer rest.Stop()
		select {
		case <-ctx.Done():
			return false
		case <-rest.C:
		}
	}
	select { // what came meanwhile is seen by the same look
	case <-changed:
	default:
	}
	return true
}

// stale notes that something has happened.
func (b *board) stale() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fresh {
		b.fresh, b.asOf = false, b.site.Now()
	}
}

// show puts up what was drawn of a time.
func (b *board) show(caught *capture, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fresh, b.asOf = true, at
	title := caught.screen.Title + " · flowrun"
	if b.shown != nil && b.shown.title == title && bytes.Equal(b.shown.main, caught.main) {
		return
	}
	next := &drawn{number: 1, title: title, main: caught.main, parts: fragments(string(caught.main)), at: at, changes: map[uint64]*packed.Piece{}}
	if b.shown != nil {
		next.number = b.shown.number + 1
	}
	b.shown = next
	b.tell()
}

func (b *board) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.tell()
}

// tell wakes all who wait for news. The lock is held.
func (b *board) tell() {
	close(b.news)
	b.news = make(chan struct{})
}

// state is what is shown now, and what tells that it is something else. asOf is
// when it was known to be right: now, unless something has happened since.
func (b *board) state() (shown *drawn, asOf time.Time, over bool, news <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	asOf = b.asOf
	if b.fresh {
		asOf = b.site.Now()
	}
	return b.shown, asOf, b.over, b.news
}

// wholly is the page as an event.
func (d *drawn) wholly() packed.Piece {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.whole == nil {
		piece := packed.NewPiece(d.event("screen", "main", plainJSON(string(d.main))))
		d.whole = &piece
	}
	return *d.whole
}

// since is the event that makes the page of one that was shown before.
func (d *drawn) since(base *drawn) packed.Piece {
	if base == nil {
		return d.wholly()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	piece := d.changes[base.number]
	if piece == nil {
		made := packed.NewPiece(d.event("change", "parts", changes(base.parts, d.parts)))
		piece, d.changes[base.number] = &made, &made
	}
	return *piece
}

func (d *drawn) event(name, field string, data []byte) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: {\"at\":%s,\"title\":%s,\"%s\":%s}\n\n", name, strconv.FormatInt(d.at.UnixMilli(), 10), plainJSON(d.title), field, data)
}
