package project_test

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/project"
)

// Commands edit a file in which plugins are told something: it stays as it is.
func TestIssue16_1_AnEditLeavesWhatPluginsAreTold(t *testing.T) {
	t.Parallel()
	const file = "plugins:\n  crm:\n    source: ./endpoints   # ours\n    with: {document: crm.json, only: [a, b]}\n  mail: {source: \"bundled:openapi\", with: {document: mail.json}}\n"
	edited, err := project.AddPlugin([]byte(file), project.Plugin{Name: "words", Source: "./words"})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(file), "\n") {
		if !strings.Contains(string(edited), line) {
			t.Errorf("the edit lost %q:\n%s", line, edited)
		}
	}
	if edited, err = project.GrantPlugin([]byte(file), "crm", project.Grants{Hosts: []string{"crm.example"}}); err != nil || !strings.Contains(string(edited), "only: [a, b]") {
		t.Errorf("%v\n%s", err, edited)
	}
	parsed, problems := project.Parse("flowrun.yaml", edited)
	if problems.HasErrors() || len(parsed.Plugins) != 2 || parsed.Plugins[0].With == nil || parsed.Plugins[1].Bundled != "openapi" || parsed.Plugins[1].Source != "" {
		t.Errorf("%v: %+v", problems, parsed.Plugins)
	}
	for text, want := range map[string]string{"plugins: {a: {with: [1]}}": "FR5001", "plugins: {a: {}}": "FR5005", "plugins: {a: {source: \"bundled:b\"}}": ""} {
		_, problems := project.Parse("flowrun.yaml", []byte(text))
		got := ""
		for _, problem := range problems {
			got += problem.Code
		}
		if got != want {
			t.Errorf("%s gives %q, want %q", text, got, want)
		}
	}
}
