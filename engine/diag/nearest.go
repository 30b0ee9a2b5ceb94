package diag

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk/near"
)

// Nearest returns the candidate that a word was probably meant to be, or "".
func Nearest(word string, candidates []string) string { return near.Match(word, candidates) }

// DidYouMean is the hint "did you mean `x`?" for the nearest candidate, else none.
func DidYouMean(word string, candidates []string) Hint {
	near := Nearest(word, candidates)
	if near == "" {
		return Hint{}
	}
	hint := Meant(near)
	others := slices.DeleteFunc(slices.Clone(candidates), func(c string) bool { return c == near })
	hint.Unsure = Nearest(word, others) != "" || lettersOf(word) == lettersOf(near)
	return hint
}

// lettersOf is a word without its digits: of `step1` and `step2` neither is the other,
// misspelt.
func lettersOf(word string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, word)
}

// Meant is the hint that a word was probably meant.
func Meant(near string) Hint { return Hint{Text: "did you mean `" + near + "`?", Near: near} }

// MeantOr is DidYouMean where one candidate is near, else lead with all of them:
// "its keys are a, b".
func MeantOr(word string, candidates []string, lead string) Hint {
	return DidYouMean(word, candidates).Or(Say(lead + strings.Join(candidates, ", ")))
}

// Naming is the hint that names words behind a lead: "its steps are a, b"; it says
// nothing where there are none.
func Naming(lead string, words ...string) Hint {
	if len(words) == 0 {
		return Hint{}
	}
	return Say(lead + strings.Join(words, ", "))
}

// NamesOf are the names of things, for who looks for a near one.
func NamesOf[T any](things []T, name func(T) string) []string {
	names := make([]string, len(things))
	for i, thing := range things {
		names[i] = name(thing)
	}
	return names
}

// Words are words of a type of their own, such as the kinds of errors, as texts.
func Words[T ~string](words ...T) []string {
	return NamesOf(words, func(word T) string { return string(word) })
}

// Count is a number of things: "1 run", "3 runs".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
