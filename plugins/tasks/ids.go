package tasks

import (
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
func placeholder(pointer, id string) []sdk.Problem {
	if !strings.HasPrefix(id, placeholderPrefix) {
		return nil
	}
	return []sdk.Problem{sdk.Problemf(pointer, placeholderSummary, strings.TrimPrefix(pointer, "/")).WithDetail(placeholderDetail)}
}
