package schema

// nearHint returns "did you mean `x`?" for the candidate that is most like
// word, or "". It is the rule of package diag, which this package may not
// import: one edit for words of up to four letters, two up to eight, else three;
// nothing is near a single letter.
func nearHint(word string, candidates []string) string {
	limit := 3
	switch n := len(word); {
	case n <= 1:
		return ""
	case n <= 4:
		limit = 1
	case n <= 8:
		limit = 2
	}
	best, nearest := "", limit+1
	for _, candidate := range candidates {
		if abs(len(candidate)-len(word)) >= nearest {
			continue
		}
		if d := distance([]rune(word), []rune(candidate)); d < nearest {
			best, nearest = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean `" + best + "`?"
}

// distance is the optimal string alignment distance.
func distance(a, b []rune) int {
	older, previous := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current := make([]int, len(b)+1)
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], older[j-2]+1)
			}
		}
		older, previous = previous, current
	}
	return previous[len(b)]
}

func abs(n int) int { return max(n, -n) }
