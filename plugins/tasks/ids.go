package tasks

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// placeholderPrefix marks the ids that clients invent (T-04).
const placeholderPrefix = "tmp-"

// Texts of T-06: what a holder of a placeholder id must do.
const (
	placeholderSummary = "`%s` is a client-side placeholder (tmp-...), not an id of the server"
	placeholderDetail  = "wait until a /sync response maps it (`temp_id_mapping`), then use the real id; this plugin does not call /sync"
)

// placeholder refuses an id that only a client knows. A UUID, which /sync uses
// as temp_id, is another thing and passes (T-07); so does everything else, since
// the alphabet of real ids is not shown (T-03).
func placeholder(pointer, id string) *sdk.Problem {
	if !strings.HasPrefix(id, placeholderPrefix) {
		return nil
	}
	problem := sdk.Problemf(pointer, placeholderSummary, strings.TrimPrefix(pointer, "/")).WithDetail(placeholderDetail)
	return &problem
}

// known reports whether the checker knows the value of an input.
func known(unknown []string, pointer string) bool {
	return !slices.Contains(unknown, pointer) && !slices.Contains(unknown, strings.TrimPrefix(pointer, "/")) && !slices.Contains(unknown, "")
}

// sortedNames returns the names of an object's fields in order.
func sortedNames[V any](fields map[string]V) []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
