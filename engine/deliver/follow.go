package deliver

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Follow sends out what is due, until ctx ends: what the process before has left, what
// Take notes, and what is to be tried again.
func (d *Deliveries) Follow(ctx context.Context) {
	open, err := store.OpenDeliveries(d.store.KV())
	if err != nil {
		d.warn("deliveries not read", err)
	}
	for i := range open {
		d.plan(&open[i])
	}
	var group sync.WaitGroup
	defer group.Wait()
	slots := make(chan struct{}, atOnce)
	for ctx.Err() == nil {
		next, wait := d.next()
		if next == nil {
			d.await(ctx, wait)
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		group.Go(func() {
			defer func() { <-slots }()
			d.attempt(ctx, next.run, next.id, nil)
		})
	}
}

// plan notes when a delivery is due.
func (d *Deliveries) plan(one *runs.Delivery) {
	key := one.Run + "/" + one.ID
	d.mu.Lock()
	defer d.mu.Unlock()
	if one.State.Over() {
		delete(d.due, key)
		return
	}
	at := one.CreatedAt // of one that was under way when its process died: at once
	if one.NextAt != nil {
		at = *one.NextAt
	}
	d.due[key] = due{run: one.Run, id: one.ID, at: at}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// next takes the delivery that is due first; nil where none is, with how long that takes: 0
// = for ever.
func (d *Deliveries) next() (first *due, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.due {
		if first == nil || one.at.Before(first.at) {
			first = &one
		}
	}
	if first == nil {
		return nil, 0
	}
	if wait = first.at.Sub(d.config.Now()); wait > 0 {
		return nil, wait
	}
	delete(d.due, first.run+"/"+first.id)
	return first, 0
}

func (d *Deliveries) await(ctx context.Context, wait time.Duration) {
	var late <-chan time.Time
	if wait > 0 {
		late = d.after(wait)
	}
	select {
	case <-d.wake:
	case <-late:
	case <-ctx.Done():
	}
}

// enter waits until nobody else attempts a delivery, and holds it; leave must be called.
func (d *Deliveries) enter(ctx context.Context, key string) (leave func(), waited bool, err error) {
	for {
		d.mu.Lock()
		other := d.flying[key]
		if other == nil {
			own := make(chan struct{})
			d.flying[key] = own
			d.mu.Unlock()
			return func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				delete(d.flying, key)
				close(own)
			}, waited, nil
		}
		d.mu.Unlock()
		waited = true
		select {
		case <-other:
		case <-ctx.Done():
			return nil, waited, ctx.Err()
		}
	}
}

func (d *Deliveries) warn(text string, err error, args ...any) {
	if !errors.Is(err, store.ErrClosed) && !errors.Is(err, store.ErrFailed) {
		d.config.Log.Warn(text, append(args, "error", err)...)
	}
}
