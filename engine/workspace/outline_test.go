package workspace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAnOutlineIsWhatAFileSays: also of a file with mistakes, and of one that is no workflow.
func TestAnOutlineIsWhatAFileSays(t *testing.T) {
	t.Parallel()
	const src = `flowrun: v1
name: weekly
description: the week
inputs:
  site: {type: string, enum: [A, B], description: where}
  loud: {type: boolean}
  days: {type: integer}
triggers:
  daily: {cron: "0 9 * * *"}
  feed: {poll: {uses: tasks.list, every: 1h}}
  hook: {webhook: {}}
state: {seen: {type: integer, default: 0}}
steps:
  - id: each
    foreach: [1, 2]
    steps:
      - {id: inner, uses: nowhere.at_all, with: {token: "${{ secrets.TOKEN }} ${{ secrets.OTHER }}", again: "${{ secrets.TOKEN }}"}}
  - let: {a: 1}
finally:
  - {id: tidy, uses: core.log, with: {text: x}} # secrets.NOT_THIS
outputs: {text: hi}
`
	want := Outline{
		File: "weekly.yaml", Name: "weekly", Description: "the week",
		Inputs: []OutlineInput{
			{Name: "site", Type: "string", Description: "where", Values: []string{"A", "B"}},
			{Name: "loud", Type: "boolean", Values: []string{"true", "false"}}, {Name: "days", Type: "integer"},
		},
		Steps: []string{"each", "inner", "tidy"}, Triggers: []string{"daily", "feed"}, Hooks: []string{"hook"}, State: []string{"seen"}, Outputs: []string{"text"},
		Secrets: []string{"TOKEN", "OTHER"},
	}
	if diff := cmp.Diff(want, OutlineOf("weekly.yaml", []byte(src))); diff != "" {
		t.Error("(-want +got)", diff)
	}
	for _, src := range []string{"", "[]", "a: [", "inputs: []\nsteps: {}\ntriggers: x\nstate: 7\n", "inputs: {a: , b: x}\nname: [x]\n", "\x00"} {
		outline := OutlineOf("x.yaml", []byte(src))
		if outline.Name != "" || len(outline.Steps) > 0 {
			t.Errorf("%q: %+v", src, outline)
		}
	}
}
