package runquery

import (
	"errors"
	"testing"
	"time"
)

// TestAFilterIsReadAsPeopleWriteIt: each row is a filter and what is wrong with it.
func TestAFilterIsReadAsPeopleWriteIt(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	filter, err := Text{Workflow: "w", Status: "failed", Labels: []string{"team=a=b", "empty="}, Since: "24h", Limit: 5}.Filter(func() time.Time { return noon })
	if err != nil || filter.Labels["team"] != "a=b" || filter.Labels["empty"] != "" || len(filter.Labels) != 2 || !filter.Since.Equal(noon.Add(-24*time.Hour)) {
		t.Errorf("%+v %v", filter, err)
	}
	for _, c := range []struct {
		text Text
		want string
		hint string
	}{
		{Text{Status: "faild"}, `status "faild" is none of a run`, "did you mean `failed`?"},
		{Text{Labels: []string{"a=1", "=1"}}, `label "=1" is not name=value`, ""},
		{Text{Since: "yesterday"}, `since "yesterday" is neither an RFC 3339 time nor a duration`, "such as 2026-03-01T09:00:00Z, or 24h"},
		{Text{Cursor: "next"}, `cursor "next" is not the next_cursor of a list`, ""},
	} {
		_, err := c.text.Filter(func() time.Time { return noon })
		var wrong *FilterError
		if !errors.As(err, &wrong) || wrong.Error() != c.want || wrong.Hint.Text != c.hint {
			t.Errorf("%+v: %v", c.text, err)
		}
	}
	if at, err := Moment("from", "2026-03-01T12:00:00Z", nil); err != nil || !at.Equal(noon) {
		t.Errorf("a time without a clock: %v %v", at, err)
	}
}
