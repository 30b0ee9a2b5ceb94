package simulation

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/journal"
)

// services is the outside: what was sent, and what took effect.
type services struct {
	sim  *sim
	sent map[string]int // how often an operation was sent; for the answers of a world that is not calm
	log  map[string]*sendings
}

// sendings are those of one operation.
type sendings struct {
	effect  string
	reached int
	applied int
	lost    int  // by crashes
	here    bool // the last sending reached the service
	last    asked
}

func (x *services) of(path, effect string) *sendings {
	if x.log[path] == nil {
		x.log[path] = &sendings{effect: effect}
	}
	return x.log[path]
}

func (x *services) ask(command journal.Command) asked {
	c := command.Call
	var input struct{ N int }
	if err := json.Unmarshal(c.Input, &input); err != nil {
		violated("input of %s: %v", command.Path, err)
	}
	a := asked{
		path: command.Path, action: c.Action, attempt: c.Attempt, checkpoint: string(c.Checkpoint), cursor: c.PageCursor, n: input.N, era: x.sim.era,
	}
	if !x.sim.c.flow.calm {
		x.sent[command.Path]++
		a.sending = x.sent[command.Path]
	}
	return a
}

func (x *services) reached(command journal.Command, a asked) {
	log := x.of(command.Path, string(command.Call.Effect))
	log.reached++
	log.last, log.here = a, true
	if command.Call.Effect.Writes() && x.sim.world.happened(a) {
		log.applied++
	}
}

func (x *services) child(command journal.Command) { x.of(command.Path, "child").reached++ }

// lost notes a call that the crash cut off.
func (x *services) lost(command journal.Command) {
	x.of(command.Path, string(command.Call.Effect)).lost++
}
