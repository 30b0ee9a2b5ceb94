package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/spec"
)

// What is wrong with a message has its place in the project file.
func TestWrongMessagesHaveTheirPlaces(t *testing.T) {
	for text, want := range map[string]string{
		`{body: {text: "${{ message.text }}"}}`:                         "",
		`{body: "${{ message.text }}"}`:                                 "",
		`{body: {a: ["${{ message.run }}"], b: "${{ secrets.X }}"}}`:    "",
		`{body: {text: "${{ message.txt }}"}}`:                          "FR3006 1:28",
		`{body: {text: "${{ txt }}"}}`:                                  "FR3005 1:20",
		`{body: {text: "${{ inputs.x }}"}}`:                             "FR3005 1:20",
		`{body: {text: "in ${{ message.run }}"}}`:                       "FR3011 1:23",
		`{body: "${{ message.run }}"}`:                                  "FR4006 1:8",
		`{body: {text: "Token ${{ secrets.X }}"}}`:                      "FR4013 1:26",
		`{body: {text: "${{ secrets.X + 'a' }}"}}`:                      "FR3012 1:20",
		`{body: {text: "${{ message.event == 'faild' }}"}}`:             "FR3015 1:34",
		`{body: {text: "${{ message. }}"}}`:                             "FR3001 1:27",
		`{body: {$secret: X}}`:                                          "FR4015 1:9",
		`{headers: {A: "${{ message }}"}}`:                              "FR4006 1:15",
		`{headers: {A: "${{ message.link }}", B: "${{ message.at }}"}}`: "FR4006 1:15",
	} {
		root, problems := spec.ParseNode("flowrun.yaml", []byte(text), spec.DefaultLimits())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var headers []spec.Pair
		if node := root.Get("headers"); node != nil {
			headers = node.Pairs
		}
		_, problems = check.NotifyMessage("flowrun.yaml", root.Get("body"), headers)
		var places []string
		for _, p := range problems {
			places = append(places, fmt.Sprintf("%s %d:%d", p.Code, p.Line, p.Column))
			if p.File != "flowrun.yaml" {
				t.Errorf("%s: the file is %q", text, p.File)
			}
		}
		if got := strings.Join(places, ", "); got != want {
			t.Errorf("%s\n got %s\nwant %s\n%v", text, got, want, problems)
		}
	}
}
