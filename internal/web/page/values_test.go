package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/workspace"
)

// valuesFlow hands texts on: as inputs, as outputs of a step, of a loop's items and
// of the run.
const valuesFlow = `flowrun: v1
name: values
inputs:
  texts: {type: array, items: {type: string}}
  a: {type: string, default: ""}
  b: {type: string, default: ""}
  c: {type: string, default: ""}
  any: {default: {}}
steps:
  - id: made
    let: {a: "${{ inputs.a }}", any: "${{ inputs.any }}"}
  - id: each
    foreach: ${{ inputs.texts }}
    as: text
    steps:
      - id: kept
        let: {value: "${{ text }}"}
outputs:
  a: ${{ inputs.a }}
  b: ${{ inputs.b }}
  c: ${{ inputs.c }}
  any: ${{ inputs.any }}
`

// sized is a text of so many bytes that says where it ends; of letters of two to
// four bytes where wide is set.
func sized(bytes int, wide bool) string {
	part := "abcdefghij"
	if wide {
		part = "äß€語😀é"
	}
	body := strings.Repeat(part, bytes/len(part)+1)[:bytes-len("THE END")-8]
	for !utf8.ValidString(body) {
		body = body[:len(body)-1]
	}
	return body + strings.Repeat(".", bytes-len("THE END")-len(body)) + "THE END"
}

// saved are the links of a page to whole values.
var saved = regexp.MustCompile(`href="([^"]+)" download`)

// TestIssue12_26_ValuesAreShownUpToFourKilobytes: 3,900 bytes are whole and 5,000 are
// cut, with a link to all of it, on each page that shows a value, also as the fourth
// value of a page and of whatever letters.
func TestIssue12_26_ValuesAreShownUpToFourKilobytes(t *testing.T) {
	d := newDesk(t, map[string]string{"v.yaml": valuesFlow})
	for name, wide := range map[string]bool{"one byte a letter": false, "up to four bytes a letter": true} {
		for _, lines := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, lines %t", name, lines), func(t *testing.T) {
				whole, long := sized(3900, wide), sized(5000, wide)
				if lines {
					whole, long = "first\n"+whole, "first\n"+long
				}
				id := d.start("values", map[string]workspace.Input{"a": text(whole), "b": text(whole), "c": text(long), "texts": textList(whole, long)})
				for path, want := range map[string]struct{ whole, cut int }{
					runURL(id):                  {2, 1},
					runURL(id) + "/data":        {4, 2},
					stepURL(id, "made"):         {1, 0},
					stepURL(id, "each[0].kept"): {1, 0},
					stepURL(id, "each[1].kept"): {0, 1},
				} {
					page := d.get(path, http.StatusOK)
					if !utf8.ValidString(page) || strings.ContainsRune(page, utf8.RuneError) {
						t.Errorf("%s: a letter was cut in the middle", path)
					}
					if got := strings.Count(valuesOf(page), "THE END"); got < want.whole {
						t.Errorf("%s shows %d whole values, want %d", path, got, want.whole)
					}
					if got := strings.Count(page, "cut: it has"); got < want.cut {
						t.Errorf("%s says of %d values that they are cut, want %d", path, got, want.cut)
					}
					if want.cut > 0 && !leadsTo(t, d, page, long) {
						t.Errorf("%s: no link has the whole value", path)
					}
				}
			})
		}
	}
}

// TestIssue12_26_ValuesOfManyParts: what counts is the value's size, not what indenting
// it adds.
func TestIssue12_26_ValuesOfManyParts(t *testing.T) {
	d := newDesk(t, map[string]string{"v.yaml": valuesFlow})
	for name, value := range map[string]string{
		"numbers": "[" + strings.Repeat("1,", 1900) + "4711]",
		"deep":    strings.Repeat("[", 300) + strings.Repeat("1,", 1600) + "4711" + strings.Repeat("]", 300),
		"maps":    "[" + strings.Repeat(`{"a":{"b":1}},`, 270) + "4711]",
	} {
		t.Run(name, func(t *testing.T) {
			id := d.start("values", map[string]workspace.Input{"any": rawJSON(value), "texts": rawJSON("[]")})
			for _, path := range []string{runURL(id), runURL(id) + "/data", stepURL(id, "made")} {
				if page := d.get(path, http.StatusOK); !strings.Contains(valuesOf(page), "4711") || strings.Contains(page, "cut: it has") {
					t.Errorf("%s does not show all of %d bytes", path, len(value))
				}
			}
		})
	}
}

func textList(texts ...string) workspace.Input {
	list, err := jsonText(texts)
	if err != nil {
		panic(err)
	}
	return rawJSON(list)
}

// valuesOf is what stands in the blocks of a page.
func valuesOf(page string) string {
	var all strings.Builder
	for _, block := range regexp.MustCompile(`(?s)<pre[^>]*>(.*?)</pre>`).FindAllStringSubmatch(page, -1) {
		all.WriteString(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(block[1], "")) + "\n")
	}
	return all.String()
}

// leadsTo reports whether one of a page's links gives all of a text.
func leadsTo(t *testing.T, d *desk, page, want string) bool {
	t.Helper()
	quoted, err := jsonText(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range saved.FindAllStringSubmatch(page, -1) {
		path, err := url.PathUnescape(html.UnescapeString(link[1]))
		if err != nil || path == "" {
			t.Fatalf("%s: %v", link[1], err)
		}
		w := httptest.NewRecorder()
		d.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, html.UnescapeString(link[1]), nil))
		if body := w.Body.String(); w.Code == http.StatusOK && (strings.Contains(body, want) || strings.Contains(body, quoted)) {
			return true
		}
	}
	return false
}

// jsonText writes a value as JSON, with its letters as they are.
func jsonText(value any) (string, error) {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSpace(out.String()), err
}

// TestIssue12_26_ManyLargeValuesFitAPage: a page of forty values that nothing packs
// stays below its weight, and each has its link.
func TestIssue12_26_ManyLargeValuesFitAPage(t *testing.T) {
	var flow strings.Builder
	flow.WriteString("flowrun: v1\nname: many\nsteps:\n  - id: a\n    let: {x: 1}\noutputs:\n")
	noise := make([]byte, 40*3000)
	rand.NewChaCha8([32]byte{1}).Read(noise)
	for i := range 40 {
		fmt.Fprintf(&flow, "  o%02d: %s\n", i, base64.RawStdEncoding.EncodeToString(noise[i*3000:(i+1)*3000]))
	}
	d := newDesk(t, map[string]string{"many.yaml": flow.String()})
	page := d.get(runURL(d.start("many", nil)), http.StatusOK)
	size := packedSize(t, page)
	for _, name := range []string{"app.css", "project.css", "app.js", "icon.svg"} {
		asset, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		size += packedSize(t, string(asset))
	}
	if size > 60_000 || len(page) > 80_000 {
		t.Errorf("the page has %d bytes, %d packed with its assets", len(page), size)
	}
	if links := len(saved.FindAllString(page, -1)); links < 40 {
		t.Errorf("%d links lead to 40 values", links)
	}
	whole := 0
	for _, block := range strings.Fields(valuesOf(page)) {
		if len(block) >= 4000 {
			whole++
		}
	}
	if whole < 10 {
		t.Errorf("%d values are whole", whole)
	}
}

func packedSize(t *testing.T, text string) int {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}
