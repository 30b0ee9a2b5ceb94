package trigger

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schedule"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// What the tests of whole engines see of the triggers in them.

type (
	OutboxReader  = outboxReader
	NotFiredError = notFiredError
)

const (
	ReaderOfTriggers = outboxTriggers
	ReaderOfNotices  = outboxNotices
	MaxAfterDepth    = maxAfterDepth
	MaxHookBody      = maxHookBody
	HookWindow       = hookWindow
	SignatureBucket  = signatureBucket
	BackfillBucket   = backfillBucket
)

func NoticeDelays() []time.Duration { return noticeDelays() }

func (tr *Triggers) Store() store.Store                      { return tr.store }
func (tr *Triggers) Revisions() *inforce.Revisions           { return tr.revisions }
func (tr *Triggers) Project() *workspace.Workspace           { return tr.project }
func (tr *Triggers) Runs() Runs                              { return tr.runs }
func (tr *Triggers) Background() bool                        { return tr.background.On() }
func (tr *Triggers) CountFailures(e runs.OutboxEntry) error  { return tr.countFailures(e) }
func (tr *Triggers) NewestEntry() (uint64, error)            { return tr.newestEntry() }
func (tr *Triggers) OutboxPlace(name string) (uint64, error) { return tr.outboxPlace(name) }
func (tr *Triggers) OutboxReaders() ([]*outboxReader, error) { return tr.outboxReaders() }

func (tr *Triggers) ScheduledItems(ctx context.Context) ([]schedule.Item, error) {
	return tr.scheduler.items(ctx)
}

// ChangeReaders lets change see the readers of the outbox before they run.
func (tr *Triggers) ChangeReaders(change func([]*outboxReader)) {
	tr.readers = func() ([]*outboxReader, error) {
		readers, err := tr.outboxReaders()
		change(readers)
		return readers, err
	}
}

func (tr *Triggers) FireAfter(ctx context.Context, entry runs.OutboxEntry, skip string) error {
	return tr.fireAfter(ctx, entry, skip)
}

func (tr *Triggers) StartTriggered(ctx context.Context, rev *inforce.Revision, name string, at time.Time, roots map[string]any) error {
	_, _, err := tr.startTriggered(ctx, firing{rev: rev, trigger: rev.Trigger(name), at: at, roots: roots, fire: &runs.Fire{}})
	return err
}

func (tr *Triggers) Poll(ctx context.Context, rev *inforce.Revision, name string) ([]string, error) {
	return tr.poll(ctx, rev, rev.Trigger(name), "")
}

func (tr *Triggers) PollNow(ctx context.Context, rev *inforce.Revision, name, by string) ([]string, error) {
	return tr.pollNow(ctx, rev, rev.Trigger(name), by)
}

func (tr *Triggers) PollRow(workflow, name string) (*pollRow, error) {
	return tr.pollRow(workflow, name)
}
func (tr *Triggers) PutPollRow(workflow, name string, row *pollRow) error {
	return tr.putPollRow(workflow, name, row)
}

// NewReader is a reader of the outbox that hands on what SetTake says.
func NewReader(tr *Triggers, name string, after func(time.Duration) <-chan time.Time) *outboxReader {
	return &outboxReader{triggers: tr, name: name, others: &outboxPlaces{places: map[string]uint64{}}, wake: make(chan struct{}), after: after}
}

func (r *outboxReader) SetTake(take func(context.Context, runs.OutboxEntry, string) error) {
	r.take = take
}
func (r *outboxReader) SetAfter(after func(time.Duration) <-chan time.Time) { r.after = after }
func (r *outboxReader) SetPlace(place, stored uint64)                       { r.position, r.stored = place, stored }
func (r *outboxReader) SetBegin(begin uint64)                               { r.begin = begin }
func (r *outboxReader) Skip(entry runs.OutboxEntry) string                  { return r.skip(entry) }
func (r *outboxReader) Note()                                               { r.note() }
func (r *outboxReader) Run(ctx context.Context)                             { r.run(ctx) }

// NewNotices tells the first target of the project.
func NewNotices(tr *Triggers, after func(time.Duration) <-chan time.Time) *notices {
	return &notices{triggers: tr, target: &tr.project.Declared().Notify[0], after: after}
}

func (n *notices) Known(workflow string) (noticeState, error) { return n.known(workflow) }
func (n *notices) Take(ctx context.Context, entry runs.OutboxEntry, skip string) error {
	return n.take(ctx, entry, skip)
}
