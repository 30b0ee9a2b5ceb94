package local

import (
	"context"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// feedLimit is how many updates a watcher may lag behind before it is cut off;
// it can ask again from the last sequence number that it saw.
const feedLimit = 100_000

// feedBytes is what those updates may hold.
const feedBytes = 64 << 20

// feedPause is how long a watcher that got updates waits for company of the next ones: of
// a run with many steps each message has many. Those that a run waits for or ends with go
// at once. Each block is a message to each watcher, so that many wait longer: up to
// feedPauseMost, which a person still takes for now.
const (
	feedPause     = 25 * time.Millisecond
	feedPauseMost = 100 * time.Millisecond
	feedPauseOf   = 10 // watchers that feedPause is for
)

// pauseFor is how long so many watchers wait.
func pauseFor(watchers int) time.Duration {
	return min(max(feedPause, feedPause*time.Duration(watchers)/feedPauseOf), feedPauseMost)
}

// What a block has at most: it is written as a whole.
const (
	blockUpdates = 1000
	blockBytes   = 256 << 10
)

// total counts updates and what they hold.
type total struct{ updates, bytes int }

func (t *total) add(update *Update) {
	t.updates++
	t.bytes += update.size()
}

// feed sends a run's updates to its watchers. They stand in a chain of blocks, once for
// all: a watcher is a place in it, and what all have passed is garbage. Safe for
// concurrent use.
type feed struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{} // nil = there was none yet
	open     *block                // takes what is sent; nil = there was no watcher yet
	sent     total                 // since the run is driven
	due      total                 // no watcher lags too far behind before so much was sent
	resting  int                   // blocks that were closed less than a pause ago
	closed   bool
}

// block is a part of a feed. Once it is followed by another one it doesn't change.
type block struct {
	list   []Update
	steps  *manySteps // in place of the list, until somebody takes it
	size   total
	urgent bool // it has an update that nobody waits with
	next   *block
	made   made
	likely int           // how many updates it may get: as many as the one before
	shared []runs.Shared // of the updates that it has room for
}

// watcher is one reader with a place of its own, so that a slow reader holds nobody up.
type watcher struct {
	ready     chan struct{}
	noRecords bool     // it wants none of the stored records
	own       []Update // how all was when it came. Not shared

	// Guarded by feed.mu.
	feed  *feed
	at    *block // the next one that it reads; nil = it follows nothing
	read  total
	until *block // where it ends; nil = it follows
}

// newFeed returns a feed that takes next to no memory until somebody watches.
func newFeed() *feed { return new(feed) }

func newWatcher() *watcher { return &watcher{ready: make(chan struct{}, 1)} }

func (f *feed) send(update Update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.watchers) == 0 {
		return
	}
	b := f.open
	b.makeRoom()
	if len(f.watchers) > 1 {
		b.share(&update)
	}
	urgent := update.Kind == UpdateRun || update.Kind == UpdateEnd
	b.list, b.urgent = append(b.list, update), b.urgent || urgent
	b.size.add(&update)
	f.sent.add(&update)
	if f.sent.updates > f.due.updates || f.sent.bytes > f.due.bytes {
		f.cutOff()
	}
	switch {
	case len(b.list) >= blockUpdates || b.size.bytes >= blockBytes:
		f.handOn()
	case len(b.list) == 1 && f.resting == 0 || urgent:
		f.wake()
	}
}

// blockRoom is what a block has room for at first where the one before had few updates.
const blockRoom = 8

// makeRoom lets a block take one more update. Where the one before was full this one will be
// too: what grows by doubling is copied, and that the run waits for.
func (b *block) makeRoom() {
	if len(b.list) < cap(b.list) {
		return
	}
	room := max(blockRoom, min(b.likely, blockUpdates))
	if len(b.list) > 0 {
		room = min(8*len(b.list), max(blockUpdates, 2*len(b.list)))
	}
	b.list = append(make([]Update, 0, room), b.list...)
}

// share gives an update of a block its place for the text that all share.
func (b *block) share(update *Update) {
	if len(b.shared) == 0 {
		b.shared = make([]runs.Shared, cap(b.list)-len(b.list))
	}
	update.Shared, b.shared = &b.shared[0], b.shared[1:]
}

// manySteps are steps that changed at once: all items of a loop may. Updates of them are made
// when a watcher takes them.
type manySteps struct {
	runID string
	seq   uint64
	steps []runs.Step
}

// sendSteps sends an update of each step, in blocks of their own.
func (f *feed) sendSteps(many manySteps) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.watchers) == 0 {
		return
	}
	f.handOn()
	for begin := 0; begin < len(many.steps); begin += blockUpdates {
		part := many
		part.steps = many.steps[begin:min(begin+blockUpdates, len(many.steps))]
		f.open.steps = &part
		for i := range part.steps {
			update := Update{Step: &part.steps[i]}
			f.open.size.add(&update)
			f.sent.add(&update)
		}
		f.closeBlock()
		if f.sent.updates > f.due.updates || f.sent.bytes > f.due.bytes {
			f.cutOff()
		}
	}
	f.wake()
}

