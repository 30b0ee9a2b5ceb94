package page

import (
	"encoding/json"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// value is one named value as it is shown.
type value struct {
	Name string
	HTML template.HTML
	Text string        // a text of several lines, shown as it is
	Rich template.HTML // Text as Markdown; "" = it is none
	Cut  bool          // it is longer than what is shown
	Save string        // where the whole of it is; "" = nowhere
	Size int
	// Short says that it fits on the line of its name.
	Short bool
	Blobs []blobLink // the large values that it refers to
}

// Sizes of what a page shows of values, in bytes. A page with its assets stays
// below 60 KB on its way to the browser, however large they are.
const (
	roomOfValue   = 4 << 10  // of each value, as it is stored
	roomOfPage    = 44 << 10 // of all values of a page
	roomOfColours = 14 << 10 // what the marks of JSON may add
	leastRoom     = 120      // of each value, when the page is full
)

// room is what a page has left for values. Used by one request.
type room struct{ left, colours int }

func newRoom() *room { return &room{roomOfPage, roomOfColours} }

// outputs are the outputs of a run; those of which the workflow says that they are
// Markdown are rendered.
func (s *site) outputs(result *runs.Result, w *plan.Workflow, r *room) []value {
	formats := map[string]string{}
	for _, output := range w.Outputs {
		formats[output.Name] = output.Format
	}
	var list []value
	for _, name := range slices.Sorted(maps.Keys(result.Outputs)) {
		v := r.value(name, result.Outputs[name], runURL(result.Run.ID)+"/outputs/"+url.PathEscape(name))
		if v.Blobs = blobLinks(result.Run.ID, result.Outputs[name]); len(v.Blobs) > 0 {
			v.Short = false
		}
		if formats[name] == "markdown" {
			s.enrich(&v, result.Outputs[name], r)
		}
		list = append(list, v)
	}
	return list
}

// value makes a value of JSON: a text of several lines as it is, all else
// indented, with colours, as far as there is room.
func (r *room) value(name string, raw json.RawMessage, save string) value {
	v := value{Name: name, Size: len(raw), Save: save}
	most := min(max(r.left, leastRoom), roomOfValue)
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil && strings.Contains(text, "\n") {
		v.Size = len(text)
		v.Text, v.Cut = cutText(text, most)
		r.left -= len(v.Text)
		return v
	}
	shown, cut := layoutJSON(maskRefs(string(raw)), most)
	if cut {
		shown += "\n…"
	}
	plain := template.HTML(escapeText(shown)) //nolint:gosec // escaped
	v.HTML, v.Cut = colourJSON(shown), cut
	if cost := len(v.HTML) - len(plain); cost <= r.colours {
		r.colours -= cost
	} else {
		v.HTML = plain
	}
	r.left -= len(plain)
	v.Short = name != "" && len(shown) <= 100 && !strings.Contains(shown, "\n")
	return v
}

// longValue stands for a value that is too long to be read for a page: it can be saved.
func longValue(name string, bytes int64, save string) value {
	return value{Name: name, Size: int(bytes), Save: save, Text: "…", Cut: true}
}

// cutText is the beginning of a text; no letter is cut in the middle.
func cutText(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, false
	}
	return text[:wholeLetters(text, most)] + "\n…", true
}
