package mend_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/mend"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

// catalog has two actions.
type catalog struct{}

func (catalog) Action(name string) (*plan.Action, bool) {
	switch name {
	case "core.log":
		return &plan.Action{Name: "log", Plugin: "core", Input: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"level":{"type":"string","enum":["info","warn"]}},"required":["text"],"additionalProperties":false}`)}, true
	case "netinfo.whois":
		return &plan.Action{
			Name: "whois", Plugin: "netinfo", Effect: plan.EffectRead,
			Input:  json.RawMessage(`{"type":"object","properties":{"domain":{"type":"string"},"days":{"type":"integer"},"at":{"type":"string","format":"date-time"}},"required":["domain"],"additionalProperties":false}`),
			Output: json.RawMessage(`{"type":"object","properties":{"found":{"type":"boolean"},"registrar":{"type":["string","null"]},"name_servers":{"type":"array","items":{"type":"string"}}},"required":["found","registrar","name_servers"]}`),
		}, true
	}
	return nil, false
}

func (catalog) ActionNames() []string { return []string{"core.log", "netinfo.whois"} }

func (catalog) Validate(context.Context, string, json.RawMessage, []string) (check.Validation, error) {
	return check.Validation{}, nil
}

func (catalog) Connections() map[string]string { return map[string]string{"netinfo": "netinfo"} }
func (catalog) PluginProblem(string) string    { return "" }

func checked(src []byte) diag.List {
	tree, problems := spec.Parse("case.yaml", src)
	if tree != nil {
		_, more := check.Check(context.Background(), tree, catalog{})
		problems = append(problems, more...)
	}
	problems.Sort()
	return mend.Of(src, tree, problems, catalog{})
}

// seeds are workflows, right and wrong ones.
func seeds(t testing.TB) []string {
	t.Helper()
	var texts []string
	for _, pattern := range []string{"../check/testdata/*/*.yaml", "../../cmd/flowrun/testdata/messages/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 50 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = []byte(strings.TrimPrefix(string(text), "-- case.yaml --\n"))
			first, _, _ := strings.Cut(string(text), "-- want --\n")
			texts = append(texts, first)
		}
	}
	return texts
}

// holds fails when a mend can't be made of the file that it is for.
func holds(t *testing.T, src []byte) {
	t.Helper()
	for _, p := range checked(src) {
		if p.Mend == nil {
			continue
		}
		out, err := diag.Apply(src, p.Mend.Edits)
		if err != nil {
			t.Errorf("%s: %v\n%+v\n%s", p, err, p.Mend.Edits, src)
		} else if p.Mend.Certain && string(out) == string(src) {
			t.Errorf("%s: a mend that changes nothing\n%s", p, src)
		}
	}
}

// Whatever stands in a file, mends fit it: files are cut, and parts of them taken out and
// put elsewhere. The seed is new with each run and said where it fails.
func TestMendsFitTheirFile(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	for _, text := range seeds(t) {
		holds(t, []byte(text))
		holds(t, []byte("\xEF\xBB\xBF"+strings.ReplaceAll(text, "\n", "\r\n")))
		for range 6 {
			from := random.IntN(len(text) + 1)
			to := min(len(text), from+random.IntN(12))
			at := random.IntN(len(text) + 1)
			holds(t, []byte(text[:from]))
			holds(t, []byte(text[:from]+text[to:]))
			holds(t, []byte(text[:at]+text[from:to]+text[at:]))
		}
	}
}

// FuzzMends is TestMendsFitTheirFile for texts that a fuzzer finds.
func FuzzMends(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) < 4096 {
			holds(t, src)
		}
	})
}

// A fixed file has never more problems than before, and is fixed.
func TestFixNeverMakesMore(t *testing.T) {
	t.Parallel()
	for _, text := range seeds(t) {
		before := checked([]byte(text))
		fixed := mend.Fix([]byte(text), checked)
		if len(fixed.Left) > len(before) {
			t.Errorf("%d problems, %d after:\n%s\n%s", len(before), len(fixed.Left), text, fixed.Source)
		}
		if again := mend.Fix(fixed.Source, checked); string(again.Source) != string(fixed.Source) {
			t.Errorf("fixed twice:\n%s\n%s", fixed.Source, again.Source)
		}
	}
}
