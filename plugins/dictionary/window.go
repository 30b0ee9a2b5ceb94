package dictionary

import (
	"errors"
	"sync"
	"time"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
)

// window is the documented length of the limit's window (D-18).
const window = time.Minute

// windows remembers for each base_url when its current window began as seen from
// here: at the first request after the last one was over. The service says
// neither how long a 429 lasts nor when its window began, so that the rest of
// ours is the best guess (D-18). Safe for concurrent use.
type windows struct {
	now     func() time.Time
	longest time.Duration // rest that is waited for

	mu     sync.Mutex
	starts map[string]time.Time
}

func newWindows(now func() time.Time, longest time.Duration) *windows {
	return &windows{now: now, longest: longest, starts: map[string]time.Time{}}
}

// sent notes a request to base.
func (w *windows) sent(base string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if start, ok := w.starts[base]; !ok || now.Sub(start) >= window || now.Before(start) {
		w.starts[base] = now
	}
}

// rest returns how long the window of base still lasts: at least a second, so
// that nobody comes back at once, and at most the longest that is waited for.
func (w *windows) rest(base string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return min(max(w.starts[base].Add(window).Sub(w.now()), time.Second), w.longest)
}

// around stands around every request: a 429 that does not say how long it lasts waits for
// the rest of the window (D-18).
func (w *windows) around(c *sdk.Call[Config], input sdk.Members, ask func(sdk.Members) (recipe.Reply, error)) (sdk.Value, error) {
	w.sent(c.Config.BaseURL)
	found, err := ask(input)
	if failure, ok := errors.AsType[*sdk.Error](err); ok && failure.Code == sdk.CodeRateLimited && failure.RetryAfter == 0 {
		failure.RetryAfter = w.rest(c.Config.BaseURL)
	}
	return found.Output, err
}
