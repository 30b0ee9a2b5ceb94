package sdk

import "github.com/flowrun/flowrun/sdk/near"

// Nearest returns the candidate that a word was probably meant to be, for a message
// that says "did you mean", or "" when none is near: at most one edit for words of up to
// four letters, two up to eight, else three, where a swap of neighbours is one edit. It
// is the rule that flowrun itself goes by.
func Nearest(word string, candidates []string) string { return near.Match(word, candidates) }

// didYouMean returns "did you mean `x`?" for the candidate nearest to word, or "".
func didYouMean(word string, candidates []string) string {
	if match := Nearest(word, candidates); match != "" {
		return "did you mean `" + match + "`?"
	}
	return ""
}
