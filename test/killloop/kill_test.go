package killloop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/internal/suitesize"
)

// Sizes of a kill loop.
const (
	killLoops   = 2  // that run at a time, each on a store of its own
	storeCycles = 50 // cycles on one store; then all its runs are ended and compared
	openRuns    = 6  // runs that a child drives at a time
	wantedRuns  = 12 // runs that each cycle adds to what is asked for
	latestKill  = 400 * time.Millisecond
	childLimit  = 2 * time.Minute // for a child that is not killed
)

// killLoop kills engines on one store after the other.
type killLoop struct {
	t       *testing.T
	random  *rand.Rand
	service *counter
	flows   []flow
	lying   bool
	plans   string // where the control's plans are

	dir    string
	ledger *ledger
	asked  []request
	total  figures
}

// Where a problem says t.Fatal, a helper of the loop runs on another goroutine:
// FailNow then ends that goroutine alone, and the test fails all the same.

// TestP1NothingAcknowledgedIsLostByKills kills the whole engine at random moments
// and compares what it acknowledged with what is there: P1 to P7.
func TestP1NothingAcknowledgedIsLostByKills(t *testing.T) {
	t.Parallel()
	cycles := suitesize.Of(t, "FLOWRUN_KILL_CYCLES", 20)
	seed := testSeed(t)
	began := time.Now()
	loops := make(chan *killLoop, killLoops)
	for n := range killLoops { // most of a cycle is waiting
		loops <- newKillLoop(t, seed, n, loopFlows())
	}
	var running sync.WaitGroup
	for done := 0; done < cycles && !t.Failed(); done += storeCycles {
		loop := <-loops
		running.Go(func() {
			defer func() { loops <- loop }()
			if problems := loop.store(min(storeCycles, cycles-done)); len(problems) > 0 {
				t.Errorf("store of the cycles from %d, seed %d, at cycle %d:\n%s", done, seed, loop.total.cycles, strings.Join(problems, "\n"))
			}
		})
	}
	running.Wait()
	var total figures
	for range killLoops {
		total.add((<-loops).total)
	}
	took := time.Since(began)
	t.Logf("%d cycles in %s (%s each), seed %d: %+v", total.cycles, took.Round(time.Millisecond), (took / time.Duration(total.cycles)).Round(time.Millisecond), seed, total)
	if total.acks < cycles || total.effects == 0 {
		t.Errorf("too little happened to show anything: %+v", total)
	}
}

// TestP4ControlEffectsBeforeTheirIntentAreCaught is the negative control: a
// journal that says "durable" too early must be found out by the same checks.
func TestP4ControlEffectsBeforeTheirIntentAreCaught(t *testing.T) {
	t.Parallel()
	seed := testSeed(t)
	loop := newKillLoop(t, seed, 0, loopFlows()[:2])
	loop.lying, loop.plans = true, makePlans(t, loop.service, loop.flows)
	var problems []string
	for range 3 {
		if problems = loop.store(20); len(problems) > 0 {
			break
		}
	}
	caught := map[string]int{}
	for _, problem := range problems {
		for _, promise := range []string{"P1:", "P3:", "P4:"} {
			if strings.Contains(problem, promise) {
				caught[promise]++
			}
		}
	}
	t.Logf("seed %d: caught after %d cycles: %v", seed, loop.total.cycles, caught)
	if len(caught) == 0 {
		t.Errorf("effects were sent before their intent was durable, and nobody found out: %v", problems)
	}
}

func newKillLoop(t *testing.T, seed uint64, n int, flows []flow) *killLoop {
	t.Helper()
	return &killLoop{
		t: t, random: random(seed, fmt.Sprint("kills", n)), flows: flows,
		service: newCounter(t, random(seed, "service"), 4*time.Millisecond),
	}
}

// store kills a number of engines on a new store, then lets all runs end.
func (k *killLoop) store(cycles int) (problems []string) {
	k.t.Helper()
	k.dir = k.t.TempDir()
	defer os.RemoveAll(k.dir)
	writeProject(k.t, k.dir, k.service.URL, "", k.flows)
	if k.lying {
		copyPlans(k.t, k.plans, k.dir, k.flows)
	}
	k.service.reset()
	k.ledger, k.asked = newLedger(k.flows), nil
	for cycle := 1; cycle <= cycles; cycle++ {
		k.total.cycles++
		k.service.begin(cycle, 1)
		k.cycle()
		if problems = append(k.left(), k.check(cycle, false)...); len(problems) > 0 {
			return problems
		}
	}
	return k.finish(cycles + 1)
}

