package rows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// mutant is a fault in a plugin's decoder: a piece of source, and what stands in
// its place.
type mutant struct {
	plugin, name string
	line         int
	file         string // from the root of the module
	old, fault   string
}

// mutantsOf is how many there are at least for each plugin. One that a second
// guard makes harmless is none.
const mutantsOf = 10

// mutantPlugins are the plugins with faults.
var mutantPlugins = []string{"analytics", "auth", "dictionary", "netinfo", "tasks"}

// loadMutants reads mutants/NAME.txt: `=== name`, `file: path`, the source between
// `---` and `+++`, and what replaces it up to the next `===`.
func loadMutants(plugin string) ([]mutant, error) {
	text, err := os.ReadFile(filepath.Join("mutants", plugin+".txt"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	var into *string
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "=== "):
			all = append(all, mutant{plugin: plugin, name: line[4:], line: i + 1})
			into = nil
		case len(all) == 0:
			if !strings.HasPrefix(line, "#") && line != "" {
				return nil, fmt.Errorf("%s.txt:%d: %q stands before the first mutant", plugin, i+1, line)
			}
		case strings.HasPrefix(line, "file: "):
			all[len(all)-1].file = line[6:]
		case line == "---":
			into = &all[len(all)-1].old
		case line == "+++":
			into = &all[len(all)-1].fault
		case into != nil:
			*into += line + "\n"
		case line != "":
			return nil, fmt.Errorf("%s.txt:%d: %q is nothing of a mutant", plugin, i+1, line)
		}
	}
	return all, nil
}

// source is the file with the fault. The old text stands in it exactly once.
func (m mutant) source() ([]byte, error) {
	path := filepath.Join("..", "..", m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	old := strings.TrimRight(m.old, "\n")
	if n := strings.Count(string(text), old); n != 1 || strings.TrimSpace(old) == "" {
		return nil, fmt.Errorf("%s has the old text %d times: write the mutant anew", m.file, n)
	}
	fault := strings.Replace(string(text), old, strings.TrimRight(m.fault, "\n"), 1)
	if _, err := parser.ParseFile(token.NewFileSet(), path, fault, 0); err != nil {
		return nil, fmt.Errorf("with the fault %s can't be read: %w", m.file, err)
	}
	if fault == string(text) {
		return nil, errors.New("nothing changes")
	}
	return []byte(fault), nil
}

func (m mutant) String() string { return fmt.Sprintf("%s.txt:%d %s", m.plugin, m.line, m.name) }

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
			if _, err := m.source(); err != nil {
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
			t.Run(plugin+"/"+m.name, func(t *testing.T) {
				if only := os.Getenv("FLOWRUN_ROW_MUTANT"); only != "" && !strings.Contains(m.name, only) {
					t.Skip("not asked for")
				}
				noticed, err := m.noticed(t, cases)
				if err != nil {
					t.Fatal(err)
				}
				if len(noticed) == 0 {
					t.Errorf("%s: no row of %s notices it", m, plugin)
					return
				}
				t.Logf("noticed by %d, such as %s", len(noticed), shorten(noticed[0]))
			})
		}
	}
}

// noticed takes the cases through a program with the fault, as steps and, where
// that shows nothing, as calls, and returns what the judgement finds.
func (m mutant) noticed(t *testing.T, cases []*example) ([]string, error) {
	t.Helper()
	source, err := m.source()
	if err != nil {
		return nil, err
	}
	dir := t.TempDir()
	replaced, err := filepath.Abs(filepath.Join("..", "..", m.file))
	if err != nil {
		return nil, err
	}
	fault, overlay, binary := filepath.Join(dir, "fault.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "flowrun")
	if err := os.WriteFile(fault, source, 0o600); err != nil {
		return nil, err
	}
	content, err := json.Marshal(map[string]map[string]string{"Replace": {replaced: fault}})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(overlay, content, 0o600); err != nil {
		return nil, err
	}
	if err := build(t, binary, overlay); err != nil {
		return nil, err
	}
	for _, w := range []way{byStep, byCall} {
		acts := slices.DeleteFunc(actsOf(cases), func(a *act) bool { return a.way != w })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		s := newStage(t, binary, acts)
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
