package term

import "strings"

// Box draws lines in a frame that is at most width cells wide. Lines that are
// longer are wrapped: a code or an address must never be cut.
func Box(lines []string, width int, style Style) []string {
	inner := 0
	for _, line := range lines {
		inner = max(inner, Width(line))
	}
	inner = max(min(inner, width-4), 1)
	out := []string{style.Yellow("┌" + strings.Repeat("─", inner+2) + "┐")}
	side := style.Yellow("│")
	for _, line := range lines {
		for _, part := range Wrap(line, inner) {
			out = append(out, side+" "+Pad(part, inner)+" "+side)
		}
	}
	return append(out, style.Yellow("└"+strings.Repeat("─", inner+2)+"┘"))
}
