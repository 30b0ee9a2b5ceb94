package trigger

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/store"
)

// signatureBucket is the store's bucket of the signatures whose time is good still.
const signatureBucket = "hook_signatures"

// hookEvent is what a request counts as: the same event is the same run.
type hookEvent struct {
	id    string // "" = each request is an event of its own
	dated bool   // it is a key, which counts for a day
}

// eventOf tells which event a request is. With a signed time the first request with
// a signature decides: `dedupe` may read headers that nobody has signed, and a copy
// with another one must not be another event (docs/triggers.md). That is stored
// before the run, so that it holds after a crash too.
func (tr *Triggers) eventOf(rev *inforce.Revision, t *plan.Trigger, key string, sender hookSender, now time.Time) (hookEvent, error) {
	event := hookEvent{}
	switch {
	case key != "":
		event = hookEvent{id: requestIDOf("hook", rev.Name(), t.Name, "key "+key), dated: true}
	case sender.replay != "":
		event.id = requestIDOf("hook", rev.Name(), t.Name, "signature "+sender.replay)
	}
	if sender.replay == "" {
		return event, nil
	}
	// The time is signed, so that the same signature has the same row.
	row := fmt.Sprintf("%012d %s", sender.at.Unix(), requestIDOf("signature", rev.Name(), t.Name, sender.replay))
	first, err := tr.signatureRow(row)
	if err != nil || first != nil {
		return eventOr(first, event), err
	}
	if t.Webhook.Dedupe == nil {
		return event, nil // the signature is the event
	}
	tr.dropSignatures(now)
	absent, value := uint64(0), "signature "+event.id
	if event.dated {
		value = "key " + event.id
	}
	_, err = tr.store.KV().Put(signatureBucket, row, []byte(value), &absent)
	if errors.Is(err, store.ErrConflict) { // another request was faster
		first, err = tr.signatureRow(row)
		return eventOr(first, event), err
	}
	return event, tr.fault(err)
}

func eventOr(known *hookEvent, event hookEvent) hookEvent {
	if known != nil {
		return *known
	}
	return event
}

// signatureRow reads which event a signature belongs to; nil where it is new.
func (tr *Triggers) signatureRow(row string) (*hookEvent, error) {
	value, _, ok, err := tr.store.KV().Get(signatureBucket, row)
	if err != nil || !ok {
		return nil, tr.fault(err)
	}
	kind, id, _ := strings.Cut(string(value), " ")
	return &hookEvent{id: id, dated: kind == "key"}, nil
}

// dropSignatures forgets those whose time is over, once a minute. One that stays
// longer does no harm.
func (tr *Triggers) dropSignatures(now time.Time) {
	minute := now.Unix() / 60
	if tr.signaturesDropped.Swap(minute) == minute {
		return
	}
	over := fmt.Sprintf("%012d", now.Add(-2*hookWindow).Unix())
	if err := tr.store.KV().DeleteBefore(signatureBucket, over); err != nil {
		tr.config.Log.Warn("old signatures of webhooks not removed", "error", err)
	}
}
