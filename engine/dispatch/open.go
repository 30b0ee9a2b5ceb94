package dispatch

import (
	"context"
	"sync"
	"time"
)

// whileOpen bounds a wait that comes before a call is sent: it ends when a
// graceful stop begins.
func (d *Dispatcher) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	open := &openContext{call: ctx, admission: d.admission}
	return open, open.end
}

// openContext is the context of a call until admission ends. Most calls wait for nothing
// and never ask for Done, which is what costs something.
type openContext struct {
	call, admission context.Context

	mu      sync.Mutex
	bounded context.Context // nil = nobody has asked for Done
	stop    func()
	ended   bool
}

func (c *openContext) Deadline() (time.Time, bool) { return c.call.Deadline() }

func (c *openContext) Value(key any) any { return c.call.Value(key) }

func (c *openContext) Done() <-chan struct{} { return c.whole().Done() }

func (c *openContext) Err() error {
	if err := c.call.Err(); err != nil {
		return err
	}
	if c.admission.Err() != nil {
		return context.Canceled
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return context.Canceled
	}
	return nil
}

// whole makes the context that has Done, once.
func (c *openContext) whole() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bounded != nil {
		return c.bounded
	}
	bounded, cancel := context.WithCancel(c.call)
	stop := context.AfterFunc(c.admission, cancel)
	c.bounded, c.stop = bounded, func() {
		stop()
		cancel()
	}
	if c.ended {
		c.stop()
	}
	return bounded
}

// end frees what Done has made.
func (c *openContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.stop != nil {
		c.stop()
	}
}
