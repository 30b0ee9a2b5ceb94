package rows

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/mutant"
)

// mutantsOf is how many there are at least for each plugin. One that a second
// guard makes harmless is none.
const mutantsOf = 10

// root is the module's folder.
const root = "../.."

// mutantPlugins are the plugins with faults.
var mutantPlugins = []string{"analytics", "auth", "dictionary", "netinfo", "tasks"}

// loadMutants reads mutants/NAME.txt.
func loadMutants(plugin string) ([]mutant.Mutant, error) {
	return mutant.Read(filepath.Join("mutants", plugin+".txt"))
}

// TestMutantsFitTheSource fails when a decoder has changed and a mutant no longer
// says what to spoil. It builds nothing.
func TestMutantsFitTheSource(t *testing.T) {
	for _, plugin := range mutantPlugins {
		mutants, err := loadMutants(plugin)
		if err != nil {
			t.Fatal(err)
		}
		if len(mutants) < mutantsOf {
			t.Errorf("%s has %d mutants, there must be %d", plugin, len(mutants), mutantsOf)
		}
		for _, m := range mutants {
			if _, err := m.Source(root); err != nil {
				t.Errorf("%s: %v", m, err)
			}
		}
	}
}

// TestMutantsAreNoticed builds the program with each fault and takes the rows of
// the plugin through it. It takes some minutes: FLOWRUN_ROW_MUTANTS names the
// plugins, or all; `make row-mutants` does.
func TestMutantsAreNoticed(t *testing.T) {
	wanted := os.Getenv("FLOWRUN_ROW_MUTANTS")
	if wanted == "" {
		t.Skip("make row-mutants")
	}
	for _, plugin := range mutantPlugins {
		if wanted != "all" && !slices.Contains(strings.Split(wanted, ","), plugin) {
			continue
		}
		cases, err := loadAll("cases", plugin)
		if err != nil {
			t.Fatal(err)
		}
		cases = slices.DeleteFunc(cases, func(e *example) bool { return e.today != "" || len(e.command) > 0 || e.alone })
		mutants, err := loadMutants(plugin)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutants {
			t.Run(plugin+"/"+m.Name, func(t *testing.T) {
				if only := os.Getenv("FLOWRUN_ROW_MUTANT"); only != "" && !strings.Contains(m.Name, only) {
					t.Skip("not asked for")
				}
				by, err := noticed(t, m, cases)
				if err != nil {
					t.Fatal(err)
				}
				if len(by) == 0 {
					t.Errorf("%s: no row of %s notices it", m, plugin)
					return
				}
				t.Logf("noticed by %d, such as %s", len(by), shorten(by[0]))
			})
		}
	}
}

// noticed takes the cases through a program with the fault, as steps and, where
// that shows nothing, as calls, and returns what the judgement finds.
func noticed(t *testing.T, m mutant.Mutant, cases []*example) ([]string, error) {
	t.Helper()
	dir := t.TempDir()
	overlay, err := mutant.Overlay(dir, root, m)
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(dir, "flowrun")
	if err := build(t, binary, overlay); err != nil {
		return nil, err
	}
	for _, w := range []way{byStep, byCall} {
		acts := slices.DeleteFunc(actsOf(cases), func(a *act) bool { return a.way != w })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		s := newStage(t, binary, acts)
		s.spoiled = true
		s.own(t)
		s.perform(ctx, callers)
		if found := noticedIn(acts); len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

func noticedIn(acts []*act) []string {
	var found []string
	for _, a := range acts {
		for _, problem := range judge(a) {
			found = append(found, fmt.Sprintf("%s by %s: %s", a, a.way, problem))
		}
	}
	return found
}
