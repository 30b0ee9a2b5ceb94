package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/testbuild"
)

const handOn = `flowrun: v1
name: hand-on
steps:
  - id: got
    uses: giver.get
    with: {v: %s}
  - id: put
    uses: taker.put
    with: {v: "${{ steps.got.outputs.v }}"}
`

// folders is a project with two plugins in folders, one of which takes what the other gives.
func folders(t *testing.T) *revised {
	t.Helper()
	r := &revised{t: t, binary: buildBinary(t), dir: t.TempDir()}
	for _, name := range []string{"giver", "taker"} {
		if err := os.MkdirAll(filepath.Join(r.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := testbuild.Program(filepath.Join(r.dir, name, "run"), "./testdata/shaped"); err != nil {
			t.Fatal(err)
		}
		write(t, r.dir, name+"/flowrun-plugin.yaml", "name: "+name+"\nversion: 1.0.0\ncommand: [./run]\n")
		r.shape(name, "1.0.0", "string")
	}
	write(t, r.dir, "flowrun.yaml", "plugins: {giver: {source: ./giver}, taker: {source: ./taker}}\nserver: {listen: \"127.0.0.1:0\"}\nworkflows: [flow.yaml]\n")
	write(t, r.dir, "flow.yaml", fmt.Sprintf(handOn, `"7"`))
	return r
}

// shape writes what a plugin says of itself anew, in one file of its folder; kind is that of
// what is handed on, "" = any.
func (r *revised) shape(name, version, kind string) {
	r.t.Helper()
	of := "{}"
	if kind != "" {
		of = fmt.Sprintf(`{"type":%q}`, kind)
	}
	value := `{"type":"object","required":["v"],"properties":{"v":` + of + `,"by":{"type":"string"}}}`
	input, output := `{"type":"object","required":["v"],"properties":{"v":{}}}`, value
	action := "get"
	if name == "taker" {
		input, output, action = value, `{"type":"object"}`, "put"
	}
	text := fmt.Sprintf(`{"name":%q,"version":%q,"actions":[{"name":%q,"effect":"read","input":%s,"output":%s}]}`, name, version, action, input, output)
	place := filepath.Join(r.dir, name, "shape.json")
	write(r.t, r.dir, name+".new", text)
	if err := os.Rename(filepath.Join(r.dir, name+".new"), place); err != nil {
		r.t.Fatal(err)
	}
}

// versions asks `plugins list` for what is in force, and "waiting" behind one whose folder
// is another by now.
func (r *revised) versions() string {
	r.t.Helper()
	var list revisedPlugins
	if err := json.Unmarshal([]byte(r.flowrun(0, "plugins", "list", "-o", "json")), &list); err != nil {
		r.t.Fatal(err)
	}
	var said []string
	for _, plugin := range list.Items {
		if plugin.Name != "giver" && plugin.Name != "taker" {
			continue
		}
		text := plugin.Name + " " + plugin.Version
		if plugin.Waiting != nil {
			text += " waiting"
		}
		said = append(said, text)
	}
	return strings.Join(said, ", ")
}

func (r *revised) want(versions string) {
	r.t.Helper()
	if got := r.versions(); got != versions {
		r.t.Errorf("in force: %s; want %s", got, versions)
	}
}

// TestIssue15_RevisionsThatFitTogether: two plugins in folders change what one hands to the
// other. Each new one alone would break the workflow and waits; with both there they come
// into force together. One that waits for another comes into force behind it.
func TestIssue15_RevisionsThatFitTogether(t *testing.T) {
	t.Parallel()
	r := folders(t)
	r.serve()
	r.flowrun(0, "run", "flow.yaml")
	r.shape("giver", "2.0.0", "integer")
	r.await("plugin is not in force", "giver", "flow.yaml:9")
	r.want("giver 1.0.0 waiting, taker 1.0.0")
	r.flowrun(0, "run", "flow.yaml")
	r.shape("taker", "2.0.0", "integer")
	r.awaitFor(20*time.Second, "plugin changed", "2.0.0")
	r.awaitFor(20*time.Second, "plugin changed", "2.0.0")
	r.want("giver 2.0.0, taker 2.0.0")

	// A file of the folder is enough, and a taker that takes both lets the giver that waits in.
	r.shape("giver", "3.0.0", "string")
	r.await("plugin is not in force", "giver", "flow.yaml:9")
	r.shape("taker", "3.0.0", "")
	r.await("plugin changed", "taker", "3.0.0")
	r.awaitFor(20*time.Second, "plugin changed", "giver", "3.0.0")
	r.want("giver 3.0.0, taker 3.0.0")
}
