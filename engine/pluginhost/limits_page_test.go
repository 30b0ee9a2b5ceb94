package pluginhost

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plugintree"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/sdk"
)

// TestIssue15_6_ThePageOfLimitsIsTrue holds docs/plugins/limits.md against the defaults
// and ceilings of the code. UPDATE=1 writes its tables.
func TestIssue15_6_ThePageOfLimitsIsTrue(t *testing.T) {
	const page, begin, end = "../../docs/plugins/limits.md", "<!-- limits: a test compares, UPDATE=1 writes -->\n", "<!-- end of limits -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatal("the page has no tables")
	}
	want := before + begin + limitTables() + end + after
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s is not what the code has: UPDATE=1 go test ./engine/pluginhost -run PageOfLimits", page)
	}
}

func limitTables() string {
	normal := Limits{}.withDefaults()
	ceiling := Limits{
		Start: 1 << 62, Grace: 1 << 62, IdleStop: 1 << 62, Message: 1 << 62, LogLine: 1 << 62, LogRate: 1 << 62, LogTotal: 1 << 62, Events: 1 << 62,
		Files: 1 << 62, FileSize: 1 << 62, Processes: 1 << 62,
	}.withDefaults()
	size := quota.SizeText
	var out strings.Builder
	row := func(what, normal, most string) { fmt.Fprintf(&out, "| %s | %s | %s |\n", what, normal, most) }
	head := func(title string) { fmt.Fprintf(&out, "\n## %s\n\n| | default | at most |\n|---|---|---|\n", title) }

	head("The process")
	row("from its start to the first call", short(normal.Start), short(ceiling.Start))
	row("from being asked to end to SIGKILL", short(normal.Grace), short(ceiling.Grace))
	row("without a call, before it is ended", short(normal.IdleStop), short(ceiling.IdleStop))
	row("memory that its processes use together (Linux)", size(normal.Memory), "what the machine has")
	row("processes at a time (Linux)", fmt.Sprint(normal.Processes), fmt.Sprint(ceiling.Processes))
	row("open files (Linux)", fmt.Sprint(normal.Files), fmt.Sprint(ceiling.Files))
	row("a file that it writes (Linux)", size(int64(normal.FileSize)), size(int64(ceiling.FileSize)))
	tree := plugintree.DefaultLimits()
	row("its folder: files, and bytes of all", fmt.Sprintf("%d, %s", tree.Files, size(tree.Bytes)), "the same")

	head("A call")
	row("how long one attempt takes, unless the action or the step says otherwise", "1m", "the step's own `timeout`")
	row("a message: an input, an output, the description", size(int64(normal.Message)), size(int64(ceiling.Message)))
	row("an answer of the service, as the SDK's HTTP client reads it", size(sdk.DefaultMaxBody), size(sdk.HardMaxBody))
	row("log and progress events in a second", fmt.Sprint(normal.Events), fmt.Sprint(ceiling.Events))
	row("a line of the log", size(int64(normal.LogLine)), size(int64(ceiling.LogLine)))
	row("the log in a second", size(int64(normal.LogRate)), size(int64(ceiling.LogRate)))
	for _, q := range quota.All() {
		if q.Name != quota.Journal && !q.Workflow {
			text := size
			if q.Count {
				text = func(n int64) string { return fmt.Sprint(n) }
			}
			row(q.What+", `"+q.Name+"`", text(q.Default), text(q.Ceiling))
		}
	}
	row("how often a failed call is made in all, with `retry` as it is by default", "4", "1000")
	out.WriteString("\n")
	return out.String()
}

// short is a duration without its zero parts: 5m.
func short(d time.Duration) string {
	text := d.String()
	if d%time.Minute == 0 {
		text = strings.TrimSuffix(text, "0s")
	}
	if d%time.Hour == 0 {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
