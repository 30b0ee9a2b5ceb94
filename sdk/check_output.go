package sdk

import (
	"encoding/json"
	"math"
	"strconv"
)

// CheckOutput returns what of an output does not fit the action's schema: the check
// that a harness makes of what an action gave. An action of a plugin that is Described is
// known once it was called.
func (p *Plugin) CheckOutput(action string, output Value) []Problem {
	a := p.action(action)
	if p.described != nil {
		a = p.described.lastRead(action)
	}
	if a == nil {
		return []Problem{Problemf("", "plugin %s has no action `%s`", p.name, plain(cut(action, 64)))}
	}
	if err := a.ready(p); err != nil {
		return []Problem{Problemf("", "its author has to mend it: %v", err)}
	}
	document, err := decodeTree(output)
	if err != nil {
		return []Problem{Problemf("", "is no JSON: %v", err)}
	}
	c := checker{}
	c.value(wholeNumbers(document), a.output, "")
	return c.problems
}

// wholeNumbers writes numbers such as 3320.0 and 3.32e3 as JSON Schema sees them: as
// integers. An input is not read so, since Go does not either.
func wholeNumbers(v any) any {
	switch typed := v.(type) {
	case json.Number:
		f, err := typed.Float64()
		if err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return json.Number(strconv.FormatFloat(f, 'f', 0, 64))
		}
	case []any:
		for i := range typed {
			typed[i] = wholeNumbers(typed[i])
		}
	case map[string]any:
		for name := range typed {
			typed[name] = wholeNumbers(typed[name])
		}
	}
	return v
}
