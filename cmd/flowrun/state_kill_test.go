//go:build linux

package main_test

import (
	"encoding/json"
	"math/rand"
	"os/exec"
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
	for range rounds {
		run := exec.Command(p.binary, "run", "ledger.yaml", "-o", "json")
		run.Dir = p.dir
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.Intn(120)) * time.Millisecond)
		_ = run.Process.Kill() // it may have ended
		_ = run.Wait()
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
	if accepted := len(runs.Items); last.Outputs.Total != accepted-1 || accepted < 3 {
		t.Errorf("seed %d: %d runs were accepted, the last one read %d", seed, accepted, last.Outputs.Total)
	}
}
