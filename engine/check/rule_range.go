package check

import (
	"encoding/json"
	"slices"
	"time"
)

// cutRange leaves a range that the engine will cut into windows out of what the
// plugin is asked about: with `paginate` the action's own limit holds for each
// window, not for the whole (docs/language.md, rule 12). A range that is no longer
// than a window, runs backwards or is not known stays.
func (c *checker) cutRange(s *step, input []byte, unknown []string) ([]byte, []string) {
	limit := s.action.plan.Range
	if s.src.Paginate == nil || limit == nil {
		return input, unknown
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(input, &fields) != nil {
		return input, unknown
	}
	var from, to time.Time
	if json.Unmarshal(fields[limit.FromField], &from) != nil || json.Unmarshal(fields[limit.ToField], &to) != nil || to.Sub(from) <= limit.Max {
		return input, unknown
	}
	delete(fields, limit.FromField)
	delete(fields, limit.ToField)
	cut, err := json.Marshal(fields)
	if err != nil {
		return input, unknown
	}
	return cut, append(slices.Clone(unknown), "/"+limit.FromField, "/"+limit.ToField)
}
