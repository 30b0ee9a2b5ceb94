// Package near finds the name that a wrong one was probably meant to be. The checker,
// the command line, the SDK and the plugins go by this one rule.
package near

import "strings"

// Match returns the candidate that is most like word, for "did you mean", or
// "" when none is near: at most one edit for words of up to four letters, two
// up to eight, else three. A swap of neighbours counts as one edit. Of equally
// near candidates the first wins. Of a single letter nothing can be said: there
// only the other case is near.
func Match(word string, candidates []string) string {
	limit := 3
	switch n := len(word); {
	case n <= 4:
		limit = 1
	case n <= 8:
		limit = 2
	}
	best, bestDistance := "", limit+1
	for _, candidate := range candidates {
		if candidate == word || len(word) == 1 && !strings.EqualFold(word, candidate) {
			continue
		}
		if d := editDistance([]rune(word), []rune(candidate), bestDistance); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// editDistance is the optimal string alignment distance, cut off at limit.
func editDistance(a, b []rune, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= limit {
		return limit
	}
	beforePrevious, previous := make([]int, len(b)+1), make([]int, len(b)+1)
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
				current[j] = min(current[j], beforePrevious[j-2]+1)
			}
		}
		beforePrevious, previous = previous, current
	}
	return previous[len(b)]
}
