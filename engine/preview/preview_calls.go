package preview

import (
	"math"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/ratelimit"
	"github.com/flowrun/flowrun/engine/schema"
)

// defaultPages is how many pages are read where a step does not say.
const defaultPages = 100

// maxPreview bounds products: what is more is unbounded for every reader.
const maxPreview = math.MaxInt32

// callsOf bounds the calls of one run of a step: pages of all windows, rounds.
func (v *previewer) callsOf(one *Step, step *plan.Step, action *plan.Action, with any) bounds {
	least, most := 1, 1
	switch {
	case step.Paginate != nil:
		most = step.Paginate.MaxPages
		if most <= 0 {
			most = defaultPages
		}
		if windows := windowsOf(action, with); windows > 1 {
			one.Windows, least = windows, min(windows, most)
		}
	case step.Repeat != nil:
		switch {
		case step.Repeat.Max > 0:
			most = step.Repeat.Max
		case step.Within > 0 && step.Repeat.Every > 0:
			most = int(step.Within/step.Repeat.Every) + 1
		default:
			most = -1
		}
	}
	if step.Cache > 0 {
		least = 0
	}
	return bounds{least, most}
}

// windowsOf is into how many windows a range is cut, 0 where it is not known.
func windowsOf(action *plan.Action, with any) int {
	fields, ok := with.(map[string]any)
	if !ok || action.Range == nil || action.Range.Max <= 0 {
		return 0
	}
	from, okFrom := previewTime(fields[action.Range.FromField])
	to, okTo := previewTime(fields[action.Range.ToField])
	if !okFrom || !okTo || !from.Before(to) {
		return 0
	}
	return int((to.Sub(from) + action.Range.Max - 1) / action.Range.Max)
}

func previewTime(value any) (time.Time, bool) {
	switch value := value.(type) {
	case time.Time:
		return value, true
	case string:
		if at, err := time.Parse(time.DateOnly, value); err == nil {
			return at, true
		}
		at, err := schema.ParseTime(value)
		return at, err == nil
	}
	return time.Time{}, false
}

// bounds are how often a list of steps runs, or a call is sent; most below 0 is
// unbounded.
type bounds struct{ least, most int }

func (t bounds) calls() Calls {
	calls := Calls{Min: t.least}
	if t.most >= 0 {
		calls.Max = &t.most
	}
	return calls
}

// and is how often two things happen together.
func (t bounds) and(other bounds) bounds {
	sum := bounds{least: t.least + other.least, most: -1}
	if t.most >= 0 && other.most >= 0 {
		sum.most = t.most + other.most
	}
	return sum
}

// by is how often something runs in each of these runs.
func (t bounds) by(n bounds) bounds {
	product := bounds{least: t.least * n.least, most: -1}
	switch {
	case t.most == 0 || n.most == 0:
		product.most = 0
	case t.most > 0 && n.most > 0 && t.most <= maxPreview/n.most:
		product.most = t.most * n.most
	}
	return product
}

// previewBucket is one rate limit with the calls that pass it.
type previewBucket struct {
	limit Limit
	spec  ratelimit.Spec
	calls bounds
}

// count notes calls of an action at its rate limits. Of a connection that is not
// known nothing can be said.
func (v *previewer) count(action *plan.Action, connection string, calls bounds) {
	limits, err := v.project.LimitBuckets(action, connection)
	if err != nil {
		return // the connection's own error tells
	}
	for _, b := range limits {
		if b.Spec.Requests <= 0 || b.Spec.Window <= 0 {
			continue
		}
		bucket := v.buckets[b.Key]
		if bucket == nil {
			bucket = &previewBucket{spec: b.Spec, limit: Limit{
				Plugin: action.Plugin, Name: b.Name, Rate: b.Spec.String(),
			}}
			v.buckets[b.Key] = bucket
			v.order = append(v.order, b.Key)
		}
		bucket.calls = bucket.calls.and(calls)
		if !slices.Contains(bucket.limit.Connections, connection) {
			bucket.limit.Connections = append(bucket.limit.Connections, connection)
		}
	}
}

// limits computes the minutes of each limit; the slowest is the estimate, since
// limits are waited for side by side.
func (v *previewer) limits() {
	estimate := &v.result.Estimate
	estimate.Limits = []Limit{}
	estimate.Minutes.Max = new(float64)
	for _, key := range v.order {
		b := v.buckets[key]
		b.limit.Calls = b.calls.calls()
		b.limit.Minutes.Min = minutes(b.spec, b.limit.Calls.Min)
		if b.limit.Calls.Max != nil {
			most := minutes(b.spec, *b.limit.Calls.Max)
			b.limit.Minutes.Max = &most
		}
		estimate.Minutes.Min = max(estimate.Minutes.Min, b.limit.Minutes.Min)
		switch {
		case b.limit.Minutes.Max == nil:
			estimate.Minutes.Max = nil
		case estimate.Minutes.Max != nil:
			*estimate.Minutes.Max = max(*estimate.Minutes.Max, *b.limit.Minutes.Max)
		}
		estimate.Limits = append(estimate.Limits, b.limit)
	}
}

// minutes is how long a limit makes so many calls take, rounded to hundredths: in
// fixed windows those of the first go at once, else each waits for the one
// before.
func minutes(spec ratelimit.Spec, calls int) float64 {
	if calls <= 1 {
		return 0
	}
	wait := float64(calls-1) * spec.Window.Minutes() / float64(spec.Requests)
	if spec.Fixed {
		wait = float64((calls-1)/spec.Requests) * spec.Window.Minutes()
	}
	return math.Round(wait*100) / 100
}
