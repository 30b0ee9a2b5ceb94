package term

import (
	"strings"
	"testing"
)

// TestABlockIsDrawnAgainInANarrowerTerminal: lines that a smaller terminal has broken are
// taken back row by row, so that nothing of them is left.
func TestABlockIsDrawnAgainInANarrowerTerminal(t *testing.T) {
	var out strings.Builder
	block := NewBlock(&out)
	for _, c := range []struct {
		width int
		begin string
	}{{80, ""}, {80, "\r\x1b[3A"}, {40, "\r\x1b[6A"}, {40, "\r\x1b[3A"}, {200, "\r\x1b[3A"}} {
		out.Reset()
		block.Fit(c.width)
		lines := []string{Style{Color: true}.Red(strings.Repeat("a", min(c.width-1, 81))), strings.Repeat("b", c.width/2), strings.Repeat("c", c.width/4)}
		if c.width == 80 {
			lines[1] = strings.Repeat("b", 79) + out.String()
			lines[2] = strings.Repeat("c", 41)
		}
		if err := block.write(nil, lines); err != nil {
			t.Fatal(err)
		}
		if begin, _, _ := strings.Cut(out.String(), "\x1b[31m"); begin != c.begin {
			t.Errorf("at %d columns it begins with %q, want %q", c.width, begin, c.begin)
		}
	}
}
