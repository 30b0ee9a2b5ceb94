package mend

import (
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// Fixed is a file after its certain mends were made.
type Fixed struct {
	Source []byte
	Made   []diag.Problem // whose mends were made, in that order; places are those of the file as it was at that moment
	Left   diag.List      // the problems of Source
}

// maxMends bounds how many mends of one file are made.
const maxMends = 500

// Fix makes the certain mends of a file, one after the other, each in the file that the
// ones before left, and checked: one that does not take its problem away, or brings
// another, is undone. The file has never more problems than before: a mend that lets more
// of a file be read, and so more be found in it, stays only if what is found is mended
// too (ADR 89).
func Fix(src []byte, check func([]byte) diag.List) Fixed {
	now := Fixed{Source: src, Left: check(src)}
	best, most := now, len(now.Left)
	tried := map[string]bool{}
	for range maxMends {
		next, ok := step(now, check, tried)
		if !ok {
			break
		}
		now = next
		if len(now.Left) <= most && errorsIn(now.Left) <= errorsIn(best.Left) {
			best = now
		}
	}
	return best
}

// step makes one more mend; false when there is none to make.
func step(now Fixed, check func([]byte) diag.List, tried map[string]bool) (Fixed, bool) {
	for _, p := range now.Left {
		if !p.Fixes() || tried[string(now.Source)+p.String()] {
			continue
		}
		tried[string(now.Source)+p.String()] = true
		source, err := diag.Apply(now.Source, p.Mend.Edits)
		if err != nil {
			continue
		}
		left := check(source)
		if better(now.Left, left, p) {
			return Fixed{Source: source, Made: append(slices.Clone(now.Made), p), Left: left}, true
		}
	}
	return now, false
}

// better reports whether a mend did what it should: its problem is gone and nothing came
// instead. What a file that could not be read held before may come.
func better(before, after diag.List, mended diag.Problem) bool {
	if hides(mended) {
		return !slices.ContainsFunc(after, func(p diag.Problem) bool {
			return p.Code == mended.Code && p.Pos == mended.Pos && p.Message == mended.Message
		}) &&
			count(after, mended.Code) <= count(before, mended.Code)
	}
	known := map[string]int{}
	for _, p := range before {
		known[p.Code]++
	}
	for _, p := range after {
		if known[p.Code]--; known[p.Code] < 0 {
			return false
		}
	}
	return len(after) < len(before)
}

// hides reports whether a problem keeps the rest of its file from being checked.
func hides(p diag.Problem) bool {
	return slices.Contains([]string{spec.CodeSyntax, spec.CodeAnchor, spec.CodeTag}, p.Code)
}

func count(problems diag.List, code string) int {
	n := 0
	for _, p := range problems {
		if p.Code == code {
			n++
		}
	}
	return n
}

func errorsIn(problems diag.List) int {
	n := 0
	for _, p := range problems {
		if p.Severity == diag.Error {
			n++
		}
	}
	return n
}
