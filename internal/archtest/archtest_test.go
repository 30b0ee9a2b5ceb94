package archtest_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/archtest"
)

func TestTheModuleKeepsItsImportRules(t *testing.T) {
	command := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", archtest.Module+"/...")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []archtest.Package
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	for {
		var p archtest.Package
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
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
		{ImportPath: "example.com/other", Imports: []string{module + "engine/local"}},
	}
	want := []string{
		"engine must not import engine/conformance",
		"engine/check must not import github.com/expr-lang/expr/ast: only [engine/eval] may",
		"engine/check must not import gopkg.in/yaml.v3: only [engine/spec] may",
		"engine/dispatch must not name engine/boltstore, not in its tests either: it stands behind a seam",
		"engine/interp must not import engine/boltstore",
		"engine/interp must not name engine/boltstore, not in its tests either: it stands behind a seam",
		"engine/plan must not import engine/diag",
		"engine/secret must not name engine/boltstore, not in its tests either: it stands behind a seam",
		"internal/cli/view must not import engine/local",
		"plugins/netinfo must not import engine",
		"plugins/netinfo/netinfosim must not import sdk",
		"unknown must not import engine",
	}
	if diff := cmp.Diff(want, archtest.ProductRules().Violations(packages)); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
