package sdk

import "fmt"

// Problem is something wrong with an input or a config, found without asking
// the service.
type Problem struct {
	Pointer string // JSON Pointer into the input or config: "/type"; "" = the whole
	Summary string // what is wrong, one line
	Detail  string // what to do about it, may be empty
	Warning bool   // true: shown, and does not refuse the call
}

// Problemf makes a problem that refuses the input.
func Problemf(pointer, format string, args ...any) Problem {
	return Problem{Pointer: pointer, Summary: fmt.Sprintf(format, args...)}
}

// Warningf makes a problem that is only shown.
func Warningf(pointer, format string, args ...any) Problem {
	return Problem{Pointer: pointer, Summary: fmt.Sprintf(format, args...), Warning: true}
}

// WithDetail returns the problem with what to do about it.
func (p Problem) WithDetail(format string, args ...any) Problem {
	p.Detail = fmt.Sprintf(format, args...)
	return p
}

// firstError returns the first problem that refuses, as the error of the call.
func firstError(problems []Problem) *Error {
	for _, p := range problems {
		if p.Warning {
			continue
		}
		e := Invalid(p.Pointer, "%s", p.Summary)
		e.Hint = p.Detail
		if len(problems) > 1 {
			e.Details = map[string]any{"problems": problemDetails(problems)}
		}
		return e
	}
	return nil
}

func problemDetails(problems []Problem) []map[string]any {
	var list []map[string]any
	for _, p := range problems {
		entry := map[string]any{"pointer": p.Pointer, "summary": p.Summary}
		if p.Detail != "" {
			entry["detail"] = p.Detail
		}
		if p.Warning {
			entry["warning"] = true
		}
		list = append(list, entry)
	}
	return list
}
