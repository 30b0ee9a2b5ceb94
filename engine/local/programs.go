package local

import (
	"slices"
	"sync"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/plan"
)

// maxPrograms bounds the compiled plans that are kept: a large one takes a few
// MiB.
const maxPrograms = 16

// code is a plan with what it was compiled to. Both are only read, so that all
// runs of the plan share them.
type code struct {
	workflow *plan.Workflow
	program  *interp.Program
}

// programs keeps the plans that were compiled last, by their hash: the runs of
// one workflow compile it once. Safe for concurrent use.
type programs struct {
	mu     sync.Mutex
	making map[string]chan struct{} // what somebody compiles at this moment; closed when it is
	known  map[string]code
	order  []string // hashes, the one used last at the end
}

// of returns the code of a plan; load is asked for a plan that is not known.
func (p *programs) of(hash string, load func() (*plan.Workflow, error)) (code, error) {
	found, made := p.begin(hash)
	if found.program != nil {
		return found, nil
	}
	defer made()
	workflow, err := load()
	if err != nil {
		return code{}, err
	}
	program, err := interp.Compile(workflow)
	if err != nil {
		return code{}, err
	}
	fresh := code{workflow, program}
	p.keep(hash, fresh)
	return fresh, nil
}

// begin returns the code of a plan that is known. Where it is not, the caller makes it and
// calls made when it has. Who asks for what somebody makes already waits for that.
func (p *programs) begin(hash string) (found code, made func()) {
	if hash == "" {
		return code{}, func() {} // not content-addressed
	}
	p.mu.Lock()
	other := p.making[hash]
	if _, ok := p.known[hash]; other == nil && !ok {
		if p.making == nil {
			p.making = map[string]chan struct{}{}
		}
		done := make(chan struct{})
		p.making[hash] = done
		p.mu.Unlock()
		return code{}, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.making, hash)
			close(done)
		}
	}
	p.mu.Unlock()
	if other != nil {
		<-other
	}
	found, _ = p.lookup(hash)
	return found, func() {}
}

// Plan returns the plan of a hash where a run of it was driven lately; nil otherwise. It
// must not be changed.
func (d *Driver) Plan(hash string) *plan.Workflow {
	found, _ := d.programs.lookup(hash)
	return found.workflow
}

func (p *programs) lookup(hash string) (code, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.known[hash]
	if ok {
		p.use(hash)
	}
	return found, ok
}

func (p *programs) keep(hash string, c code) {
	if hash == "" {
		return // not content-addressed: another plan may come without a hash
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]code{}
	}
	p.known[hash] = c
	p.use(hash)
	if len(p.order) > maxPrograms {
		delete(p.known, p.order[0])
		p.order = p.order[1:]
	}
}

// use moves a hash to the end. p.mu is held.
func (p *programs) use(hash string) {
	if i := slices.Index(p.order, hash); i >= 0 {
		p.order = slices.Delete(p.order, i, i+1)
	}
	p.order = append(p.order, hash)
}

// newMachine returns a Machine of a program that has not begun.
func (d *Driver) newMachine(program *interp.Program) *interp.Machine {
	machine := program.NewMachine()
	machine.KeepDecoded(d.options.DecodedBytes)
	return machine
}
