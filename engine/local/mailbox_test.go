package local

import (
	"testing"

	"github.com/flowrun/flowrun/engine/journal"
)

func TestAClosedMailboxReturnsWhatWasNotTaken(t *testing.T) {
	m := newMailbox(nil, nil)
	if !m.put(message{stop: true}) {
		t.Fatal("an open mailbox refused a message")
	}
	if got := m.take(); len(got) != 1 || !got[0].stop {
		t.Fatalf("took %+v", got)
	}
	m.put(message{event: &journal.Event{Kind: journal.CancelRun}})
	left := m.close()
	if len(left) != 1 || left[0].event.Kind != journal.CancelRun {
		t.Errorf("left = %+v", left)
	}
	if m.put(message{stop: true}) {
		t.Error("a closed mailbox took a message")
	}
}
