package project

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestNotifyTargetsAreRead(t *testing.T) {
	read, problems := Parse("flowrun.yaml", []byte(`notify:
  ops: {webhook: "${{ secrets.OPS_HOOK }}", on: [failed, paused, recovered]}
  chat: {webhook: https://chat.example/hook}
  script: {command: [./tell.sh, --quiet]}
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := []Notify{
		{Name: "ops", Secret: "OPS_HOOK", On: []string{"failed", "paused", "recovered"}},
		{Name: "chat", Webhook: "https://chat.example/hook"},
		{Name: "script", Command: []string{"./tell.sh", "--quiet"}},
	}
	if diff := cmp.Diff(want, read.Notify, cmpopts.IgnoreFields(Notify{}, "Pos")); diff != "" {
		t.Errorf("targets (-want +got)\n%s", diff)
	}
	if _, ok := read.NotifyTarget("chat"); !ok {
		t.Error("chat is not found")
	}
	if _, ok := read.NotifyTarget("nobody"); ok {
		t.Error("nobody is found")
	}
}

func TestWrongNotifyTargets(t *testing.T) {
	for text, want := range map[string]string{
		`notify: [a]`: "FR5001 1:9",
		`notify: {Ops: {webhook: https://a.example}}`:                             "FR5003 1:10",
		`notify: {ops: {on: [failed]}}`:                                           "FR5021 1:16",
		`notify: {ops: {webhook: https://a.example, command: [a]}}`:               "FR5021 1:16",
		`notify: {ops: {webhook: a.example}}`:                                     "FR5019 1:25",
		`notify: {ops: {webhook: "https://a.example/${{ secrets.X }}"}}`:          "FR5019 1:25",
		`notify: {ops: {command: []}}`:                                            "FR5001 1:25",
		`notify: {ops: {command: ["${{ secrets.X }}"]}}`:                          "FR5019 1:25",
		`notify: {ops: {command: [a], on: [faild]}}`:                              "FR5020 1:35",
		`notify: {ops: {webhok: https://a.example}}`:                              "FR5002 1:16, FR5021 1:16",
		`notify: {ops: {command: [a], body: x, headers: {A: b}}}`:                 "FR5021 1:30, FR5021 1:39",
		`notify: {ops: {webhook: https://a.example, method: GET}}`:                "FR5019 1:52",
		`notify: {ops: {webhook: https://a.example, content_type: a}}`:            "FR5019 1:58",
		`notify: {ops: {webhook: https://a.example, headers: {host: a}}}`:         "FR5019 1:54",
		`notify: {ops: {webhook: https://a.example, headers: {Content-type: a}}}`: "FR5019 1:54",
		`notify: {ops: {webhook: https://a.example, headers: {"a b": c}}}`:        "FR5019 1:54",
		`notify: {ops: {webhook: https://a.example, headers: {X-A: b, x-a: c}}}`:  "FR5019 1:62",
		`notify: {ops: {webhook: https://a.example, headers: {X-A: [b]}}}`:        "FR5001 1:59",
		`server: {public_url: "ftp://a.example"}`:                                 "FR5022 1:22",
		`server: {public_url: "https://me@a.example"}`:                            "FR5022 1:22",
	} {
		_, problems := Parse("flowrun.yaml", []byte(text))
		var places []string
		for _, p := range problems {
			places = append(places, fmt.Sprintf("%s %d:%d", p.Code, p.Line, p.Column))
		}
		if got := strings.Join(places, ", "); got != want {
			t.Errorf("%s\n got %s\nwant %s\n%v", text, got, want, problems)
		}
	}
}
