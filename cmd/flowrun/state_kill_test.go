//go:build linux

package main_test

import (
	"encoding/json"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const killedCount = `flowrun: v1
name: count
state: {total: {type: integer, default: 0}}
steps:
  - uses: core.sleep
    with: {for: 20ms}
  - set_state: {total: "${{ state.total + 1 }}"}
  - uses: core.sleep
    with: {for: 20ms}
outputs: {total: "${{ state.total }}"}
`

// awaitWrites waits until so many writes to the store were seen, or the process that
// makes them has ended: how fast it is makes no difference.
func (p *ledgerProject) awaitWrites(writes int, ended <-chan struct{}) {
	p.t.Helper()
	stamp := func() (at time.Time) {
		if info, err := os.Stat(filepath.Join(p.dir, ".flowrun", "state", "flowrun.db")); err == nil {
			at = info.ModTime()
		}
		return at
	}
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for last := stamp(); writes > 0; {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		if now := stamp(); !now.Equal(last) {
			last, writes = now, writes-1
		}
	}
}

// TestP5EveryAcceptedRunCountsOnceUnderKills kills processes at any moment: each
// owner takes up what the ones before left, one run after the other, and each
// run that was accepted adds one.
func TestP5EveryAcceptedRunCountsOnceUnderKills(t *testing.T) {
	t.Parallel()
	const seed, rounds = 16, 25
	random := rand.New(rand.NewSource(seed))
	p := &ledgerProject{t: t, binary: buildBinary(t), dir: t.TempDir()}
	write(t, p.dir, "flowrun.yaml", "workflows: [ledger.yaml]\n") // the store is in the folder
	write(t, p.dir, "ledger.yaml", killedCount)
	killed := 0
	for range rounds {
		run := exec.Command(p.binary, "run", "ledger.yaml", "-o", "json")
		run.Dir = p.dir
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = run.Wait() // it was killed, or came to its end before
		}()
		p.awaitWrites(random.Intn(8), ended)
		_ = run.Process.Kill() // it may have ended
		<-ended
		if !run.ProcessState.Exited() {
			killed++
		}
	}
	out, _ := p.flowrun(0, "run", "ledger.yaml", "-o", "json") // it waits for all before it
	var last struct{ Outputs struct{ Total int } }
	if err := json.Unmarshal([]byte(out), &last); err != nil {
		t.Fatal(err)
	}
	out, _ = p.flowrun(0, "runs", "--limit", "1000", "-o", "json")
	var runs struct{ Items []struct{ ID, Status string } }
	if err := json.Unmarshal([]byte(out), &runs); err != nil {
		t.Fatal(err)
	}
	for _, run := range runs.Items {
		if run.Status != "succeeded" {
			t.Errorf("seed %d: run %s is %s", seed, run.ID, run.Status)
		}
	}
	t.Logf("%d runs were accepted, %d processes killed", len(runs.Items), killed)
	if accepted := len(runs.Items); last.Outputs.Total != accepted-1 || accepted < 3 || killed < 3 {
		t.Errorf("seed %d: %d runs were accepted, the last one read %d; %d processes were killed", seed, accepted, last.Outputs.Total, killed)
	}
}
