package eval

import (
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"
)

// Issue is something wrong in an expression. Start and End are byte offsets in
// its source; Code is one of Codes. Message is one lower-case sentence, Hint
// says what to do.
type Issue struct {
	Start, End int
	Code       string
	Message    string
	Hint       diag.Hint
	Warning    bool // it may go well: the strict check makes an error of it
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

// CodeInfo describes a code for `flowrun explain`.
type CodeInfo struct {
	Code, Title, Doc string
}

// Codes returns all codes of this package in order.
func Codes() []CodeInfo {
	return []CodeInfo{
		{CodeSyntax, "the expression can't be read", "An operator, a value or a bracket is missing or stands where it can't stand."},
		{CodeUnclosed, "a bracket, a quote or `${{` is not closed", "The place shown is the opening."},
		{CodeTooLarge, "the expression is too large", "An expression has at most 8 KiB. Split it with `let` steps."},
		{CodeForbidden, "this is not part of the language", "Some of expr's functions and names are left out because their result could not be repeated or bounded."},
		{CodeName, "unknown name", "An expression sees the roots (run, inputs, steps, ...), the names of loops around it and its own `let` names."},
		{CodeField, "unknown field", "The schema of the value has no field of that name."},
		{CodeFunction, "unknown function", "`flowrun explain functions` lists them all."},
		{CodeArgument, "wrong argument", "A function got too few, too many or the wrong kind of arguments."},
		{CodeOperator, "wrong operands", "The operator is not defined on these two types."},
		{CodeCondition, "not a boolean", "Conditions are strictly true or false: there is no truthiness."},
		{CodeNull, "may be null", "The value may be null or absent here. Read it with `?.`, give a default with `??`, or test it in `if`."},
		{CodeSecret, "a secret inside an expression", "A secret stands only as the whole value of a field that is marked secret."},
		{CodeMember, "no members", "Only objects have fields and only lists have elements."},
		{CodeConstant, "wrong constant", "A literal pattern, time zone, unit or layout can't be used."},
		{CodeNeverEqual, "the comparison is never true", "The two values have no value in common."},
		{CodeText, "not text", "Only text, numbers, booleans, times and durations can stand inside text."},
		{CodeAny, "the type is not known", "With --strict, every value must have a known type."},
		{CodeNested, "the expression is nested too deep", "An expression has at most 100 open brackets, or unary operators in a row. Split it with `let` steps."},
		{CodeParts, "the expression has too many parts", "An expression has at most 2,000 names, values, operators and calls. Split it with `let` steps."},
		{CodePlace, "the list may be shorter", "A place that a list has not is an error when the expression runs. Say what stands for it with `??` or `?.`, or test `len(x) > 0` first."},
	}
}

func issuef(start, end int, code, format string, args ...any) *Issue {
	return &Issue{Start: start, End: end, Code: code, Message: fmt.Sprintf(format, args...)}
}

func (i *Issue) hint(format string, args ...any) *Issue {
	i.Hint = diag.Sayf(format, args...)
	return i
}