// cycle starts an engine that takes up what was left and is asked for more, and
// kills it.
func (k *killLoop) cycle() {
	delay := time.Duration(k.random.Int64N(int64(latestKill)))
	fromStart := k.random.IntN(4) == 0
	child := startChild(k.t, role{Dir: k.dir, URL: k.service.URL, Requests: k.wanted(wantedRuns), Parallel: openRuns, Lying: k.lying}, nil)
	if !fromStart { // a kill while it starts is of interest, but not every time
		<-child.opened
	}
	select {
	case <-time.After(delay):
	case <-child.ended:
	}
	child.kill()
	lines, _ := child.wait(k.t, childLimit) // killed
	k.ledger.note(lines)
}

// wanted are the requests that nobody has acknowledged yet, and n more.
func (k *killLoop) wanted(n int) []request {
	var open []request
	for _, r := range k.asked {
		if k.ledger.accepted[r.ID] == "" {
			open = append(open, r)
		}
	}
	for len(open) < n {
		r := request{ID: fmt.Sprintf("r%d", len(k.asked)), Flow: k.flows[k.random.IntN(len(k.flows))].name}
		k.asked = append(k.asked, r)
		open = append(open, r)
	}
	return open
}

// left waits for the end of the plugins, and of what they have sent.
func (k *killLoop) left() []string {
	problems := pluginsLeft(k.t, k.dir)
	k.service.settle(k.t)
	return problems
}

// check compares the store as it is after a cycle.
func (k *killLoop) check(cycle int, end bool) []string {
	return checkStore(k.t, k.dir, k.ledger, k.service, cycle, end)
}

// finish lets all runs end and compares everything.
func (k *killLoop) finish(cycle int) (problems []string) {
	k.t.Helper()
	k.service.begin(cycle, 1)
	child := startChild(k.t, role{Dir: k.dir, URL: k.service.URL, Requests: k.wanted(1), Parallel: openRuns, Lying: k.lying}, nil)
	lines, err := child.wait(k.t, childLimit)
	if err != nil {
		problems = append(problems, fmt.Sprintf("the last engine ended with %v: %s", err, child.stderr.String()))
	}
	k.ledger.note(lines)
	problems = append(problems, k.left()...)
	problems = append(problems, k.check(cycle, true)...)
	k.ledger.figures.repeated = k.service.repeated()
	k.total.add(k.ledger.figures)
	return problems
}

// repeated counts the requests of keyed actions that the service had done
// already: each would have been a second effect without a key.
func (s *counter) repeated() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := map[string]bool{}
	for _, r := range s.all {
		if r.effect == effectKeyed && !r.refused {
			if done[r.idem] {
				n++
			}
			done[r.idem] = true
		}
	}
	return n
}

// makePlans has the engine make the plans of flows: one run of each.
func makePlans(t *testing.T, service *counter, flows []flow) (dir string) {
	t.Helper()
	dir = t.TempDir()
	writeProject(t, dir, service.URL, "", flows)
	var requests []request
	for _, f := range flows {
		requests = append(requests, request{ID: "plan-" + f.name, Flow: f.name})
	}
	child := startChild(t, role{Dir: dir, URL: service.URL, Requests: requests, Parallel: 1}, nil)
	lines, err := child.wait(t, childLimit)
	if err != nil {
		t.Fatalf("make plans: %v\n%s", err, child.stderr.String())
	}
	store, err := boltstore.Open(filepath.Join(dir, "state", "flowrun.db"), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, said := range lines {
		if said.Kind != lineAccepted {
			continue
		}
		row, err := store.Run(said.Run)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := store.Plan(row.PlanHash)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(planPath(dir, row.Workflow), encoded, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func copyPlans(t *testing.T, from, to string, flows []flow) {
	t.Helper()
	for _, f := range flows {
		encoded, err := os.ReadFile(planPath(from, f.name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(planPath(to, f.name), encoded, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
