package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/memory"
)

func TestStateIsShownWithWhoChangedIt(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	page := Page{Times: Times{Location: time.UTC}}
	var out strings.Builder
	page.State(&out, []memory.StateItem{
		{Name: "total", Value: json.RawMessage("42"), Type: "an integer", At: &at, Run: "01jq"},
		{Name: "mode", Value: json.RawMessage(`"a\u001b"`), Type: "text", Default: true},
		{Name: "old", Value: json.RawMessage("1"), At: &at, By: "ann"},
	})
	page.StateChanges(&out, []memory.StateChange{
		{At: at, Value: json.RawMessage(`"` + strings.Repeat("x", 100) + `"`), By: "ann"}, {At: at, Value: json.RawMessage("null"), Reset: true},
	})
	page.Cursors(&out, []memory.CursorItem{{Workflow: "w", Name: "c", Identity: "0123456789abcdef", Watermark: "mark\x1b[2J", At: &at, Run: "01jq"}})
	want := `NAME   VALUE      CHANGED              BY
total  42         2026-03-01 09:00:00  run 01jq
mode   "a\u001b"  -                    default
old    1          2026-03-01 09:00:00  ann, not declared any more
CHANGED              VALUE                                                         BY
2026-03-01 09:00:00  "` + strings.Repeat("x", 58) + `…  ann
2026-03-01 09:00:00  (reset)                                                       -
WORKFLOW  CURSOR  OF        WATERMARK  CHANGED              BY
w         c       01234567  mark[2J    2026-03-01 09:00:00  run 01jq
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
