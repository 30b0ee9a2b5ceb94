package archtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/archtest"
)

func TestTheModuleKeepsItsImportRules(t *testing.T) {
	command := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports,Dir,GoFiles", archtest.Module+"/...")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []archtest.Package
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	for {
		var p struct {
			archtest.Package
			Dir     string
			GoFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			p.Files++
			p.Lines += bytes.Count(text, []byte{'\n'})
		}
		packages = append(packages, p.Package)
	}
	if len(packages) < 20 {
		t.Fatalf("go list found %d packages only", len(packages))
	}
	for _, violation := range archtest.ProductRules().Violations(packages) {
		t.Error(violation)
	}
}

func TestABrokenImportRuleIsFound(t *testing.T) {
	const module = archtest.Module + "/"
	packages := []archtest.Package{
		{ImportPath: module + "plugins/netinfo", Imports: []string{module + "sdk", module + "engine"}},
		{ImportPath: module + "engine/interp", Imports: []string{module + "engine/eval", "os", module + "engine/boltstore"}},
		{ImportPath: module + "engine/plan", Imports: []string{module + "engine/diag"}},
		{ImportPath: module + "engine/check", Imports: []string{"gopkg.in/yaml.v3", "github.com/expr-lang/expr/ast"}},
		{ImportPath: module + "internal/cli/view", Imports: []string{module + "engine/plan", module + "engine/local"}},
		{ImportPath: module + "plugins/netinfo/netinfosim", Imports: []string{module + "internal/simkit", module + "sdk"}},
		{ImportPath: module + "unknown", Imports: []string{module + "engine"}},
		{ImportPath: module + "engine", Imports: []string{module + "engine/local", module + "engine/conformance"}},
		{ImportPath: module + "engine/local", Imports: []string{module + "engine/store"}, XTestImports: []string{module + "engine/boltstore"}},
		{ImportPath: module + "engine/secret", TestImports: []string{module + "engine/memstore"}, XTestImports: []string{module + "engine/boltstore"}},
		{ImportPath: module + "engine/dispatch", TestImports: []string{module + "engine/boltstore"}},
		{ImportPath: module + "engine/drive", Imports: []string{module + "engine/interp", module + "engine/dispatch"}},
		{ImportPath: module + "engine/fault", Imports: []string{module + "engine"}, Files: 900, Lines: 90_000},
		{ImportPath: module + "engine/lastwords", Imports: []string{module + "engine/runs"}},
		{ImportPath: module + "engine/pluginlog", Imports: []string{module + "engine/pluginhost"}},
		{ImportPath: module + "engine/calls", Imports: []string{module + "engine", module + "engine/connections"}},
		{ImportPath: module + "engine/upgrade", Imports: []string{module + "engine", module + "engine/local"}},
		{ImportPath: module + "engine/connections", Imports: []string{module + "engine", module + "engine/ports"}},
		{ImportPath: module + "engine/inforce", Imports: []string{module + "engine", module + "engine/store"}},
		{ImportPath: module + "engine/ports", Imports: []string{module + "engine", module + "engine/local"}},
		{ImportPath: module + "engine/runquery", Imports: []string{module + "engine", module + "engine/workspace"}},
		{ImportPath: module + "engine/telemetry", Imports: []string{module + "engine"}},
		{ImportPath: module + "engine/trigger", Imports: []string{module + "engine", module + "engine/local"}},
		{ImportPath: module + "engine/access", Imports: []string{module + "engine", module + "engine/services"}},
		{ImportPath: module + "engine/memory", Imports: []string{module + "engine", module + "engine/local"}},
		{ImportPath: module + "engine/upkeep", Imports: []string{module + "engine", module + "engine/trigger"}},
		{ImportPath: module + "engine/vitals", Imports: []string{module + "engine"}},
		{ImportPath: module + "engine/preview", Imports: []string{module + "engine", module + "engine/services"}},
		{ImportPath: module + "engine/services", Imports: []string{module + "engine", module + "engine/workspace"}},
		{ImportPath: module + "engine/workspace", Imports: []string{module + "engine", module + "engine/inforce"}},
		{ImportPath: module + "sdk/sdktest", Imports: []string{module + "sdk", module + "engine/secret"}},
		{ImportPath: module + "sdk/near", Imports: []string{module + "sdk"}},
		{ImportPath: module + "internal/testsdk", Imports: []string{module + "sdk"}},
		{ImportPath: module + "internal/plugintemplate", Imports: []string{module + "sdk/python", module + "engine/plugintree"}},
		{ImportPath: module + "internal/plugintemplate/golang", Imports: []string{module + "sdk", module + "internal/near"}},
		{ImportPath: "example.com/other", Imports: []string{module + "engine/local"}},
	}
	want := []string{
		"engine must not import engine/conformance",
		"engine/access must not import engine",
		"engine/access must not import engine/services",
		"engine/calls must not import engine",
		"engine/calls must not import engine/connections",
		"engine/check must not import github.com/expr-lang/expr/ast: only [engine/eval] may",
		"engine/check must not import gopkg.in/yaml.v3: only [engine/spec plugins/openapi/tree] may",
		"engine/connections must not import engine",
		"engine/connections must not import engine/ports",
		"engine/dispatch must not name engine/boltstore, not in its tests either: it stands behind a seam",
		"engine/drive must not import engine/dispatch",
		"engine/fault must not import engine",
		"engine/inforce must not import engine",
		"engine/inforce must not import engine/store",
		"engine/interp must not import engine/boltstore",
		"engine/interp must not name engine/boltstore, not in its tests either: it stands behind a seam",
		"engine/lastwords must not import engine/runs",
		"engine/memory must not import engine",
		"engine/memory must not import engine/local",
		"engine/plan must not import engine/diag",
		"engine/pluginlog must not import engine/pluginhost",
		"engine/ports must not import engine",
		"engine/ports must not import engine/local",
		"engine/preview must not import engine",
		"engine/preview must not import engine/services",
		"engine/runquery must not import engine",
		"engine/runquery must not import engine/workspace",
		"engine/secret must not name engine/boltstore, not in its tests either: it stands behind a seam",
		"engine/services must not import engine",
		"engine/services must not import engine/workspace",
		"engine/telemetry must not import engine",
		"engine/trigger must not import engine",
		"engine/trigger must not import engine/local",
		"engine/upgrade must not import engine",
		"engine/upgrade must not import engine/local",
		"engine/upkeep must not import engine",
		"engine/upkeep must not import engine/trigger",
		"engine/vitals must not import engine",
		"engine/workspace must not import engine",
		"engine/workspace must not import engine/inforce",
		"internal/cli/view must not import engine/local",
		"internal/plugintemplate must not import engine/plugintree",
		"internal/plugintemplate/golang must not import internal/near",
		"internal/testsdk must not import sdk",
		"plugins/netinfo must not import engine",
		"plugins/netinfo/netinfosim must not import sdk",
		"sdk/near must not import sdk",
		"sdk/sdktest must not import engine/secret",
		"unknown must not import engine",
	}
	if diff := cmp.Diff(want, archtest.ProductRules().Violations(packages)); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// TestAnEngineThatGrowsIsFound: one file or one line more than its bound.
func TestAnEngineThatGrowsIsFound(t *testing.T) {
	bound := archtest.ProductRules().Bounds["engine"]
	for _, p := range []archtest.Package{{Files: bound.Files + 1, Lines: 1}, {Files: 1, Lines: bound.Lines + 1}} {
		p.ImportPath = archtest.Module + "/engine"
		if found := archtest.ProductRules().Violations([]archtest.Package{p}); len(found) != 1 || !strings.Contains(found[0], "a part of its own") {
			t.Errorf("%d files of %d lines: %q", p.Files, p.Lines, found)
		}
	}
	if found := archtest.ProductRules().Violations([]archtest.Package{{ImportPath: archtest.Module + "/engine", Files: bound.Files, Lines: bound.Lines}}); len(found) != 0 {
		t.Errorf("at its bound: %q", found)
	}
}
