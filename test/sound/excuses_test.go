package sound

import (
	"errors"
	"regexp"

	"github.com/flowrun/flowrun/engine/eval"
)

// excuses are the failures that depend on values alone, which no type can exclude:
// docs/checker.md lists them in words. Whatever is not among them is by a type, by
// null or by a missing field.
var excuses = []struct {
	name    string
	message *regexp.Regexp
}{
	{"division by zero", regexp.MustCompile(`division by zero`)},
	{"out of range", regexp.MustCompile(`does not fit a 64-bit integer|beyond 64 bits|does not fit an integer|no finite number|can't be written|duration is too long|too far apart|outside the years|is too far`)},
	{"text that can't be read", regexp.MustCompile(`^(int|float|date|parseTime|fromJSON|fromBase64): |is not a duration|is not a time zone|is not a unit of time|is not an amount of time|the order must be|the pattern`)},
	{"negative count", regexp.MustCompile(`expects (0|a size of 1) or more, got|can't shift by`)},
	{"conversion of an unknown value", regexp.MustCompile(`^(string|int|float) expects `)},
}

// excuse returns the name of the excuse that a failure has, "" when it has none.
func excuse(err error) string {
	var failure *eval.RunError
	if !errors.As(err, &failure) {
		return ""
	}
	return excuseOf(failure.Reason, failure.Message)
}

func excuseOf(reason, message string) string {
	if reason == "limit" {
		return "limit"
	}
	for _, one := range excuses {
		if one.message.MatchString(message) {
			return one.name
		}
	}
	return ""
}
