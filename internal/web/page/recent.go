package page

import (
	"context"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
)

// How long the first page shows what it knows before it asks again. With a
// thousand workflows each of these takes longer than the rest of the page, and
// the state of a login costs a call of its plugin.
const (
	brokenKept    = 5 * time.Second
	schedulesKept = 2 * time.Second
	linksKept     = time.Minute
)

// kept is an answer as it was a moment ago. Safe for concurrent use.
type kept[T any] struct {
	read  func(context.Context) (T, error)
	age   time.Duration // how old an answer may be
	now   func() time.Time
	start func(func(context.Context)) // runs what goes on after a request; nil = there is none
	later bool                        // nobody waits for the first answer either

	mu    sync.Mutex
	at    time.Time // of the answer; zero = there is none
	busy  bool
	value T
}

// get returns what is known, and asks anew when that is old: behind the request
// where there is something that goes on after it. After an error the next one
// asks again.
func (k *kept[T]) get(ctx context.Context) (T, error) {
	value, _, err := k.look(ctx, false)
	return value, err
}

// look is get with the time of the answer; fresh asks for a new one.
func (k *kept[T]) look(ctx context.Context, fresh bool) (T, time.Time, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	age, ok := k.now().Sub(k.at), !k.at.IsZero() && !fresh
	switch {
	case k.busy, ok && age >= 0 && age < k.age:
		return k.value, k.at, nil
	case (ok || k.later) && k.start != nil:
		k.busy = true
		k.start(k.renew)
		return k.value, k.at, nil
	}
	value, err := k.read(ctx)
	if err == nil {
		k.value, k.at = value, k.now()
	}
	return value, k.at, err
}

// renew asks while nobody waits.
func (k *kept[T]) renew(ctx context.Context) {
	value, err := k.read(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy = false
	if err == nil {
		k.value, k.at = value, k.now()
	}
}

// known is what the first page keeps between requests, and that of the system: a count
// of the store, which reads all of it.
type known struct {
	broken    kept[[]engine.WorkflowInfo]
	schedules kept[[]trigger.ScheduleItem]
	links     kept[[]workspace.ConnectionStatus]
	stats     kept[*upkeep.DBStats]
}

func newKnown(o Options) *known {
	return &known{
		broken: kept[[]engine.WorkflowInfo]{age: brokenKept, now: o.Now, start: o.Go, read: func(ctx context.Context) ([]engine.WorkflowInfo, error) {
			return brokenFiles(ctx, o.Engine)
		}},
		schedules: kept[[]trigger.ScheduleItem]{age: schedulesKept, now: o.Now, start: o.Go, read: func(ctx context.Context) ([]trigger.ScheduleItem, error) {
			return o.Engine.Schedules(ctx)
		}},
		links: kept[[]workspace.ConnectionStatus]{age: linksKept, now: o.Now, start: o.Go, later: true, read: func(ctx context.Context) ([]workspace.ConnectionStatus, error) {
			return o.Engine.ListConnections(ctx), nil
		}},
		stats: kept[*upkeep.DBStats]{age: countedFor, now: o.Now, read: func(ctx context.Context) (*upkeep.DBStats, error) { return o.Engine.DBStats(ctx) }},
	}
}

// brokenFiles are the workflow files with errors.
func brokenFiles(ctx context.Context, workflows Workflows) ([]engine.WorkflowInfo, error) {
	all, err := workflows.WorkflowList(ctx)
	var infos []engine.WorkflowInfo
	for i := range all {
		if all[i].Problems.HasErrors() {
			infos = append(infos, all[i])
		}
	}
	return infos, err
}
