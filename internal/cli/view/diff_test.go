package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDiffShowsChangesWithTheirSurroundings(t *testing.T) {
	var out strings.Builder
	before := "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n"
	after := "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n"
	Page{}.Diff(&out, "x", []byte(before), []byte(after))
	want := "--- x\n+++ x (formatted)\n@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -10,3 +10,4 @@\n j\n k\n l\n+m\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	out.Reset()
	Page{}.Diff(&out, "x", []byte(before), []byte(before))
	if out.Len() > 0 {
		t.Errorf("no change is shown as %q", out.String())
	}
}

// TestPropertyDiffHoldsBothTexts takes the signs off again.
func TestPropertyDiffHoldsBothTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 12)
		before, after := lines.Draw(t, "before"), lines.Draw(t, "after")
		var left, right []string
		for _, c := range diff(before, after) {
			if c.sign != '+' {
				left = append(left, c.text)
			}
			if c.sign != '-' {
				right = append(right, c.text)
			}
		}
		if strings.Join(left, "\n") != strings.Join(before, "\n") || strings.Join(right, "\n") != strings.Join(after, "\n") {
			t.Fatalf("%q and %q give %q and %q", before, after, left, right)
		}
	})
}
