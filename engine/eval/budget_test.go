package eval

import (
	"strings"
	"testing"
)

// What an expression may use up is one budget for all of it: two halves that are
// each within it are not, together.
func TestTheBudgetIsOneForTheWholeExpression(t *testing.T) {
	for _, c := range []struct{ half, want string }{
		{`count(1..70000, true)`, "too many steps"},
		{`len(repeat("a", 600000))`, "too much text"},
		{`len(1..150000)`, "too large"},
	} {
		if _, err := run(t, c.half); err != nil {
			t.Errorf("%s: %v", c.half, err)
		}
		if _, err := run(t, c.half+" + "+c.half); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("twice %s: %v, want an error with %q", c.half, err, c.want)
		}
	}
}
