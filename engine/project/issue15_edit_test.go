package project_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/project"
)

// TestIssue15_EditsKeepWhatElseStands: a plugin comes and goes in each form that a file may
// have, and comments and order of all else stay.
func TestIssue15_EditsKeepWhatElseStands(t *testing.T) {
	t.Parallel()
	words := project.Plugin{Name: "words", Source: "./words", Grants: project.Grants{Env: []string{"A"}, Hosts: []string{"x.example:443"}, Paths: []project.PathGrant{{Path: "data", ReadOnly: true}}, Memory: "4GiB"}}
	entry := `words: {source: ./words, grants: {paths: ["data:ro"], hosts: ["x.example:443"], env: [A], memory: 4GiB}}`
	for name, test := range map[string]struct{ before, added string }{
		"empty":            {"", "plugins:\n  " + entry + "\n"},
		"comments alone":   {"# mine\n", "# mine\nplugins:\n  " + entry + "\n"},
		"no plugins":       {"workflows: [a] # one\n", "workflows: [a] # one\nplugins:\n  " + entry + "\n"},
		"no end of line":   {"workflows: [a]", "workflows: [a]\nplugins:\n  " + entry + "\n"},
		"others":           {"plugins: # ours\n    # the first\n    a:\n        source: ./a # one\n\nworkflows: [a]\n", "plugins: # ours\n    # the first\n    " + entry + "\n    a:\n        source: ./a # one\n\nworkflows: [a]\n"},
		"others in a line": {"plugins: {a: {source: ./a}} # one\n", "plugins: {" + entry + ", a: {source: ./a}} # one\n"},
		"none in a line":   {"plugins: {}\n", "plugins: {" + entry + "}\n"},
	} {
		got, err := project.AddPlugin([]byte(test.before), words)
		if err != nil || string(got) != test.added {
			t.Errorf("%s, add: %v\n%s", name, err, got)
			continue
		}
		moved, err := project.MovePlugin(got, "words", "https://x.example/words-1.1.0.tar.gz")
		if err == nil {
			_, err = project.MovePlugin(moved, "words", "./w w")
		}
		if err != nil {
			t.Errorf("%s, move: %v", name, err)
		}
		granted, err := project.GrantPlugin(got, "words", project.Grants{Commands: []string{"git"}})
		if err == nil {
			_, err = project.GrantPlugin(granted, "words", project.Grants{})
		}
		if err != nil {
			t.Errorf("%s, grant: %v", name, err)
		}
		removed, err := project.RemovePlugin(got, "words")
		if err != nil {
			t.Errorf("%s, remove: %v\n%s", name, err, removed)
		}
		if name == "others" || name == "others in a line" || name == "no plugins" || name == "none in a line" {
			if string(removed) != test.before {
				t.Errorf("%s: added and removed it is\n%s", name, removed)
			}
		}
	}
}

// TestIssue15_GrantsOfABlock: grants that stand in lines of their own are taken out with
// their lines, and what follows stays.
func TestIssue15_GrantsOfABlock(t *testing.T) {
	t.Parallel()
	before := "plugins:\n  words:\n    source: ./words # ours\n    grants:\n      env: [A]\n      # why\n      hosts: [x.example]\n  # the next\n  more: {source: ./more}\n"
	got, err := project.GrantPlugin([]byte(before), "words", project.Grants{Env: []string{"A", "B"}})
	want := "plugins:\n  words:\n    grants: {env: [A, B]}\n    source: ./words # ours\n  # the next\n  more: {source: ./more}\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	got, err = project.RemovePlugin([]byte(before), "words")
	if want := "plugins:\n  # the next\n  more: {source: ./more}\n"; err != nil || string(got) != want {
		t.Errorf("removed: %v\n%s", err, got)
	}
}

// TestIssue15_AnEditThatSaysSomethingElseIsRefused: what is written so that an edit would
// miss is left as it is.
func TestIssue15_AnEditThatSaysSomethingElseIsRefused(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{"broken": "plugins: [", "a list": "plugins: []\n", "null": "plugins:\n"} {
		if got, err := project.AddPlugin([]byte(src), project.Plugin{Name: "words", Source: "./words"}); err == nil {
			t.Errorf("%s: it was taken: %s", name, got)
		}
	}
	if _, err := project.AddPlugin(nil, project.Plugin{Name: "words", Source: "./words", Grants: project.Grants{Env: []string{"FLOWRUN_KEY"}}}); err == nil {
		t.Error("a grant that flowrun.yaml refuses was written")
	}
}
