package sound

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// noticed is how long a mutant may live.
const noticed = 60 * time.Second

// mutants are rules of the checker that are wrong: one edit each.
var mutants = []struct{ name, file, old, new string }{
	{"null in an object", "eval/infer_operator.go", "case left.MayBeNull():\n\t\t\treturn c.issueOver", "case false:\n\t\t\treturn c.issueOver"},
	{"null elements", "eval/infer_call.go", "misfit(elem, allowed) != nil || elem.MayBeNull()", "misfit(elem, allowed) != nil"},
	{"mixed elements", "eval/infer_call.go", "return len(t.Each()) == 1", "return true"},
	{"null names of fromPairs", "eval/infer_call.go", "case name.MayBeNull():", "case false:"},
	{"the first alternative alone", "eval/infer_call.go", "for i := range combinations {", "for i := range 1 {"},
	{"a predicate's list of two types", "eval/predicate.go", "if wrong := misfit(list, lists); wrong != nil {", "if wrong := misfit(list, lists); wrong != nil && list.Alternatives == nil {"},
	{"any place of a list", "eval/infer_member.go", "case needed > 0 && c.least(n.Node, base, scope) >= needed, scope.isPresent(n):", "case needed >= 0:"},
	{"len(x) >= n proves one more", "eval/facts_length.go", "return notEmpty(counted, bound, scope)", "return notEmpty(counted, bound+1, scope)"},
	{"what was known of a hidden name", "eval/scope.go", "break // what is known beyond is of another value", "continue"},
	{"a computed name beside written ones", "eval/infer.go", "fields[i].Type = schema.Join(fields[i].Type, value)", "_ = i"},
	{"reduce looks once", "eval/predicate.go", "if next.Equal(acc) && round > 0 {", "if round == 0 {"},
	{"either side of or proves", "eval/facts.go", "case \"or\", \"||\":\n\t\tif !truth {", "case \"or\", \"||\":\n\t\tif truth {\n\t\t\treturn assume(n.Right, true, assume(n.Left, true, scope))\n\t\t}\n\t\tif !truth {"},
	{"unknown arguments", "eval/infer_call.go", "c.mustKnow(arg, t, f.name+\" can't be checked\")", "_ = t"},
	{"the elements of one of two lists", "schema/join.go", "joined.Elem = Join(a.Element(), b.Element())", "joined.Elem = a.Element()"},
	{"first is never null", "eval/infer_call.go", "default:\n\t\treturn schema.Nullable(list.Element())", "default:\n\t\treturn list.Element()"},
	{"any field is there", "eval/infer_member.go", "if t.Secret {\n\t\treturn t\n\t}\n\treturn schema.Nullable(t)", "return t"},
	{"a default proves nothing of the other truth", "eval/facts_length.go", "givesOnly(node, choice, !truth)", "givesOnly(node, choice, truth)"},
	{"a step that goes on after a failure", "check/rule_scope.go", "if target.continues() || !target.runsOnOK()", "if !target.runsOnOK()"},
	{"an assertion that was skipped", "check/rule_proof.go", "src.If != nil || src.Written(\"if\") || ", ""},
	{"inputs of unknown type", "schema/fits.go", "f := fitting{sure: true}", "f := fitting{}"},
	{"the error of a blocked step", "check/rule_proof.go", "return len(target.needs) == 0 || !target.runsOnOK()", "return true"},
	{"all fields are declared", "eval/infer_call.go", "t := object.Others()", "t := object.Additional"},
	{"a computed name is one that is declared", "eval/infer_member.go", "if base.Open {\n\t\tt = schema.BeyondOrNull()", "if false {\n\t\tt = schema.BeyondOrNull()"},
	{"a field of one of two objects", "schema/join.go", "case other.Open:", "case false:"},
	{"an open object as an input", "schema/fits.go", "case t.Additional == nil && !(t.Open && f.sure):", "case t.Additional == nil:"},
	{"a name with dots is a path", "eval/method.go", "case open && one.Open:", "case false:"},
	{"excluded names are read", "interp/action.go", "decode := (*schema.Type).DecodeAnswer", "decode := (*schema.Type).Decode"},
	{"a status proves what it does not", "check/rule_proof.go", "[]string{string(plan.StepFailed)}, of(\"error\")", "[]string{string(plan.StepFailed)}, of(\"outputs\")"},
}

// TestSoundMutants breaks one rule of the checker at a time: the trials must notice
// each within a minute. FLOWRUN_SOUND_MUTANTS says that it is to run.
func TestSoundMutants(t *testing.T) {
	if amount(t, "SOUND_MUTANTS", 0) == 0 {
		t.Skip("make sound-mutants runs this: it builds the checker once for each mutant")
	}
	engine, err := filepath.Abs("../../engine")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			binary := mutated(t, filepath.Join(engine, m.file), m.old, m.new)
			took, out := trial(t, binary)
			if !strings.Contains(out, "fails:") && !strings.Contains(out, "workflow ") {
				t.Fatalf("not noticed within %s:\n%.2000s", noticed, out)
			}
			t.Logf("noticed within %.1f s", took.Seconds())
		})
	}
}

// mutated builds the trials with one edit.
func mutated(t *testing.T, file, old, edited string) string {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(source, []byte(old)); n != 1 {
		t.Fatalf("%s has %q %d times, want once", file, old, n)
	}
	folder := t.TempDir()
	changed := filepath.Join(folder, filepath.Base(file))
	if err := os.WriteFile(changed, bytes.Replace(source, []byte(old), []byte(edited), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(folder, "sound.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", filepath.Join(folder, "overlay.json"), "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// trial runs both trials in turns, each turn with draws of its own, until one
// notices something. A turn is short, since a trial tells at its end.
func trial(t *testing.T, binary string) (time.Duration, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), noticed)
	defer cancel()
	began := time.Now()
	var all strings.Builder
	for seed := 1; ctx.Err() == nil; seed++ {
		for _, name := range []string{"TestSoundExpressions", "TestSoundWorkflows"} {
			run := exec.CommandContext(ctx, binary, "-test.run", "^"+name+"$")
			run.Env = append(os.Environ(), "FLOWRUN_SOUND_PROGRAMS=40000", "FLOWRUN_SOUND_WORKFLOWS=150", "FLOWRUN_SEED="+strconv.Itoa(seed))
			out, err := run.CombinedOutput()
			if err != nil && ctx.Err() == nil {
				return time.Since(began), string(out)
			}
			all.Write(out)
		}
	}
	return noticed, all.String()
}
