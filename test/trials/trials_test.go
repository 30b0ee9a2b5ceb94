// Package trials holds what the kit says of plugins that were written from the documents
// alone (testdata): five in Go, one in Python and one in Node, the last two without an SDK.
// What they do against the contract the kit must find, and nothing else.
package trials

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/conformance"
	"github.com/flowrun/flowrun/internal/testbuild"
)

// trial is a plugin and what the kit must say of it.
type trial struct {
	name    string
	program string   // of its folder; "" = it is built there
	passes  int      // how many cases it must pass at least
	fails   []string // the cases that it must fail, in their order
}

// byHand are the cases that a plugin fails which was written for the first contract: the
// launch token came in the environment.
var byHand = []string{"token.asked", "token.wrong", "token.stream", "token.services"}

func trials() []trial {
	return []trial{
		{name: "kv", passes: 55},
		{name: "billing", passes: 65},
		{name: "export", passes: 50},
		{name: "http", passes: 50},
		// It reads its document before it looks who started it, and in the order of a map;
		// and it hands on what the service answers.
		{name: "openapi", passes: 51, fails: []string{"start.cookie", "describe.same", "faults.shapes"}},
		// It checks names alone, takes any config, and asks on when a call was canceled.
		{name: "words", program: "words.py", passes: 45, fails: append(slices.Clone(byHand), "validate.kinds", "connect.refuses", "execute.cancel", "faults.shapes")},
		// It checks nothing, and its modules lie beside it, where a copy of one file has none.
		{name: "node", program: "node.js", passes: 35, fails: slices.Concat([]string{"start.host"}, byHand,
			[]string{"describe.closed", "validate.missing", "validate.unknown", "validate.kinds", "execute.refuses"})},
	}
}

func TestIssue15_WhatTheKitSaysOfTrialPluginsIsRight(t *testing.T) {
	t.Parallel()
	flowrun := filepath.Join(t.TempDir(), "flowrun")
	if err := testbuild.Program(flowrun, "../../cmd/flowrun"); err != nil {
		t.Fatal(err)
	}
	for _, trial := range trials() {
		t.Run(trial.name, func(t *testing.T) {
			t.Parallel()
			report := judge(t, flowrun, prepare(t, trial), trial)
			failed, reports := []string{}, map[string]*conformance.Failure{}
			for _, result := range report.Results {
				if result.Status == conformance.Failed {
					failed, reports[result.Case] = append(failed, result.Case), result.Failure
				}
			}
			if diff := cmp.Diff(append([]string{}, trial.fails...), failed); diff != "" {
				text, _ := json.MarshalIndent(reports, "", "  ")
				t.Errorf("failed cases (-want +got):\n%s\n%s", diff, text)
			}
			if report.Passed < trial.passes {
				t.Errorf("%d cases passed, want %d", report.Passed, trial.passes)
			}
		})
	}
}

// prepare puts the plugin into a folder with all that it needs.
func prepare(t *testing.T, trial trial) string {
	t.Helper()
	needs(t, trial.name)
	dir, source := t.TempDir(), filepath.Join("testdata", trial.name)
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(dir, "kit.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"kit.yaml": []byte(strings.ReplaceAll(string(config), "$DIR", dir))}
	// For those without an SDK, the descriptor that they were written by: what a plugin
	// makes of its calls is of its own time.
	for name, from := range map[string]string{"plugin.proto": "plugin.proto", "plugin.binpb": "first.binpb"} {
		if files[name], err = os.ReadFile(filepath.Join("../../proto/flowrun/plugin/v1", from)); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if trial.program == "" {
		build(t, filepath.Join(dir, trial.name), source)
	} else if err := os.Chmod(filepath.Join(dir, trial.program), 0o700); err != nil {
		t.Fatal(err)
	}
	if trial.name == "billing" {
		if err := os.RemoveAll(filepath.Join(dir, "simulator")); err != nil { // its source
			t.Fatal(err)
		}
		build(t, filepath.Join(dir, "simulator"), "testdata/billing/simulator")
	}
	return dir
}

func build(t *testing.T, path, source string) {
	t.Helper()
	if err := testbuild.Program(path, "./"+source); err != nil {
		t.Fatal(err)
	}
}

// needs skips a plugin that this machine can't run, and says why.
func needs(t *testing.T, name string) {
	t.Helper()
	switch name {
	case "words":
		const libraries = "import grpc; from google.protobuf import message_factory as m; m.MessageFactory.GetPrototype"
		if exec.Command("/usr/bin/python3", "-c", libraries).Run() != nil {
			t.Skip("SKIPPED: there is no /usr/bin/python3 with grpcio and a protobuf before 5 (scripts/install-python)")
		}
	case "node":
		_, err := exec.LookPath("node")
		if _, missing := fs.Stat(os.DirFS("testdata/node"), "node_modules/@grpc/grpc-js"); err != nil || missing != nil {
			t.Skip("SKIPPED: the plugin in Node: there is no node, or not its modules (npm ci --prefix test/trials/testdata/node)")
		}
	}
}

// judge runs the kit.
func judge(t *testing.T, flowrun, dir string, trial trial) *conformance.Report {
	t.Helper()
	program := trial.program
	if program == "" {
		program = trial.name
	}
	command := exec.CommandContext(t.Context(), flowrun, "plugins", "test", "./"+program, "--config", "kit.yaml", "-o", "json")
	command.Dir = dir
	output, err := command.Output() // it ends with 5 where a case fails
	var report conformance.Report
	if json.Unmarshal(output, &report) != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return &report
}
