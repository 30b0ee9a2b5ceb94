package httpsim

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/internal/simkit"
)

// told is what the plugin says of the answer that it will read.
type told struct {
	As     string          `json:"as"`
	Answer json.RawMessage `json:"answer"`
	Pages  *struct {
		By    string  `json:"by"`
		Items string  `json:"items"`
		Next  *string `json:"next"`
		Query string  `json:"query"`
		First *int    `json:"first"`
		Total *string `json:"total"`
		More  *string `json:"more"`
	} `json:"pages"`
}

// itemsOfPage is how many items a made page has.
const itemsOfPage = 3

// answer makes an answer that the step will take.
func (t told) answer(w http.ResponseWriter, r *http.Request) {
	switch t.As {
	case "none":
		w.WriteHeader(http.StatusNoContent)
	case "text":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "simulated answer of %s %s\n", r.Method, r.URL.EscapedPath())
	case "bytes":
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte("simulated\x00bytes")) // a client that went away reads no answer
	case "csv", "blob":
		t.table(w, r)
	default:
		m := newMaker(t.Answer, r.Method+" "+r.URL.EscapedPath())
		document := m.make(m.root, 0)
		simkit.WriteJSON(w, http.StatusOK, t.paged(document, t.isLater(r), m))
	}
}

// isLater reports whether a request asks for a page behind the first.
func (t told) isLater(r *http.Request) bool {
	if t.Pages == nil || t.Pages.Query == "" {
		return false
	}
	given := r.URL.Query().Get(t.Pages.Query)
	first := 0
	if t.Pages.By == "page" {
		first = 1
	}
	if t.Pages.First != nil {
		first = *t.Pages.First
	}
	return given != "" && given != strconv.Itoa(first)
}

// paged makes the first page the only one that has items.
func (t told) paged(document any, later bool, m *maker) any {
	if t.Pages == nil {
		return document
	}
	items := []any{}
	if list, _ := valueAt(document, t.Pages.Items).([]any); !later && len(list) > 0 {
		for i := range itemsOfPage {
			items = append(items, m.variant(list[0], i))
		}
	}
	document = with(document, t.Pages.Items, items)
	for _, end := range []struct {
		at    *string
		value func(before any) any
	}{
		{t.Pages.Next, func(before any) any {
			if _, isText := before.(string); isText {
				return ""
			}
			return nil
		}},
		{t.Pages.More, func(any) any { return false }},
		{t.Pages.Total, func(any) any { return len(items) }},
	} {
		if end.at != nil {
			document = with(document, *end.at, end.value(valueAt(document, *end.at)))
		}
	}
	return document
}

// table writes rows with the columns of the schema.
func (t told) table(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	m := newMaker(t.Answer, r.Method+" "+r.URL.EscapedPath())
	row := m.resolve(m.root)
	if inner, is := row["items"].(map[string]any); is {
		row = m.resolve(inner)
	}
	columns := m.names(row)
	if len(columns) == 0 {
		columns = []string{"id", "name"}
	}
	out := csv.NewWriter(w)
	defer out.Flush()
	_ = out.Write(columns) // a client that went away reads no answer
	if t.isLater(r) {
		return
	}
	for i := range itemsOfPage {
		made, _ := m.variant(m.make(row, 0), i).(map[string]any)
		cells := make([]string, len(columns))
		for j, name := range columns {
			value, there := made[name]
			switch {
			case !there && name == "id":
				cells[j] = strconv.Itoa(i + 1)
			case !there:
				cells[j] = fmt.Sprintf("%s %d", name, i+1)
			case value != nil:
				cells[j] = fmt.Sprint(value)
			}
		}
		_ = out.Write(cells)
	}
}

// valueAt is the value at a JSON Pointer, nil where there is none.
func valueAt(document any, pointer string) any {
	for _, token := range tokens(pointer) {
		object, _ := document.(map[string]any)
		document = object[token]
	}
	return document
}

// with is a document with another value at a JSON Pointer. Objects on the way are made.
func with(document any, pointer string, value any) any {
	path := tokens(pointer)
	if len(path) == 0 {
		return value
	}
	object, is := document.(map[string]any)
	if !is {
		object = map[string]any{}
	}
	at := object
	for _, token := range path[:len(path)-1] {
		inner, is := at[token].(map[string]any)
		if !is {
			inner = map[string]any{}
			at[token] = inner
		}
		at = inner
	}
	at[path[len(path)-1]] = value
	return object
}

func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	all := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range all {
		all[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(all[i])
	}
	return all
}
