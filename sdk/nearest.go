package sdk

// didYouMean returns "did you mean `x`?" for the candidate nearest to word, or
// "" when none is near: one edit for words of up to four letters, two up to
// eight, else three.
func didYouMean(word string, candidates []string) string {
	const longest = 64 // names are short; longer words are no slips
	if len(word) > longest {
		return ""
	}
	limit := 3
	switch n := len(word); {
	case n <= 4:
		limit = 1
	case n <= 8:
		limit = 2
	}
	best := ""
	for _, candidate := range candidates {
		if len(candidate) > longest || candidate == word {
			continue
		}
		if d := editDistance([]rune(word), []rune(candidate)); d <= limit {
			best, limit = candidate, d-1
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean `" + best + "`?"
}

// editDistance counts insertions, deletions, changes and swaps of neighbours.
func editDistance(a, b []rune) int {
	before, previous := make([]int, len(b)+1), make([]int, len(b)+1)
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
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, previous = previous, current
	}
	return previous[len(b)]
}
