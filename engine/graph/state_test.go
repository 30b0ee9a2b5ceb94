package graph_test

import (
	"encoding/xml"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/graph"
	"github.com/flowrun/flowrun/engine/runs"
)

// sampleStates has a state of every status.
func sampleStates() map[string]graph.State {
	return map[string]graph.State{
		"range": {Status: runs.StepSucceeded, Text: "12ms"}, "rows": {Status: runs.StepRetrying, Text: "retry 2 of 4"},
		"each": {Status: runs.StepRunning, Text: "3/10"}, "each.one": {Status: runs.StepFailed, Text: "<&>"}, "each.two": {Status: runs.StepSkipped},
		"finally.end": {Status: "of a later version"},
	}
}

func link(path string) string {
	if path == "repair" {
		return ""
	}
	return `/runs/x/steps/"` + path + `"&`
}

func TestStatesGolden(t *testing.T) {
	golden(t, "states.svg", graph.Draw(sample(), graph.Options{States: sampleStates(), Link: link}))
	golden(t, "bare.svg", graph.Draw(sample(), graph.Options{States: sampleStates(), Link: link, Bare: true}))
}

func TestADrawingForAPageHasNoStyleOfItsOwn(t *testing.T) {
	drawn := graph.Draw(sample(), graph.Options{Bare: true, States: sampleStates(), Link: link})
	for _, lacks := range []string{"<style", "style=", `class="page"`, `class="name"`, "/steps/\"repair"} {
		if strings.Contains(drawn, lacks) {
			t.Errorf("it has %s", lacks)
		}
	}
	for _, want := range []string{
		`role="group"`, `class="step loop maybe in t-run" data-step="each"`, `class="step action in t-bad" data-step="each.one"`,
		`class="step action maybe out" data-step="repair"`, `<title>rows; svc.list; retrying, retry 2 of 4</title>`, "&lt;&amp;&gt;",
		`href="/runs/x/steps/&quot;each&quot;&amp;"`,
	} {
		if !strings.Contains(drawn, want) {
			t.Errorf("it lacks %s", want)
		}
	}
}

func TestLinksAreNotInsideOfLinks(t *testing.T) {
	decoder := xml.NewDecoder(strings.NewReader(graph.Draw(sample(), graph.Options{States: sampleStates(), Link: link})))
	depth, links := 0, 0
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "a" {
				if links++; depth > 0 {
					t.Error("a link is inside of a link")
				}
				depth++
			}
		case xml.EndElement:
			if token.Name.Local == "a" {
				depth--
			}
		}
	}
	if links != 6 {
		t.Errorf("%d links", links)
	}
}

func TestEveryStatusHasATag(t *testing.T) {
	for _, status := range []runs.StepStatus{
		runs.StepPending, runs.StepRunning, runs.StepWaiting, runs.StepRetrying, runs.StepSucceeded, runs.StepFailed, runs.StepSkipped,
		runs.StepBlocked, runs.StepCanceled, runs.StepUnknown,
	} {
		drawn := graph.Draw(sample(), graph.Options{States: map[string]graph.State{"range": {Status: status}}})
		if strings.Contains(drawn, `<path d=""/>`) || !strings.Contains(drawn, `class="tag"`) {
			t.Errorf("%s has no mark", status)
		}
	}
}

// TestIssue12_26_NoTagLiesOverAnArrow: an arrow's head ends at the top of its box.
func TestIssue12_26_NoTagLiesOverAnArrow(t *testing.T) {
	states := map[string]graph.State{}
	collect := regexp.MustCompile(`data-step="([^"]+)"`)
	for _, match := range collect.FindAllStringSubmatch(graph.SVG(sample()), -1) {
		states[match[1]] = graph.State{Status: runs.StepFailed, Text: "16 failed, 500 ok, 84 blocked"}
	}
	drawn := graph.Draw(sample(), graph.Options{Bare: true, States: states})
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	heads := regexp.MustCompile(`<path class="edge[^"]*" d="[^"]*?(\d+) (\d+)" marker-end`).FindAllStringSubmatch(drawn, -1)
	tags := regexp.MustCompile(`<g class="tag"><rect x="(-?\d+)" y="(\d+)" width="(\d+)" height="(\d+)"`).FindAllStringSubmatch(drawn, -1)
	if len(heads) < 3 || len(tags) != len(states) {
		t.Fatalf("%d arrows, %d tags of %d steps", len(heads), len(tags), len(states))
	}
	for _, tag := range tags {
		left, top, wide, high := number(tag[1]), number(tag[2]), number(tag[3]), number(tag[4])
		for _, head := range heads {
			x, y := number(head[1]), number(head[2])
			if x+5 > left && x-5 < left+wide && y > top && y-10 < top+high {
				t.Errorf("the tag at %d %d lies over the arrow that ends at %d %d", left, top, x, y)
			}
		}
	}
}
