//go:build linux

package shutdown

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/suitesize"
)

// workload mixes effects with reads; some calls are long.
const workload = `flowrun: v1
name: load
inputs: {tag: {type: string, default: a}, ms: {type: integer, default: 30}}
steps:
  - id: items
    foreach: ${{ 1..24 }}
    as: n
    max_parallel: 4
    steps:
      - {uses: worker.read, with: {ledger: %[1]q, key: "${{ inputs.tag + '-r' + string(n) }}", ms: 5}}
      - {uses: worker.once, with: {ledger: %[1]q, key: "${{ inputs.tag + '-o' + string(n) }}", ms: "${{ inputs.ms }}"}}
      - {uses: worker.keyed, with: {ledger: %[1]q, key: "${{ inputs.tag + '-k' + string(n) }}", ms: 5}}
`

const items = 24

// exitLimit is how long a stop may take: 25 s of drain and 5 s (P17).
const exitLimit = 30 * time.Second

// TestP17SIGTERMUnderLoad stops the owner at any moment of its work, in every
// second cycle under clients that wait for their own runs.
// FLOWRUN_SHUTDOWN_CYCLES=1000 is the full size.
func TestP17SIGTERMUnderLoad(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seed(t), 17))
	cycles, longest, terminated := suitesize.Of(t, "FLOWRUN_SHUTDOWN_CYCLES", 5), time.Duration(0), 0
	for cycle := range cycles {
		p := newPlace(t, "")
		delay := time.Duration(random.IntN(500)) * time.Millisecond
		took, code, problems := p.stopUnderLoad(delay, 30, cycle%2 == 1)
		longest = max(longest, took)
		if code == 143 {
			terminated++
		}
		for _, problem := range problems {
			t.Errorf("cycle %d, SIGTERM %s after the first call: %s", cycle, delay, problem)
		}
	}
	t.Logf("%d cycles, %d ended by the signal, the longest stop took %s", cycles, terminated, longest.Round(time.Millisecond))
	if terminated == 0 {
		t.Error("no cycle was ended by the signal: the load is too short")
	}
}

// TestP17ControlASuiteWithoutTheDrainFails: with a drain of next to nothing calls
// are cut off, and the suite must see it.
func TestP17ControlASuiteWithoutTheDrainFails(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seed(t), 18))
	for range 5 {
		p := newPlace(t, "limits: {drain: 1ms}\n")
		_, _, problems := p.stopUnderLoad(time.Duration(100+random.IntN(300))*time.Millisecond, 250, false)
		if len(problems) > 0 {
			t.Logf("noticed: %s", problems[0])
			return
		}
	}
	t.Error("a stop that cuts calls off was not noticed")
}

// stopUnderLoad runs the workload, whose effects take some milliseconds, stops the process that owns the store, and goes
// on with what it left.
func (p *place) stopUnderLoad(delay time.Duration, ms int, crowded bool) (took time.Duration, code int, problems []string) {
	p.write("load.yaml", fmt.Sprintf(workload, p.ledger))
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	owner := p.start("run", "load.yaml", "-o", "jsonl", "-i", fmt.Sprintf("ms=%d", ms))
	p.awaitLine("begin", 1)
	var clients []*process
	if crowded {
		clients = append(clients, p.start("run", "load.yaml", "-i", "tag=b", "-o", "json"), p.start("run", "load.yaml", "-i", "tag=c", "-o", "json"))
	}
	time.Sleep(delay)
	began := time.Now()
	if err := owner.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	code, err := owner.end(exitLimit)
	took = time.Since(began)
	if err != nil || code != 143 && code != 0 {
		complain("exit %d, %v\n%s", code, err, owner.stderr.String())
		return took, code, problems
	}
	for i, client := range clients {
		if code, err := client.end(3 * exitLimit); err != nil || code != 0 {
			complain("client %d: exit %d, %v\n%s", i, code, err, client.said())
		}
	}
	if err := p.awaitAlone(30 * time.Second); err != nil {
		complain("%v", err)
	}
	run, shown := owner.records()
	if run == "" { // it was stopped before it had shown anything
		run = p.oldest()
	}
	if code == 143 {
		problems = append(problems, p.goOn(run, owner.stderr.String())...)
	}
	stored, err := p.stored(run)
	if err != nil {
		complain("%v", err)
	}
	for _, r := range shown {
		if stored[r.Seq] != r.Event.Kind+" "+r.Event.Path {
			complain("event %d (%s %s) was shown and is not stored", r.Seq, r.Event.Kind, r.Event.Path)
		}
	}
	counts, tags := p.count(), []string{"a"}
	if crowded {
		tags = append(tags, "b", "c")
	}
	for _, tag := range tags {
		for n := 1; n <= items; n++ {
			for _, kind := range []string{"o", "k"} {
				key := fmt.Sprintf("%s-%s%d", tag, kind, n)
				if begun, ended := counts["begin "+key], counts["end "+key]; begun != 1 || ended != 1 {
					complain("%s began %d times and ended %d times", key, begun, ended)
				}
			}
		}
	}
	return took, code, problems
}

// oldest returns the run that was accepted first.
func (p *place) oldest() string {
	list := p.start("runs", "-o", "json")
	var page struct{ Items []struct{ ID string } }
	if code, err := list.end(exitLimit); err != nil || code != 0 || json.Unmarshal(list.stdout.Bytes(), &page) != nil || len(page.Items) == 0 {
		p.t.Fatalf("runs list: exit %d, %v\n%s", code, err, list.said())
	}
	return page.Items[len(page.Items)-1].ID
}

