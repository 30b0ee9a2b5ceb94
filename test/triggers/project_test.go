//go:build linux

package triggers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

const projectText = `workflows: [hooked.yaml, next.yaml, watch.yaml]
connections: {feed: {plugin: feed, config: {dir: DIR}, rate: 1000/1s}}
limits: {sandbox: "off"} # the feed lies beside the state
`

const hookedText = `flowrun: v1
name: hooked
inputs: {event: {type: string}}
triggers:
  in:
    webhook:
      auth: {token: "${{ secrets.HOOK }}"}
      dedupe: ${{ request.headers["x-event"] ?? "" }}
      body: {type: object, required: [event], properties: {event: {type: string}}}
    inputs: {event: "${{ request.body.event }}"}
steps:
  - {uses: core.log, with: {text: "${{ inputs.event }}"}}
outputs: {key: "${{ inputs.event }}", id: "${{ run.id }}"}
`

const nextText = `flowrun: v1
name: next
inputs: {id: {type: string}}
triggers:
  then: {after: {workflow: hooked}, inputs: {id: "${{ trigger.outputs.id }}"}}
steps:
  - {uses: core.log, with: {text: "${{ inputs.id }}"}}
outputs: {key: "${{ inputs.id }}"}
`

const watchText = `flowrun: v1
name: watch
inputs: {item: {type: string}}
triggers:
  look:
    poll: {uses: feed.list, every: 1s, items: "${{ result.items }}", key: "${{ item.id }}"}
    inputs: {item: "${{ string(item.id) + '.' + string(item.version) }}"}
steps:
  - {uses: core.log, with: {text: "${{ inputs.item }}"}}
outputs: {key: "${{ inputs.item }}"}
`

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// setItems puts items into the list at once, as a service does.
func setItems(t *testing.T, dir string, items ...item) {
	t.Helper()
	data, err := json.Marshal(feedOut{Items: append([]item{}, items...)})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, listFile+".new"), string(data))
	if err := os.Rename(filepath.Join(dir, listFile+".new"), filepath.Join(dir, listFile)); err != nil {
		t.Fatal(err)
	}
}

// newProject is a project whose poll has noted an empty list.
func newProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeProject(t, dir)
	setItems(t, dir)
	if out, err := run(t, role{Dir: dir, Looks: 2}); err != nil { // when the second look begins the first is stored
		t.Fatalf("the first server: %v %s", err, out)
	}
	return dir
}

func writeProject(t *testing.T, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, "flowrun.yaml"), strings.ReplaceAll(projectText, "DIR", dir))
	for name, text := range map[string]string{"hooked.yaml": hookedText, "next.yaml": nextText, "watch.yaml": watchText} {
		write(t, filepath.Join(dir, name), text)
	}
}

// copyProject copies a project that nobody works on.
func copyProject(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	if err := os.CopyFS(state, os.DirFS(filepath.Join(from, "state"))); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{state: 0o700, filepath.Join(state, "key"): 0o600, filepath.Join(state, workspace.StoreFile): 0o600} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	writeProject(t, dir)
	setItems(t, dir)
	return dir
}

// run runs a server until it ends.
func run(t *testing.T, r role) (string, error) {
	t.Helper()
	var out bytes.Buffer
	command := server(t, r)
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return out.String(), err
}

func server(t *testing.T, r role) *exec.Cmd {
	t.Helper()
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program())
	command.Env = append(os.Environ(), roleVariable+"="+string(encoded))
	return command
}

// started is how many runs each workflow has of each key.
type started map[string]map[string]int

// count reads what a store holds.
func count(t *testing.T, dir string) started {
	t.Helper()
	ctx := context.Background()
	e, err := open(ctx, config(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	found := started{"hooked": {}, "next": {}, "watch": {}, "ids": {}}
	for _, workflow := range []string{"hooked", "next", "watch"} {
		runs, _, err := e.List(ctx, runs.Filter{Workflow: workflow, Limit: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range runs {
			result, err := e.Get(ctx, one.ID)
			var key string
			if err == nil {
				err = json.Unmarshal(result.Outputs["key"], &key)
			}
			if err != nil {
				t.Fatalf("run %s of %s: %v", one.ID, workflow, err)
			}
			found[workflow][key]++
			if workflow == "hooked" {
				found["ids"][one.ID]++
			}
		}
	}
	return found
}

// judge says what is wrong: each event has one run, each of these one that follows,
// and each version of an item that was there at the end one; those that were there
// for a while at most one.
func (s started) judge(events []string, last, before []item) (problems []string) {
	exactly := func(what string, got int, key string) {
		if got != 1 {
			problems = append(problems, fmt.Sprintf("%s %s has %d runs", what, key, got))
		}
	}
	for _, event := range events {
		exactly("event", s["hooked"][event], event)
	}
	for id := range s["ids"] {
		exactly("the end of", s["next"][id], id)
	}
	for _, one := range last {
		key := fmt.Sprintf("%d.%d", one.ID, one.Version)
		exactly("item", s["watch"][key], key)
	}
	for _, one := range before {
		if key := fmt.Sprintf("%d.%d", one.ID, one.Version); s["watch"][key] > 1 {
			exactly("item", s["watch"][key], key)
		}
	}
	return problems
}
