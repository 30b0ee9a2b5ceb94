package project

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIssue13_04_GrantsAreRead(t *testing.T) {
	parsed, problems := Parse("flowrun.yaml", []byte(`plugins:
  a: {source: ./a, grants: {paths: [data, "/x:ro", "y:rw"], hosts: [h.example, "h.example:8", "https://h.example:9", "[::1]:7"], env: [LANG], commands: []}}
  b: {grants: {env: []}}
limits: {sandbox: require}
`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	want := Grants{
		Paths: []PathGrant{{Path: "data"}, {Path: "/x", ReadOnly: true}, {Path: "y"}},
		Hosts: []string{"h.example", "h.example:8", "https://h.example:9", "[::1]:7"}, Env: []string{"LANG"}, Commands: []string{},
	}
	if diff := cmp.Diff(want, parsed.Plugins[0].Grants); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if g := parsed.Plugins[1].Grants; g.Hosts != nil || g.Commands != nil {
		t.Errorf("what is not said is bounded: %+v", g)
	}
	if parsed.Limits.Sandbox != "require" {
		t.Errorf("sandbox = %q", parsed.Limits.Sandbox)
	}
}

func TestIssue13_04_WrongGrants(t *testing.T) {
	for grants, want := range map[string]string{
		`hosts: ["*.example"]`:               "no wildcards",
		`hosts: ["a.example:0"]`:             "no number from 1 to 65535",
		`hosts: ["https://me:pw@a.example"]`: "no URL of a host",
		`hosts: ["a b"]`:                     "FR5024",
		`env: [FLOWRUN_SECRET_X]`:            "keeps it to itself",
		`env: ["A-B"]`:                       "no name of a variable",
		`paths: ["${{ secrets.X }}"]`:        "takes no expressions",
		`files: [x]`:                         "FR5002",
	} {
		_, problems := Parse("flowrun.yaml", []byte("plugins: {a: {source: ./a, grants: {"+grants+"}}}\n"))
		if !problems.HasErrors() || !strings.Contains(problems.Err().Error(), want) {
			t.Errorf("%s: %v, want %q", grants, problems, want)
		}
	}
}
