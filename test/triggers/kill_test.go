//go:build linux

package triggers

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/suitesize"
)

func events() []string { return []string{"e1", "e2", "e3"} }

// The list of before a crash, and that of after it: one item is new and one has
// changed.
func itemsBefore() []item { return []item{{1, 1}, {2, 1}} }
func itemsAfter() []item  { return []item{{1, 1}, {2, 2}, {3, 1}} }

// crashAt kills a server at a commit stage, does what between does, and runs
// another one to the end.
func crashAt(t *testing.T, template string, stage int, keyless bool, between func(*testing.T, string)) (problems []string, ended bool) {
	t.Helper()
	dir := copyProject(t, template)
	setItems(t, dir, itemsBefore()...)
	r := role{Dir: dir, Events: events(), Items: len(itemsBefore()), Keyless: keyless, DieAt: stage}
	out, err := run(t, r)
	if err != nil && !strings.Contains(err.Error(), "killed") {
		t.Fatalf("stage %d: %v %s", stage, err, out)
	}
	ended = err == nil
	if between != nil {
		between(t, dir)
	}
	setItems(t, dir, itemsAfter()...)
	looks, _ := os.ReadFile(dir + "/" + lookFile)
	r.DieAt, r.Items, r.Looks = 0, len(itemsAfter()), len(looks)+2
	if out, err := run(t, r); err != nil {
		t.Fatalf("after the crash at stage %d: %v %s", stage, err, out)
	}
	return count(t, dir).judge(events(), itemsAfter(), itemsBefore()), ended
}

// steps are the commit stages that a test crashes at: FLOWRUN_TRIGGER_STAGES=all or
// every so many.
func steps(t *testing.T, every int) int {
	t.Helper()
	switch text := os.Getenv("FLOWRUN_TRIGGER_STAGES"); text {
	case "":
		return every
	case "all":
		return 1
	default:
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("FLOWRUN_TRIGGER_STAGES=%s: a number or all", text)
		}
		return n
	}
}

func TestP10EachEventHasOneRunWhereverTheServerDies(t *testing.T) {
	t.Parallel()
	template := newProject(t)
	crashes, every, most := 0, steps(t, 7), stages(t, template)
	for stage := 1; stage <= most; stage += every {
		crashes++
		t.Run(fmt.Sprintf("killed at stage %d", stage), func(t *testing.T) {
			t.Parallel()
			problems, _ := crashAt(t, template, stage, false, nil)
			for _, problem := range problems {
				t.Error(problem)
			}
		})
	}
	t.Logf("%d crashes", crashes)
	if crashes < 3 {
		t.Errorf("%d crashes only", crashes)
	}
}

// stages counts the commit stages of a server that nobody kills.
func stages(t *testing.T, template string) int {
	t.Helper()
	dir := copyProject(t, template)
	setItems(t, dir, itemsBefore()...)
	out, err := run(t, role{Dir: dir, Events: events(), Items: len(itemsBefore())})
	_, text, _ := strings.Cut(strings.TrimSpace(out), "stages ")
	n, wrong := strconv.Atoi(text)
	if err != nil || wrong != nil {
		t.Fatalf("a server that nobody kills: %v %q", err, out)
	}
	return n
}

// TestP10ControlEventsWithoutAKeyAreDoubled is the control: senders that do not say
// which event it is, and a poll that forgets how far it was, must be found.
func TestP10ControlEventsWithoutAKeyAreDoubled(t *testing.T) {
	t.Parallel()
	template := newProject(t)
	doubled := func(what string, from int, keyless bool, between func(*testing.T, string)) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for round := range 4 { // which stage doubles it depends on what the machine does besides
				for stage := from + round%2; stage < 400; stage += 2 {
					problems, ended := crashAt(t, template, stage, keyless, between)
					for _, problem := range problems {
						if strings.HasPrefix(problem, what) {
							t.Logf("killed at stage %d: %s", stage, problem)
							return
						}
					}
					if ended {
						break
					}
				}
			}
			t.Errorf("no %s was doubled", what)
		})
	}
	doubled("event", 4, true, nil)
	doubled("item", 24, false, forget) // before it has polled it forgets nothing
}

// forget makes the poll believe that it is one poll further than it is.
func forget(t *testing.T, dir string) {
	t.Helper()
	store, err := boltstore.Open(dir+"/state/"+workspace.StoreFile, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	row, _, found, err := store.KV().Get("polls", "watch/look")
	if err != nil || !found {
		t.Fatalf("what the poll has seen: %v %v", found, err)
	}
	head, rest, _ := strings.Cut(string(row), "\n")
	before, number, _ := strings.Cut(head, `"poll":`)
	digits, after, _ := strings.Cut(number, ",")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	changed := fmt.Sprintf("%s\"poll\":%d,%s\n%s", before, n+1000, after, rest)
	if _, err := store.KV().Put("polls", "watch/look", []byte(changed), nil); err != nil {
		t.Fatal(err)
	}
}

// TestP10EachEventHasOneRunUnderKills kills servers at random while events come:
// FLOWRUN_TRIGGER_KILLS says how many times.
func TestP10EachEventHasOneRunUnderKills(t *testing.T) {
	t.Parallel()
	kills := suitesize.Of(t, "FLOWRUN_TRIGGER_KILLS", 3)
	seed := uint64(1)
	if text := os.Getenv("FLOWRUN_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 10))
	dir := newProject(t)
	var all []string
	var last, before []item
	for cycle := range kills {
		for i := range 4 {
			all = append(all, fmt.Sprintf("e%d.%d", cycle, i))
		}
		before = append(before, last...)
		for i := range last {
			if random.IntN(3) == 0 {
				last[i].Version++
			}
		}
		last = append(last, item{ID: int64(cycle + 1), Version: 1})
		setItems(t, dir, last...)
		from := max(0, len(all)-8) // those of the cycle before are sent again
		killAfter(t, role{Dir: dir, Events: all[from:], Hold: true}, time.Duration(random.IntN(1500))*time.Millisecond)
	}
	looks, _ := os.ReadFile(dir + "/" + lookFile)
	if out, err := run(t, role{Dir: dir, Events: all, Items: len(last), Looks: len(looks) + 2}); err != nil {
		t.Fatalf("the last server: %v %s", err, out)
	}
	got := count(t, dir)
	for _, problem := range got.judge(all, last, before) {
		t.Error(problem)
	}
	t.Logf("%d kills, %d events, %d runs that follow, %d of items", kills, len(got["hooked"]), len(got["next"]), len(got["watch"]))

	// The control: the same judge finds an event that has two runs, and one without.
	got["hooked"][all[0]]++
	delete(got["watch"], fmt.Sprintf("%d.%d", last[0].ID, last[0].Version))
	if problems := got.judge(all, last, before); len(problems) != 2 {
		t.Errorf("the control: %q", problems)
	}
}

// killAfter starts a server and kills it some time after it has opened its store.
func killAfter(t *testing.T, r role, wait time.Duration) {
	t.Helper()
	command := server(t, r)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	opened := bufio.NewReader(out)
	if _, err := opened.ReadString('\n'); err != nil {
		t.Fatalf("the server did not open its store: %v", err)
	}
	time.Sleep(wait)
	_ = command.Process.Kill()
	_ = command.Wait() // it was killed
}
