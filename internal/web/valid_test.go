package web

import (
	"strings"
	"testing"
)

func TestWhatMayNameARunOrAPlugin(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "a": true, "9": true, "01k8zq4c0vdx3y6t7k9m2n5p8r": true, "a_b-c": true, "_a": false, "-a": false, "A": false, "aB": false, "a.b": false,
		"a/b": false, "a\n": false, "é": false, "a\xff": false, strings.Repeat("a", 63): true, strings.Repeat("a", 64): false,
	} {
		if got := ValidID(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
