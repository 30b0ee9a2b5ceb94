package runs_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
)

// paths are texts with what they say.
var paths = map[string]runs.Path{
	"":                        {},
	"a":                       {Step: "a"},
	"finally:log":             {Handler: "finally", Step: "log"},
	"on_success@3:log!sleep":  {Handler: "on_success", Again: 3, Step: "log", Timer: "sleep"},
	"domains[example.com]":    {Items: []runs.Item{{Loop: "domains", Key: "example.com"}}},
	"a[x:y].b[1@2].c":         {Items: []runs.Item{{Loop: "a", Key: "x:y"}, {Loop: "b", Key: "1@2"}}, Step: "c"},
	"a#round2#page3!retry2@2": {Step: "a", Part: "round2#page3", Timer: "retry2", Epoch: 2},
	"a[k].b#reconcile":        {Items: []runs.Item{{Loop: "a", Key: "k"}}, Step: "b", Part: "reconcile"},
	"!run@2":                  {Timer: "run", Epoch: 2},
	"a!round@02":              {Step: "a", Timer: "round@02"},
	"finally@1:a":             {Step: "finally@1:a"},
	"else:a":                  {Step: "else:a"},
	"each.get":                {Step: "each.get"},
	"a[b":                     {Step: "a[b"},
	"a[b]c":                   {Step: "a[b]c"},
	"a[b].":                   {Step: "a[b]."},
	"[b].c":                   {Step: "[b].c"},
	"a#":                      {Step: "a#"},
	"a!":                      {Step: "a!"},
}

func TestPathsHaveTheirParts(t *testing.T) {
	for text, want := range paths {
		if got := runs.ParsePath(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
}

func TestKeysAreEscapedInPaths(t *testing.T) {
	for key, want := range map[string]string{
		"example.com": "example.com", "a[0]": "a%5B0%5D", "50%": "50%25", "a#b!c": "a%23b%21c", "a\nb": "a%0Ab", "ä ö": "ä ö",
	} {
		prefix := runs.ItemPrefix("each", key)
		if want = "each[" + want + "]."; prefix != want {
			t.Errorf("the item %q is %q, want %q", key, prefix, want)
		}
		if p := runs.ParsePath(prefix + "a"); len(p.Items) != 1 || p.Items[0].Plain() != key || p.Step != "a" {
			t.Errorf("%sa is %+v", prefix, p)
		}
	}
}

// TestPathsThatAreMadeAreRead: what the Machine writes with any keys and numbers has
// the parts that it was made of, and each relative is the text that it stands for.
func TestPathsThatAreMadeAreRead(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 8))
	for range 5000 {
		want := runs.Path{Step: word(random, "abz_19")}
		head := ""
		if handler := []string{"", runs.HandlerSuccess, runs.HandlerFailure, runs.HandlerFinally}[random.IntN(4)]; handler != "" {
			again := random.IntN(4)
			want.Handler, head = handler, runs.HandlerPrefix(handler, again)
			if again > 1 {
				want.Again = again
			}
		}
		text, loop := head, ""
		var keys []string
		for range random.IntN(4) {
			id, key := word(random, "abc"), word(random, "a[]#!%.:@ä\n\x7f")
			loop, text = text+id, runs.ItemPrefix(text+id, key)
			keys = append(keys, key)
			written, _ := strings.CutPrefix(text, loop+"[")
			want.Items = append(want.Items, runs.Item{Loop: id, Key: strings.TrimSuffix(written, "].")})
		}
		step := text + want.Step
		if random.IntN(2) == 0 {
			want.Part = "window2#page3"
		}
		operation := step
		if want.Part != "" {
			operation = runs.PartPath(runs.PartPath(step, runs.PartWindow, 2), runs.PartPage, 3)
		}
		text = operation
		if random.IntN(2) == 0 {
			want.Timer, want.Epoch = "retry2", 2+random.IntN(3)
			text = runs.TimerPath(operation, "retry2", want.Epoch)
		}
		got := runs.ParsePath(text)
		if !reflect.DeepEqual(got, want) || got.String() != text {
			t.Fatalf("%q is %+v, want %+v", text, got, want)
		}
		for i, item := range got.Items {
			if item.Plain() != keys[i] {
				t.Fatalf("key %d of %q is %q, want %q", i, text, item.Plain(), keys[i])
			}
		}
		if runs.OperationOf(text) != operation || got.Operation().String() != operation || runs.StepOf(text) != step || runs.IsTimer(text) != (want.Timer != "") {
			t.Fatalf("%q is of the operation %q and the step %q", text, runs.OperationOf(text), runs.StepOf(text))
		}
		if above, inside := got.Loop(); inside != (loop != "") || inside && above.String() != loop {
			t.Fatalf("%q is in the loop %q, want %q", text, above, loop)
		}
		if !inLoop(step, loop, keys) {
			t.Fatalf("%q is in no item of %q", step, loop)
		}
	}
}

func inLoop(step, loop string, keys []string) bool {
	item, key, inner := runs.ItemOf(step, loop)
	if loop == "" {
		return item == ""
	}
	return runs.InLoop(step, loop) && key == keys[len(keys)-1] && item+"."+inner == step && !strings.Contains(inner, "[")
}

func word(random *rand.Rand, letters string) string {
	all := []rune(letters)
	var b strings.Builder
	for range 1 + random.IntN(4) {
		b.WriteRune(all[random.IntN(len(all))])
	}
	return b.String()
}

func TestRelativesOfPaths(t *testing.T) {
	for text, want := range map[string][2]string{ // the top step, and the place in the workflow
		"a": {"a", "a"}, "a[k].b": {"a", "a.b"}, "a[k]": {"a", "a"}, "finally@2:a[k].b[l].c#page2": {"finally@2:a", "finally:a.b.c"},
		"finally:a.b": {"finally:a.b", "finally:a.b"}, "a.b[k].c": {"a.b", "a.b.c"},
	} {
		p := runs.ParsePath(text)
		if got := [2]string{p.Top().String(), p.Written()}; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzPath(f *testing.F) {
	for text := range paths {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := runs.ParsePath(text).String(); got != text {
			t.Errorf("%q is written %q", text, got)
		}
	})
}

func FuzzWait(f *testing.F) {
	for _, text := range []string{"", "retry 2 of 4", "retry 2 of 04", "retry", "round 3", "round x", "rate limit", "disk almost full", "approval"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := runs.ParseWait(text).String(); got != text {
			t.Errorf("%q is written %q", text, got)
		}
	})
}
