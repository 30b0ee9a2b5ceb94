package page

import (
	"encoding/json"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
)

// value is one named value as it is shown.
type value struct {
	Name string
	HTML template.HTML
	Text string // a text of several lines, shown as it is
	Cut  bool   // it is longer than what is shown
	Save string // where the whole of it is; "" = nowhere
	Size int
	// Short says that it fits on the line of its name.
	Short bool
}

// Sizes of what a page shows of values, in bytes: a page with its assets stays
// below 60 KiB, however large they are.
const (
	roomOfPage  = 18 << 10 // with the colours
	roomOfValue = 4 << 10  // without
	leastRoom   = 120      // of each, when the page is full
	colourCost  = 3        // how much longer a text becomes by its colours
)

// room is what a page has left for values. Used by one request.
type room struct{ left int }

func newRoom() *room { return &room{roomOfPage} }

func (s *site) outputs(result *plan.Result, r *room) []value {
	var list []value
	for _, name := range slices.Sorted(maps.Keys(result.Outputs)) {
		v := r.value(name, result.Outputs[name])
		v.Save = runURL(result.Run.ID) + "/outputs/" + url.PathEscape(name)
		list = append(list, v)
	}
	return list
}

// value makes a value of JSON: a text of several lines as it is, all else
// indented, with colours, as far as there is room.
func (r *room) value(name string, raw json.RawMessage) value {
	v := value{Name: name, Size: len(raw)}
	most := max(min(r.left/colourCost, roomOfValue), leastRoom)
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil && strings.Contains(text, "\n") {
		v.Text, v.Cut = cutText(text, most)
		r.left -= len(v.Text)
		return v
	}
	shown, cut := cutText(maskRefs(engine.ReadableJSON(raw)), most)
	v.HTML, v.Cut = colourJSON(shown), cut
	r.left -= len(v.HTML)
	v.Short = name != "" && len(shown) <= 100 && !strings.Contains(shown, "\n")
	return v
}

func cutText(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, false
	}
	return strings.ToValidUTF8(text[:most], "") + "\n…", true
}