// goOn resumes the owner's run where the stop says that it is left; else it had
// ended, and the owner stayed for others. Those go on with their own.
func (p *place) goOn(run, said string) (problems []string) {
	_, left, found := strings.Cut(said, "ended by SIGTERM; ")
	if !found {
		return []string{fmt.Sprintf("the stop does not say what is left: %q", said)}
	}
	if !strings.Contains(left, run) {
		return nil // what it did is counted
	}
	resume := p.start("runs", "resume", run, "-o", "json")
	code, err := resume.end(3 * exitLimit)
	var result struct {
		Run struct{ Status, Paused string }
	}
	if err != nil || code != 0 || json.Unmarshal(resume.stdout.Bytes(), &result) != nil || result.Run.Status != "succeeded" {
		problems = append(problems, fmt.Sprintf("resume: exit %d, %v, run is %s %s\n%s", code, err, result.Run.Status, result.Run.Paused, resume.stderr.String()))
	}
	return problems
}

const longCall = `flowrun: v1
name: long
steps:
  - {uses: worker.read, with: {ledger: %q, key: long, ms: 600000}}
`

// TestP17ACallThatDoesNotEndIsKilled: after the drain and the grace its plugin
// goes, whatever it does. The run can be resumed.
func TestP17ACallThatDoesNotEndIsKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "limits: {drain: 500ms}\n")
	p.write("long.yaml", fmt.Sprintf(longCall, p.ledger))
	owner := p.start("run", "long.yaml", "-o", "jsonl")
	p.awaitLine("begin", 1)
	began := time.Now()
	if err := owner.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	code, err := owner.end(60 * time.Second)
	if err != nil || code != 143 {
		t.Errorf("exit %d, %v\n%s", code, err, owner.stderr.String())
	}
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("it ended after %s: the call was not waited for", took)
	}
	if err := p.awaitAlone(30 * time.Second); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"waiting up to 500ms for 1 call", "is left to be resumed: flowrun runs resume "} {
		if !strings.Contains(owner.stderr.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, owner.stderr.String())
		}
	}
}

// TestP17TheSecondSignalEndsAtOnce, and no plugin outlives it.
func TestP17TheSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	for _, second := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := newPlace(t, "")
		p.write("long.yaml", fmt.Sprintf(longCall, p.ledger))
		owner := p.start("run", "long.yaml")
		p.awaitLine("begin", 1)
		if err := owner.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		if err := owner.Process.Signal(second); err != nil {
			t.Fatal(err)
		}
		code, err := owner.end(20 * time.Second) // it would wait for 25
		if want := 128 + int(second); err != nil || code != want {
			t.Errorf("exit %d, %v, want %d\n%s", code, err, want, owner.stderr.String())
		}
		if err := p.awaitAlone(30 * time.Second); err != nil {
			t.Error(err)
		}
	}
}

// TestP17ASIGTERMToAClientLeavesItsRun to the owner.
func TestP17ASIGTERMToAClientLeavesItsRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	p.write("load.yaml", fmt.Sprintf(workload, p.ledger))
	owner := p.start("run", "load.yaml", "-o", "json", "-i", "ms=100")
	p.awaitLine("begin", 1)
	client := p.start("run", "load.yaml", "-i", "tag=b", "-o", "json")
	p.awaitLine("begin b-", 4)
	if err := client.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, err := client.end(5 * time.Second); err != nil || code != 143 || !strings.Contains(client.stderr.String(), "goes on in the process that owns the store") {
		t.Errorf("client: exit %d, %v\n%s", code, err, client.said())
	}
	if code, err := owner.end(time.Minute); err != nil || code != 0 {
		t.Errorf("owner: exit %d, %v\n%s", code, err, owner.said())
	}
	if ended := p.count()["end b-k24"]; ended != 1 {
		t.Errorf("the last item of the client's run ended %d times, want 1", ended)
	}
}

// TestP7OrphansAreReapedBeforeAResumeDispatches: what a killed engine's plugin has
// left behind has no effect once the resumed run has sent a call.
func TestP7OrphansAreReapedBeforeAResumeDispatches(t *testing.T) {
	t.Parallel()
	// A plugin in its sandbox leaves no child behind: this is where there is none.
	p := newPlace(t, "limits: {sandbox: \"off\"}\n")
	p.write("orphan.yaml", fmt.Sprintf(`flowrun: v1
name: orphan
steps:
  - {uses: worker.orphan, with: {ledger: %q, key: x, ms: 400}}
`, p.ledger))
	owner := p.start("run", "orphan.yaml", "-o", "jsonl")
	p.awaitLine("child", 3)
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	run, _ := owner.records()
	old := slices.IndexFunc(p.lines(), func(line string) bool { return strings.HasPrefix(line, "child ") })
	if old < 0 {
		t.Fatal("the child does not work")
	}
	name := p.lines()[old]
	resume := p.start("runs", "resume", run, "-o", "json")
	p.awaitLine("begin", 2)
	if code, err := resume.end(30 * time.Second); err != nil || code != 0 {
		t.Errorf("resume: exit %d, %v\n%s", code, err, resume.said())
	}
	lines := p.lines()
	again := slices.Index(lines[old:], "begin x") + old
	if late := slices.Index(lines[again:], name); late >= 0 {
		t.Errorf("line %d of the ledger is of the killed engine's plugin, line %d of the resumed run", again+late, again)
	}
	if err := p.awaitAlone(30 * time.Second); err != nil {
		t.Error(err)
	}
}
