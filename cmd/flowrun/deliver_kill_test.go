//go:build linux

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

const deliveredProject = `workflows: [report.yaml]
plugins:
  exec: {grants: {commands: [./slow.sh, sleep], paths: [./work]}}
  files: {grants: {paths: [./work]}}
connections:
  out: {plugin: files, config: {roots: {out: {path: ./work, write: true}}}}
  exec: {plugin: exec, config: {commands: {slow: {argv: [./slow.sh], cwd: ./work, stdin: none, effect: once}}}}
notify: {desk: {command: [./tell.sh]}}
`

const deliveredWorkflow = `flowrun: v1
name: report
steps:
  - {id: made, let: {text: all is well}}
outputs:
  report:
    value: ${{ steps.made.outputs.text }}
    to:
      - files.out/report-{run.id}.txt
      - notify.desk
      - {uses: exec.run, with: {command: slow}}
`

// killingCommand notes its key, has done what it does, and kills the engine that called it
// before that has the answer: once the other call is under way.
const killingCommand = `#!/bin/sh
echo "$FLOWRUN_IDEMPOTENCY_KEY" >> work/keys
[ -e work/killed ] && exit 0
while [ ! -s work/started ]; do sleep 0.01; done
touch work/killed
kill -9 $PPID
sleep 60
`

// TestDeliveredAcrossAKill kills the engine after a call whose answer it does not have, and
// in the middle of one of effect once: the first is made again under the same key, the other
// is not, until a person says so.
func TestDeliveredAcrossAKill(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "work"), 0o755); err != nil { //nolint:gosec // the commands' folder
		t.Fatal(err)
	}
	for name, text := range map[string]string{"flowrun.yaml": deliveredProject, "report.yaml": deliveredWorkflow, "slow.sh": slowCommand, "tell.sh": killingCommand} {
		write(t, dir, name, text)
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil { //nolint:gosec // some are programs
			t.Fatal(err)
		}
	}
	run := exec.Command(binary, "run", "report.yaml")
	run.Dir, run.Stderr = dir, os.Stderr
	if err := run.Run(); err == nil {
		t.Fatal("the run was to be killed")
	}
	id := onlyRun(t, binary, dir)
	before := deliveriesOf(t, binary, dir, id)
	if before["report#2"].State != runs.DeliverySending || before["report#3"].State != runs.DeliverySending {
		t.Fatalf("after the kill: %+v", before)
	}
	serve := exec.Command(binary, "serve", "--listen", "127.0.0.1:0")
	serve.Dir, serve.Stderr = dir, os.Stderr
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	var after map[string]runs.Delivery
	for {
		if after = deliveriesOf(t, binary, dir, id); after["report#1"].State.Over() && after["report#2"].State.Over() && after["report#3"].State.Over() {
			break
		}
		if t.Context().Err() != nil {
			t.Fatalf("not over: %+v", after)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if after["report#1"].State != runs.DeliveryDelivered || after["report#2"].State != runs.DeliveryDelivered {
		t.Errorf("not delivered: %+v", after)
	}
	if once := after["report#3"]; once.State != runs.DeliveryUnknown || once.Error == nil || once.Error.Kind != "unknown_outcome" {
		t.Errorf("of effect once: %+v", once)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "work", "report-"+id+".txt")); err != nil || string(text) != "all is well" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if keys := linesOf(t, dir, "keys"); len(keys) != 2 || keys[0] != keys[1] || keys[0] != runs.DeliveryKey(id, "report#2") {
		t.Errorf("the keys are %v", keys)
	}
	if started := startedCommands(t, dir, 1); len(started) != 1 {
		t.Errorf("the command of effect once was started %d times", len(started))
	}
	// A person looks, and says once more: without --again it stays as it is.
	write(t, filepath.Join(dir, "work"), "go", "")
	if output, code := flowrunIn(t, binary, dir, "runs", "deliver", id, "report"); code != 5 || len(startedCommands(t, dir, 1)) != 1 {
		t.Errorf("exit code %d\n%s", code, output)
	}
	if output, code := flowrunIn(t, binary, dir, "runs", "deliver", id, "report", "--again"); code != 0 || len(startedCommands(t, dir, 1)) != 2 {
		t.Errorf("exit code %d\n%s", code, output)
	}
	if output, code := flowrunIn(t, binary, dir, "runs", "show", id); code != 0 || strings.Contains(output, "unknown") {
		t.Errorf("exit code %d\n%s", code, output)
	}
}

func deliveriesOf(t *testing.T, binary, dir, id string) map[string]runs.Delivery {
	t.Helper()
	output, code := flowrunIn(t, binary, dir, "runs", "show", id, "-o", "json")
	var result runs.Result
	if at := strings.Index(output, "{"); code != 0 || at < 0 || json.Unmarshal([]byte(output[at:]), &result) != nil {
		t.Fatalf("exit code %d\n%s", code, output)
	}
	found := map[string]runs.Delivery{}
	for _, one := range result.Deliveries {
		found[one.ID] = one
	}
	return found
}

func linesOf(t *testing.T, dir, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "work", name))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.FieldsSeq(string(raw)))
}
