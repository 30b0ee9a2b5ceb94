package killloop

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/suitesize"
)

const (
	exactWorkers = 3 // crashes that are tried at a time
	shownPlaces  = 5 // what went wrong at more places is only counted
)

// outcome is what a run leaves: its status, outputs, the memory of its workflow,
// and how often each effect happened.
type outcome struct {
	Status  runs.Status
	Outputs string
	State   map[string]string
	Cursor  string
	Effects map[string]int
}

// exact crashes one flow at its commits. Its workers share nothing.
type exact struct {
	t        *testing.T
	flow     flow
	template string // a project whose plugin is described already
	lying    bool
	want     outcome
	stages   int // of a run that nobody kills
	services chan *counter
}

// newExact runs the flow once without a crash.
func newExact(t *testing.T, f flow, lying bool) *exact {
	t.Helper()
	x := &exact{t: t, flow: f, lying: lying, services: make(chan *counter, exactWorkers)}
	for range exactWorkers {
		x.services <- newCounter(t, random(1, "exact"), 0)
	}
	service := <-x.services
	defer func() { x.services <- service }()
	x.template = t.TempDir()
	if lying {
		copyPlans(t, makePlans(t, service, []flow{f}), x.template, []flow{f})
	}
	p := &crash{exact: x, service: service, dir: x.project(service, true), ledger: newLedger([]flow{f})}
	service.reset()
	var ended bool
	if x.stages, ended = p.run(0); !ended {
		t.Fatalf("%s does not end without a crash: %v", f.name, p.problems)
	}
	var err error
	if x.want, err = p.outcome(); err != nil || x.want.Status != runs.RunSucceeded || len(p.problems) > 0 {
		t.Fatalf("%s without a crash: %+v, %v, %v", f.name, x.want, err, p.problems)
	}
	return x
}

// project makes a project on a service. The first one is the template.
func (x *exact) project(service *counter, first bool) string {
	x.t.Helper()
	dir := x.template
	if !first {
		dir = x.t.TempDir()
		plugins := filepath.Join("state", "plugins")
		if err := os.CopyFS(filepath.Join(dir, plugins), os.DirFS(filepath.Join(x.template, plugins))); err != nil {
			x.t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, "state"), 0o700); err != nil {
			x.t.Fatal(err)
		}
		if x.lying {
			copyPlans(x.t, x.template, dir, []flow{x.flow})
		}
	}
	writeProject(x.t, dir, service.URL, "", []flow{x.flow})
	return dir
}

// crash is one run of the flow with its crashes.
type crash struct {
	*exact
	service  *counter
	dir      string
	ledger   *ledger
	cycle    int
	problems []string
}

// run starts an engine that asks for the run, or goes on with it, and dies at a
// stage; 0 = it does not. It reports how many stages there were, and whether it
// ended by itself.
func (c *crash) run(dieAt int) (stages int, ended bool) {
	c.cycle++
	c.service.begin(c.cycle, 0)
	child := startChild(c.t, role{
		Dir: c.dir, URL: c.service.URL, Requests: []request{{ID: "x", Flow: c.flow.name}}, Parallel: 1, DieAt: dieAt, Lying: c.lying,
	}, nil)
	lines, err := child.wait(c.t, childLimit)
	c.ledger.note(lines)
	c.problems = append(c.problems, pluginsLeft(c.t, c.dir)...)
	c.service.settle(c.t)
	c.problems = append(c.problems, checkStore(c.t, c.dir, c.ledger, c.service, c.cycle, err == nil)...)
	if err != nil {
		if dieAt == 0 {
			c.problems = append(c.problems, fmt.Sprintf("the engine ended with %v: %s", err, child.stderr.String()))
		}
		return 0, false
	}
	for _, said := range lines {
		if said.Kind == lineStages {
			stages = said.N
		}
	}
	return stages, true
}

// outcome reads what the run has left.
func (c *crash) outcome() (o outcome, err error) {
	store, err := boltstore.Open(filepath.Join(c.dir, "state", "flowrun.db"), boltstore.Options{InitialMmapSize: 64 << 20})
	if err != nil {
		return o, err
	}
	defer store.Close()
	o = outcome{Effects: c.service.effects(), State: map[string]string{}}
	row, err := store.Run(c.ledger.accepted["x"])
	if err != nil {
		return o, err
	}
	o.Status = row.Status
	records, err := store.Records(row.ID, 0, 0)
	if err != nil {
		return o, err
	}
	o.Outputs = outputsOf(records)
	values, err := store.State(c.flow.name)
	if err != nil {
		return o, err
	}
	for _, value := range values {
		o.State[value.Name] = fmt.Sprintf("%s version %d", value.Value, value.Version)
	}
	cursors, err := store.Cursors(c.flow.name, "")
	if err != nil {
		return o, err
	}
	for _, cursor := range cursors {
		at, err := watermark(store, keyFile(c.dir), cursor.Value)
		if err != nil {
			return o, err
		}
		o.Cursor += fmt.Sprintf("%s %s version %d\n", cursor.Name, at, cursor.Version)
	}
	return o, nil
}

func outputsOf(records []*journal.Record) (outputs string) {
	for _, record := range records {
		for _, command := range record.Commands {
			if command.Finish != nil && command.Finish.Status == runs.RunSucceeded {
				encoded, _ := json.Marshal(command.Finish.Outputs) // read from JSON
				outputs = string(encoded)
			}
		}
	}
	return outputs
}

