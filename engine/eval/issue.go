package eval

import (
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"
)

// Issue is something wrong in an expression. Start and End are byte offsets in
// its source; Code is one of those below. Message is one lower-case sentence, Hint
// says what to do.
type Issue struct {
	Start, End int
	Code       string
	Message    string
	Hint       diag.Hint
	Warning    bool     // it may go well: the strict check makes an error of it
	Changes    []Change // of the source, that put it right; nil = none is known
	Sure       bool     // the changes are what was meant
}

// Error returns the message and the hint on one line.
func (i *Issue) Error() string {
	if i.Hint.Text == "" {
		return i.Message
	}
	return i.Message + "; " + i.Hint.Text
}

// The codes of issues.
const (
	CodeSyntax     = "FR3001"
	CodeUnclosed   = "FR3002"
	CodeTooLarge   = "FR3003"
	CodeForbidden  = "FR3004"
	CodeName       = "FR3005"
	CodeField      = "FR3006"
	CodeFunction   = "FR3007"
	CodeArgument   = "FR3008"
	CodeOperator   = "FR3009"
	CodeCondition  = "FR3010"
	CodeNull       = "FR3011"
	CodeSecret     = "FR3012"
	CodeMember     = "FR3013"
	CodeConstant   = "FR3014"
	CodeNeverEqual = "FR3015"
	CodeText       = "FR3016"
	CodeAny        = "FR3017"
	CodeNested     = "FR3018"
	CodeParts      = "FR3019"
	CodePlace      = "FR3020"
)

func issuef(start, end int, code, format string, args ...any) *Issue {
	return &Issue{Start: start, End: end, Code: code, Message: fmt.Sprintf(format, args...)}
}

func (i *Issue) hint(format string, args ...any) *Issue {
	i.Hint = diag.Sayf(format, args...)
	return i
}
