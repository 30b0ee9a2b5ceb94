package interp

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// maxWindows bounds into how many windows a range is cut.
const maxWindows = 10_000

// ranges is a range that was cut into windows [from, to), since the action
// takes no longer one.
type ranges struct {
	input    map[string]any // as the step gave it
	from, to string         // names of the fields
	dates    bool           // the bounds are days without a time
	bounds   []time.Time    // window i is bounds[i] to bounds[i+1]
}

// count is the number of windows; of nil it is one.
func (r *ranges) count() int {
	if r == nil {
		return 1
	}
	return len(r.bounds) - 1
}

func (p *paging) cutting() bool { return p.cut.count() > 1 }

// windowInput is the input with the bounds of the window at hand.
func (p *paging) windowInput() json.RawMessage {
	input := maps.Clone(p.cut.input)
	input[p.cut.from] = p.cut.bound(p.window)
	input[p.cut.to] = p.cut.bound(p.window + 1)
	encoded, err := schema.Encode(input)
	if err != nil {
		return nil // the input was encoded before, and a time always can be
	}
	return encoded
}

func (r *ranges) bound(i int) any {
	if r.dates {
		return r.bounds[i].Format(time.DateOnly)
	}
	return r.bounds[i]
}

// newPaging prepares the reading of pages, and cuts a range that is longer than
// the action takes.
func (s *step) newPaging(input map[string]any) (paging, *runs.Error) {
	p := paging{page: 1}
	limit := s.code.action.action.Range
	if s.code.page == nil || limit == nil {
		return p, nil
	}
	cut, failure := cutRange(input, limit)
	p.cut = cut
	return p, failure
}

func cutRange(input map[string]any, limit *plan.Range) (*ranges, *runs.Error) {
	r := &ranges{input: input, from: limit.FromField, to: limit.ToField}
	from, fromDate, ok := bound(input[limit.FromField])
	to, toDate, okTo := bound(input[limit.ToField])
	r.dates = fromDate && toDate
	longest := limit.Max
	if r.dates {
		longest = longest.Truncate(24 * time.Hour)
	}
	if !ok || !okTo || fromDate != toDate || longest <= 0 || !from.Before(to) {
		r.bounds = []time.Time{from, to} // one window: the action itself judges it
		return r, nil
	}
	r.bounds = []time.Time{from}
	for at := from; at.Before(to); {
		if at = at.Add(longest); at.After(to) {
			at = to
		}
		r.bounds = append(r.bounds, at)
		if len(r.bounds) > maxWindows+1 {
			return nil, &runs.Error{
				Kind:    plan.KindInvalid,
				Reason:  reasonLimit,
				Applied: runs.NotApplied,
				Pointer: "/" + limit.FromField,
				Message: fmt.Sprintf("the range would be cut into more than %d windows of %s", maxWindows, schema.FormatDuration(limit.Max)),
			}
		}
	}
	return r, nil
}

// bound reads one end of a range: a time, or a day as text.
func bound(value any) (at time.Time, day, ok bool) {
	switch value := value.(type) {
	case time.Time:
		return value, false, true
	case string:
		if at, err := time.Parse(time.DateOnly, value); err == nil {
			return at, true, true
		}
		if at, err := schema.ParseTime(value); err == nil {
			return at, false, true
		}
	}
	return time.Time{}, false, false
}
