package project

import (
	"strings"
	"testing"
)

func TestIssue15_8_AnAddressIsHTTPSAlone(t *testing.T) {
	for source, wrong := range map[string]bool{
		"https://plugins.example/kv.tar.gz": false, "http://plugins.example/kv.tar.gz": true, "file:///bin/kv": true, "./bin/kv": false, "/opt/kv": false,
	} {
		_, problems := Parse("flowrun.yaml", []byte("plugins:\n  kv: {source: \""+source+"\"}\n"))
		found := false
		for _, problem := range problems {
			found = found || problem.Code == CodeNoSource && strings.Contains(problem.Message, "is an address") && problem.Pos.Line == 2
		}
		if found != wrong {
			t.Errorf("%s: %v", source, problems)
		}
	}
}
