package testrun

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// maxDiffLines bounds how many differences are shown.
const maxDiffLines = 12

// compare tells two values that differ.
func (d *driver) compare(pos diag.Pos, what string, got, want any) {
	lines := differences(got, want)
	if len(lines) > 0 {
		d.fail(pos, FailExpectation, what+" is not what is wanted", "", lines...)
	}
}

func (d *driver) compareStep(path string, want *spec.Node, world map[string]any) {
	step, exists := world["steps"].(map[string]any)[path].(map[string]any)
	if !exists {
		d.fail(want.Pos, FailExpectation, "step "+path+" did not begin", "")
		return
	}
	status, _ := step["status"].(string)
	if status == want.Text {
		return
	}
	lines := []string{"want " + want.Text, "got  " + status}
	if failure, ok := step["error"].(map[string]any); ok {
		lines = append(lines, "error "+clip(fmt.Sprintf("%v: %v", failure["kind"], failure["message"])))
	}
	d.fail(want.Pos, FailExpectation, "step "+path+" is "+status+", not "+want.Text, "", lines...)
}

// differences lists where two values differ; none when they are equal. Numbers
// are equal by their value, whatever their form.
func differences(got, want any) []string {
	var lines []string
	walkDiff("", got, want, func(path, line string) {
		if path != "" {
			line = "at " + path + ": " + line
		}
		lines = append(lines, line)
	})
	if len(lines) > maxDiffLines {
		lines = append(lines[:maxDiffLines], fmt.Sprintf("… and %d more differences", len(lines)-maxDiffLines))
	}
	return lines
}

func walkDiff(path string, got, want any, tell func(path, line string)) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			diffObjects(path, g, w, tell)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			diffLists(path, g, w, tell)
			return
		}
	case string:
		if g, ok := got.(string); ok && g != w && strings.Contains(g+w, "\n") {
			diffTexts(path, g, w, tell)
			return
		}
	}
	if !schema.Same(got, want) {
		tell(path, "want "+show(want)+", got "+show(got))
	}
}

func diffObjects(path string, got, want map[string]any, tell func(path, line string)) {
	for _, name := range sortedKeys(want) {
		value, ok := got[name]
		if !ok {
			tell(path+"."+name, "want "+show(want[name])+", got nothing")
			continue
		}
		walkDiff(path+"."+name, value, want[name], tell)
	}
	for _, name := range sortedKeys(got) {
		if _, wanted := want[name]; !wanted {
			tell(path+"."+name, "not wanted, got "+show(got[name]))
		}
	}
}

func diffLists(path string, got, want []any, tell func(path, line string)) {
	for i := range max(len(got), len(want)) {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(got):
			tell(at, "want "+show(want[i])+", got nothing")
		case i >= len(want):
			tell(at, "not wanted, got "+show(got[i]))
		default:
			walkDiff(at, got[i], want[i], tell)
		}
	}
}

// diffTexts shows the lines of two texts from the first one that differs.
func diffTexts(path, got, want string, tell func(path, line string)) {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		inG, inW := i < len(g), i < len(w)
		if inG {
			a = g[i]
		}
		if inW {
			b = w[i]
		}
		if inG == inW && a == b {
			continue
		}
		at := "line " + strconv.Itoa(i+1)
		if path != "" {
			at = path + " " + at
		}
		if inW {
			tell(at, "- "+clip(b))
		}
		if inG {
			tell(at, "+ "+clip(a))
		}
	}
}

// firstFalse returns the first part of a conjunction that is not true; "" when
// the expression is none.
func firstFalse(x *eval.Expression, world map[string]any, at time.Time) string {
	parts := x.Conjuncts()
	for _, part := range parts {
		if holds, err := evaluate(part, world, at); len(parts) > 1 && (err != nil || holds != true) {
			return part
		}
	}
	return ""
}

// explain shows the values that an expectation read, and where the two sides of
// a comparison differ.
func explain(source string, parsed *eval.Expression, world map[string]any, at time.Time) []string {
	var lines []string
	if part, issues := eval.Parse(source); len(issues) == 0 {
		parsed = part
	}
	if left, right, ok := parsed.Compared(); ok {
		got, errLeft := evaluate(left, world, at)
		want, errRight := evaluate(right, world, at)
		if errLeft == nil && errRight == nil {
			lines = append(lines, differences(got, want)...)
		}
	}
	seen := map[string]bool{}
	for _, read := range parsed.Reads() {
		text := parsed.Source()[read.Start:read.End]
		if seen[text] {
			continue
		}
		seen[text] = true
		switch text {
		case "calls", "logs":
			lines = append(lines, listed(text, world[text])...)
		default:
			lines = append(lines, text+" = "+shownRead(text, world, at))
		}
	}
	return lines
}

// shownRead evaluates a value that an expression reads; what is read of
// something null is shown as null.
func shownRead(text string, world map[string]any, at time.Time) string {
	value, err := evaluate(text, world, at)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return show(value)
}

// maxListed bounds how many calls or log lines are shown.
const maxListed = 8

// listed shows calls and log lines, one a line.
func listed(name string, value any) []string {
	list, _ := value.([]any)
	if len(list) == 0 {
		return []string{name + " = []"}
	}
	var lines []string
	for i, item := range list {
		if i == maxListed {
			return append(lines, fmt.Sprintf("… and %d more %s", len(list)-i, name))
		}
		fields, _ := item.(map[string]any)
		text := fmt.Sprintf("%v %v: %v", fields["level"], fields["step"], fields["message"])
		if name == "calls" {
			text = fmt.Sprintf("%v: %v %s, answered by %v", fields["step"], fields["action"], show(fields["input"]), fields["answer"])
		}
		lines = append(lines, fmt.Sprintf("%s[%d] = %s", name, i, clip(text)))
	}
	return lines
}
