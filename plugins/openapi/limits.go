package openapi

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/flowrun/flowrun/plugins/openapi/tree"
)

// readLimits takes the limits of the document (x-flowrun-limits) and of the settings, and
// the check of the document where they have none.
func (s *Service) readLimits(root *tree.Node) error {
	if said := root.Get("x-flowrun-check"); said != nil && s.settings.Check == nil {
		if err := said.Decode(&s.settings.Check); err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	s.limits = map[string]Limit{}
	if said := root.Get("x-flowrun-limits"); said != nil {
		if err := said.Decode(&s.limits); err != nil {
			return fmt.Errorf("limits: %w", err)
		}
	}
	maps.Copy(s.limits, s.settings.Limits)
	return nil
}

func (s *Service) limitNames() []string { return slices.Sorted(maps.Keys(s.limits)) }

// limitsOf are the limits that a call of an operation counts in: all, where nothing else
// is said.
func (s *Service) limitsOf(o *Operation) []string {
	if o.Limits != nil {
		return o.Limits
	}
	return s.limitNames()
}

var durationPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+)(ms|s|m|h|d)`) })

// durationOf reads a duration such as 30s or 1h30m, 0 for "". Its form was checked with
// the settings.
func durationOf(text string) time.Duration {
	units := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	var total time.Duration
	for _, part := range durationPart().FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(part[1])
		if err != nil {
			return 0
		}
		total += time.Duration(n) * units[part[2]]
	}
	return total
}
