package project

import (
	"fmt"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/spec"
)

// maxDrain is the ceiling of `limits.drain`: whoever stops the process waits.
const maxDrain = 10 * time.Minute

// limits reads `limits`: what the engine may do at a time, and the quotas of what
// is stored.
func (p *parser) limits(n *spec.Node) {
	readers := map[string]func(*spec.Node){
		"max_active_runs": func(v *spec.Node) { p.project.Limits.MaxActiveRuns = p.count(v, "max_active_runs") },
		"drain": func(v *spec.Node) {
			p.project.Limits.Drain = p.duration(v, 1, maxDrain, "`drain` must be more than 0 and at most 10m")
		},
		"state_unused": func(v *spec.Node) {
			p.project.Limits.StateUnused = p.duration(v, minStateUnused, maxStateUnused, "`state_unused` must be from 7d to 3650d")
		},
		"sandbox": p.limitsSandbox,
	}
	for _, quota := range quota.All() {
		readers[quota.Name] = func(v *spec.Node) { p.quota(quota, v) }
	}
	p.keys(n, "`limits`", readers)
}

// duration reads a duration within bounds, which allowed names; 0 = it is none.
func (p *parser) duration(v *spec.Node, least, most time.Duration, allowed string) time.Duration {
	d, err := duration.Parse(v.Text)
	if err == nil && (d < least || d > most) {
		err = fmt.Errorf("%s, got %q", allowed, v.Text)
	}
	if err != nil {
		p.problems.Errorf(v.Pos, CodeDuration, "%v", err)
		return 0
	}
	return d
}

// The bounds of `limits.state_unused`: a state that goes within days would take a
// login with it that is used once a week.
const (
	minStateUnused = 7 * 24 * time.Hour
	maxStateUnused = 10 * 365 * 24 * time.Hour
)

// quota reads a bound of what is stored: a size, or a number of things.
func (p *parser) quota(limit quota.Quota, v *spec.Node) {
	read, most := quota.ParseSize, quota.SizeText(limit.Ceiling)
	if limit.Count {
		read, most = countOf, strconv.FormatInt(limit.Ceiling, 10)
	}
	value, err := read(v.Text)
	switch {
	case v.Kind != spec.Scalar || err != nil:
		problem := p.problems.Errorf(v.Pos, CodeNumber, "`%s` must be %s of at most %s", limit.Name, kindOf(limit), most)
		problem.Hint = diag.Say("write it as " + exampleOf(limit))
	case value > limit.Ceiling:
		why := "its ceiling keeps one plugin or run from filling the store"
		if limit.Workflow {
			why = "its ceiling keeps one run from taking the time and memory of all"
		}
		p.problems.Errorf(v.Pos, CodeNumber, "`%s` is at most %s, got %s", limit.Name, most, v.Text).Hint = diag.Say(why)
	default:
		if p.project.Limits.Quotas == nil {
			p.project.Limits.Quotas = quota.Values{}
		}
		p.project.Limits.Quotas[limit.Name] = value
	}
}

func kindOf(limit quota.Quota) string {
	if limit.Count {
		return "a whole number of at least 1 and"
	}
	return "a size"
}

func exampleOf(limit quota.Quota) string {
	if limit.Count {
		return strconv.FormatInt(limit.Default, 10)
	}
	return quota.SizeText(limit.Default)
}

func countOf(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 40)
	if err != nil || n == 0 || text[0] == '0' {
		return 0, fmt.Errorf("%q is no whole number of at least 1", text)
	}
	return int64(n), nil //nolint:gosec // of 40 bits
}
