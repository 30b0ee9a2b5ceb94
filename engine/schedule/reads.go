package schedule

import (
	"sync"

	"github.com/flowrun/flowrun/engine/plan"
)

// Reads keeps schedules that were read, since lists ask for all of them
// each time. The zero value is ready; safe for concurrent use.
type Reads struct {
	mu       sync.Mutex
	triggers map[readKey]*Trigger
}

type readKey struct {
	id string
	plan.Schedule
}

// maxReads bounds what is kept: past it all is read again.
const maxReads = 10_000

// Read is the function Read, of a trigger with an id.
func (r *Reads) Read(id string, s plan.Schedule) (*Trigger, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := readKey{id, s}
	if trigger := r.triggers[key]; trigger != nil {
		return trigger, nil
	}
	t, err := Read(id, &s)
	if err != nil {
		return nil, err
	}
	if r.triggers == nil || len(r.triggers) >= maxReads {
		r.triggers = map[readKey]*Trigger{}
	}
	r.triggers[key] = t
	return t, nil
}
