package local

import (
	"context"
	"fmt"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
)

// Decide makes an event of how a run stands, or an error that is passed on. held
// says that the run is not driven and that nothing may follow from the event
// until it is.
type Decide func(m *interp.Machine, held bool) (*journal.Event, error)

// Decide gives a run what a person decided and returns when that is durable. A
// driven run goes on by it at once. For a run that nobody drives, hold says that
// it is only recorded, for the next Load to go by; else the run is driven. It
// reports whether the event was only recorded.
func (d *Driver) Decide(ctx context.Context, id string, hold bool, decide Decide) (ok bool, err error) {
	for {
		r := d.driven(id)
		if r == nil {
			held, driven, err := d.decideUndriven(ctx, id, hold, decide)
			if driven {
				continue
			}
			return held, err
		}
		asked := &decision{make: decide, done: make(chan error, 1)}
		r.mail.put(message{decide: asked})
		select {
		case err := <-asked.done:
			return false, err
		case <-r.ended:
			select {
			case err := <-asked.done:
				return false, err
			default: // it ended before it read the message
			}
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// decision is an event that is still to be made, on the run's worker.
type decision struct {
	make Decide
	done chan error // gets the one answer; it never blocks
}

// decided applies a decision on the run's worker; it is answered when durable.
func (r *run) decided(asked *decision) {
	event, err := asked.make(r.Machine, false)
	if err != nil {
		asked.done <- err
		return
	}
	r.take(*event, nil)
	r.inspectors = append(r.inspectors, func(*run) { asked.done <- nil })
	r.serveInspectors()
}

// decideUndriven is Decide for a run that nobody drives. driven = somebody does by now, and
// nothing was decided.
func (d *Driver) decideUndriven(ctx context.Context, id string, hold bool, decide Decide) (held, driven bool, err error) {
	r, event, err := d.decideStored(id, hold, decide)
	if r == nil {
		return false, err == nil, err
	}
	if hold {
		defer d.release(r)
		r.stopping = true // nothing is delivered to the next worker by the release
		return true, false, r.record(*event)
	}
	if err := d.drive(r, event); err != nil {
		return false, false, err
	}
	return false, false, d.awaitDurable(ctx, id, event)
}

// decideStored makes an event of how a stored run stands, and registers the run; nil where
// somebody drives it.
func (d *Driver) decideStored(id string, hold bool, decide Decide) (*run, *journal.Event, error) {
	defer d.claims.take(id)()
	if d.Driven(id) {
		return nil, nil, nil
	}
	r, err := d.replay(id)
	if err != nil {
		return nil, nil, err
	}
	event, err := decide(r.Machine, hold)
	if err != nil {
		return nil, nil, err
	}
	if err := d.reserve(r); err != nil {
		return nil, nil, err
	}
	return r, event, nil
}

// record stores an event of a run that is not driven. Its commands wait for the
// next Load, which dispatches what is in flight.
func (r *run) record(event journal.Event) error {
	event.At = r.driver.now()
	applied, err := r.applyEvent(event)
	if err != nil {
		return fmt.Errorf("run %s: apply %s %s: %w", r.row.ID, event.Kind, event.Path, err)
	}
	r.updateRow(event.At)
	row, stored := r.row, make(chan error, 1)
	r.driver.options.Journal.Append(row.ID, []*journal.Record{applied.record}, &row, applied.logs, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		return fmt.Errorf("store journal of run %s: %w", row.ID, err)
	}
	return nil
}

// catchUp lets take effect what was recorded while nobody drove the run. A
// resumed event does so by itself.
func (r *run) catchUp(event *journal.Event) {
	if r.Releases(event) {
		r.handle(message{event: &journal.Event{Kind: journal.Driven}})
	}
}

// Busy returns how many driven runs do more than wait for people or signals.
func (d *Driver) Busy() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	busy := 0
	for _, r := range d.runs {
		if !r.forPeople.Load() {
			busy++
		}
	}
	return busy
}

// noteWaits remembers whether only people can let the run go on, and tells the
// parent's run of a change.
func (r *run) noteWaits() {
	now := r.Machine.ForPeople(r.waitingChildren())
	if now == r.forPeople.Load() {
		return
	}
	r.forPeople.Store(now)
	if parent := r.row.Parent; parent != nil {
		if above := r.driver.driven(parent.Run); above != nil {
			above.mail.put(message{childWaits: &childWaits{path: parent.Path, step: parent.Step, waits: now}})
		}
	}
}
