package runs

import (
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// IDTime is when the id of a run or call was made, to the millisecond; false for what
// is no such id.
func IDTime(id string) (time.Time, bool) {
	parsed, err := ulid.ParseStrict(strings.ToUpper(id))
	if err != nil {
		return time.Time{}, false
	}
	return ulid.Time(parsed.Time()).UTC(), true
}