// try crashes a run at the given stages, one engine after the other, and lets the
// last one end. It returns what is wrong, and how many of the crashes happened.
func (x *exact) try(dieAt ...int) (problems []string, crashes int) {
	service := <-x.services
	defer func() { x.services <- service }()
	service.reset()
	c := &crash{exact: x, service: service, dir: x.project(service, false), ledger: newLedger([]flow{x.flow})}
	defer os.RemoveAll(c.dir)
	ended := false
	for _, at := range dieAt {
		if _, ended = c.run(at); ended {
			break
		}
		crashes++
	}
	if !ended {
		c.run(0)
	}
	got, err := c.outcome()
	if err != nil {
		c.problems = append(c.problems, err.Error())
	}
	if !reflect.DeepEqual(got, x.want) {
		c.problems = append(c.problems, fmt.Sprintf("it ended as %+v, without a crash as %+v", got, x.want))
	}
	return c.problems, crashes
}

// all tries crashes at many places at a time and returns what is wrong, by
// place, and how many crashes there were.
func (x *exact) all(places [][]int) (wrong []string, crashes int) {
	var mu sync.Mutex
	var running sync.WaitGroup
	free := make(chan struct{}, exactWorkers)
	for _, place := range places {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			problems, crashed := x.try(place...)
			mu.Lock()
			defer mu.Unlock()
			crashes += crashed
			if len(problems) > 0 {
				wrong = append(wrong, fmt.Sprintf("%s, crashes at the stages %v:\n  %s", x.flow.name, place, strings.Join(problems, "\n  ")))
			}
		})
	}
	running.Wait()
	if len(wrong) > shownPlaces {
		wrong = append(wrong[:shownPlaces], fmt.Sprintf("... and %d more places", len(wrong)-shownPlaces))
	}
	return wrong, crashes
}

// TestP1CrashesAtEachCommitLeaveNoTrace kills the engine before and after each
// commit of a run: it always ends with the same outputs and the same multiset of
// effects. FLOWRUN_EXACT_FLOWS=n tries every stage of n flows; without it a few
// of one flow.
func TestP1CrashesAtEachCommitLeaveNoTrace(t *testing.T) {
	t.Parallel()
	seed := testSeed(t)
	flows, short := exactFlows(), os.Getenv("FLOWRUN_EXACT_FLOWS") == ""
	wanted := suitesize.Of(t, "FLOWRUN_EXACT_FLOWS", 1)
	for n := len(flows); n < wanted; n++ {
		flows = append(flows, generatedFlow(random(seed, fmt.Sprint("flow", n)), n))
	}
	var tried atomic.Int64
	for _, f := range flows[:wanted] {
		x := newExact(t, f, false)
		// A later run may commit in other groups: the stages beyond those of the first
		// are tried too, until none is reached.
		places := stagesUpTo(x.stages + 6)
		if short {
			places = sampled(random(seed, "stages"), places, 6)
		}
		wrong, crashes := x.all(places)
		tried.Add(int64(crashes))
		t.Logf("%s: %d stages, %d crashes, %d effects", f.name, x.stages, crashes, len(x.want.Effects))
		if len(wrong) > 0 {
			t.Fatalf("seed %d:\n%s\n%s", seed, strings.Join(wrong, "\n"), f.source)
		}
	}
	t.Logf("%d flows, %d crashes, seed %d", wanted, tried.Load(), seed)
}

// TestP1CrashesDuringTheResumeLeaveNoTrace kills the engine that goes on after a
// crash too. FLOWRUN_EXACT_PAIRS=all tries all pairs of stages of a small flow.
func TestP1CrashesDuringTheResumeLeaveNoTrace(t *testing.T) {
	t.Parallel()
	seed := testSeed(t)
	x := newExact(t, flow{name: "small", source: smallFlow}, false)
	var pairs [][]int
	for first := 1; first <= x.stages+2; first++ {
		for second := 1; second <= x.stages+6; second++ {
			pairs = append(pairs, []int{first, second})
		}
	}
	if os.Getenv("FLOWRUN_EXACT_PAIRS") != "all" {
		pairs = sampled(random(seed, "pairs"), pairs, 4)
	}
	wrong, crashes := x.all(pairs)
	t.Logf("%d pairs of %d stages, %d crashes, seed %d", len(pairs), x.stages, crashes, seed)
	if len(wrong) > 0 {
		t.Errorf("seed %d:\n%s", seed, strings.Join(wrong, "\n"))
	}
}

// TestP4ControlExactCrashesFindEarlyEffects is the negative control.
func TestP4ControlExactCrashesFindEarlyEffects(t *testing.T) {
	t.Parallel()
	seed := testSeed(t)
	x := newExact(t, flow{name: "mixed", source: mixedFlow}, true)
	wrong, crashes := x.all(sampled(random(seed, "control"), stagesUpTo(x.stages), 6))
	t.Logf("%d crashes, found out at %d places or more", crashes, len(wrong))
	if len(wrong) == 0 {
		t.Errorf("effects were sent before their intent was durable, and %d crashes did not show it", crashes)
	}
}

func stagesUpTo(n int) (places [][]int) {
	for at := 1; at <= n; at++ {
		places = append(places, []int{at})
	}
	return places
}

// exactFlows are those with names; more are generated.
func exactFlows() []flow {
	named := map[string]flow{}
	for _, f := range loopFlows() {
		named[f.name] = f
	}
	flows := []flow{{name: "twelve", source: twelveFlow}, named["parent"], named["people"], named["feed"], named["fan"]}
	for i := range flows {
		flows[i].effects = nil // all are compared with those of the first run
	}
	return flows
}

// sampled picks n of the places, in their order.
func sampled[T any](source interface{ Perm(n int) []int }, places []T, n int) (picked []T) {
	chosen := map[int]bool{}
	for _, i := range source.Perm(len(places))[:min(n, len(places))] {
		chosen[i] = true
	}
	for _, i := range slices.Sorted(maps.Keys(chosen)) {
		picked = append(picked, places[i])
	}
	return picked
}