// updates are those of the block. It is called with the lock.
func (b *block) updates(shared bool) []Update {
	if many := b.steps; many != nil {
		b.list = make([]Update, 0, len(many.steps))
		for i := range many.steps {
			update := Update{Kind: UpdateStep, RunID: many.runID, Seq: many.seq, Step: &many.steps[i]}
			if shared {
				b.share(&update)
			}
			b.list = append(b.list, update)
		}
		b.steps = nil
	}
	return b.list
}

// closeBlock lets the next update begin a new block. It is called with the lock.
func (f *feed) closeBlock() {
	if f.open == nil || len(f.open.list) == 0 && f.open.steps == nil || f.open.next != nil {
		return
	}
	f.open.next = &block{likely: len(f.open.list)}
	f.open.shared = nil
	f.open = f.open.next
	if len(f.watchers) > 0 {
		f.resting++
		time.AfterFunc(pauseFor(len(f.watchers)), f.rested)
	}
}

// handOn lets watchers have at once what was sent so far. It is called with the lock.
func (f *feed) handOn() {
	if len(f.open.list) > 0 {
		f.closeBlock()
		f.wake()
	}
}

// rested wakes those who wait for what came meanwhile: once, however much it is.
func (f *feed) rested() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.resting--; f.resting == 0 && len(f.open.list) > 0 {
		f.wake()
	}
}

// cutOff ends watchers that lag too far behind, and finds out when the next one may. It is
// called with the lock.
func (f *feed) cutOff() {
	f.due = total{f.sent.updates + feedLimit, f.sent.bytes + feedBytes}
	for w := range f.watchers {
		if f.sent.updates-w.read.updates > feedLimit || f.sent.bytes-w.read.bytes > feedBytes {
			f.handOn()
			w.end()
			delete(f.watchers, w)
			continue
		}
		f.due.updates = min(f.due.updates, w.read.updates+feedLimit)
		f.due.bytes = min(f.due.bytes, w.read.bytes+feedBytes)
	}
}

func (f *feed) add(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open, f.watchers = new(block), map[*watcher]struct{}{}
	}
	f.handOn() // what was sent before is not for it
	w.feed, w.at, w.read = f, f.open, f.sent
	if f.closed {
		w.end()
		return
	}
	f.watchers[w] = struct{}{}
}

func (f *feed) remove(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watchers, w)
	w.at = nil
}

func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.closeBlock()
	for w := range f.watchers {
		w.end()
	}
	clear(f.watchers)
}

// wake tells all watchers that there is something. It is called with the lock.
func (f *feed) wake() {
	for w := range f.watchers {
		w.wake()
	}
}

// end lets a watcher read what waits for it, and no more. It is called with the lock.
func (w *watcher) end() {
	w.until = w.feed.open
	w.wake()
}

// put gives a watcher an update before it follows.
func (w *watcher) put(update Update) { w.own = append(w.own, update) }

func (w *watcher) wake() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// pump hands updates to give until an UpdateEnd, the end of the feed, ctx, or false.
func (w *watcher) pump(ctx context.Context, give func(Updates) bool) {
	if len(w.own) > 0 {
		own := Updates{List: w.own}
		w.own = nil
		if !give(own) || ends(own.List) {
			return
		}
	}
	for {
		updates, open := w.take(ctx)
		if len(updates.List) > 0 && !give(updates) || !open || ends(updates.List) {
			return
		}
	}
}

func ends(list []Update) bool {
	return len(list) > 0 && list[len(list)-1].Kind == UpdateEnd
}

// take waits for updates and returns those of a block; false = there will be no more.
func (w *watcher) take(ctx context.Context) (Updates, bool) {
	for {
		updates, open, wait := w.look()
		if !wait {
			return updates, open
		}
		select {
		case <-w.ready:
		case <-ctx.Done():
			return Updates{}, false
		}
	}
}

// look returns what there is; wait = nothing yet: the watcher is woken.
func (w *watcher) look() (updates Updates, open, wait bool) {
	f := w.feed
	if f == nil {
		return Updates{}, false, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	b := w.at
	switch {
	case b == nil || b == w.until:
		return Updates{}, false, false
	case b.next != nil:
	case len(b.list) == 0 || f.resting > 0 && !b.urgent:
		return Updates{}, true, true
	default:
		f.closeBlock()
	}
	w.at = b.next
	w.read.updates, w.read.bytes = w.read.updates+b.size.updates, w.read.bytes+b.size.bytes
	return w.of(b), true, false
}

// of returns what a watcher wants of a block.
func (w *watcher) of(b *block) Updates {
	list := b.updates(len(w.feed.watchers) > 1)
	if !w.noRecords {
		return Updates{List: list, made: &b.made}
	}
	wanted := make([]Update, 0, len(list))
	for _, update := range list {
		if update.Kind != UpdateRecord {
			wanted = append(wanted, update)
		}
	}
	return Updates{List: wanted}
}
