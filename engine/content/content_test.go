package content_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/content"
	"github.com/flowrun/flowrun/engine/schema"
)

func list(t *testing.T, output json.RawMessage, f content.Format) []json.RawMessage {
	t.Helper()
	var fields map[string][]json.RawMessage
	if err := json.Unmarshal(output, &fields); err != nil {
		t.Fatalf("%s: %v", output, err)
	}
	return fields[f.Field()]
}

// pages reads all pages of a text, and returns their elements and how many pages there were.
func pages(t *testing.T, text string, o content.Options) ([]json.RawMessage, int, error) {
	t.Helper()
	var all []json.RawMessage
	cursor := ""
	for n := 1; ; n++ {
		page, err := content.ReadPage(strings.NewReader(text), o, cursor)
		if err != nil {
			return all, n, err
		}
		all = append(all, list(t, page.Output, o.Format)...)
		if page.Next == "" {
			return all, n, nil
		}
		if n > len(text)+2 {
			t.Fatalf("no end: %q", page.Next)
		}
		cursor = page.Next
	}
}

func texts(elements []json.RawMessage) string {
	parts := make([]string, len(elements))
	for i, e := range elements {
		parts[i] = string(e)
	}
	return strings.Join(parts, " ")
}

func TestIssue16_3_AValueIsReadAsWhatTheStepSays(t *testing.T) {
	row := schema.MustFromJSON(`{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"price":{"type":["number","null"]},"on":{"type":"boolean"},"note":{"type":"string"}}}`)
	for _, c := range []struct {
		text string
		o    content.Options
		want string
	}{
		{"hello\n", content.Options{Format: content.Text}, `{"text":"hello\n"}`},
		{"", content.Options{Format: content.Text}, `{"text":""}`},
		{"\ufeffa", content.Options{Format: content.Text}, `{"text":"a"}`},
		{"gr\xfc\xdfe", content.Options{Format: content.Text, Encoding: content.Latin1}, `{"text":"grüße"}`},
		{"\x80", content.Options{Format: content.Text, Encoding: content.Windows1252}, `{"text":"€"}`},
		{"\xff\xfea\x00\x00\x01", content.Options{Format: content.Text, Encoding: content.UTF16}, `{"text":"aĀ"}`},
		{"a\r\nb\n\nc", content.Options{Format: content.Lines}, `{"items":["a","b","","c"]}`},
		{"", content.Options{Format: content.Lines}, `{"items":[]}`},
		{"a\n", content.Options{Format: content.Lines}, `{"items":["a"]}`},
		{"\xff\xfea\x00\n\x00b\x00", content.Options{Format: content.Lines, Encoding: content.UTF16}, `{"items":["a","b"]}`},
		{` {"a": 1} `, content.Options{Format: content.JSON}, `{"json": {"a": 1} }`},
		{"{\"id\":1}\n\n {\"id\":2}\r\n", content.Options{Format: content.JSONLines, Answer: row}, `{"items":[{"id":1},{"id":2}]}`},
		{"a,b\n1,\"x\ny\"\n\n2,\n", content.Options{Format: content.CSV}, `{"items":[{"a":"1","b":"x\ny"},{"a":"2","b":""}]}`},
		{"\ufeffid;price;on;note\r\n007;;TRUE;7\r\n", content.Options{Format: content.CSV, Answer: row, Delimiter: ';'}, `{"items":[{"id":7,"price":null,"on":true,"note":"7"}]}`},
		{"1\t2\n", content.Options{Format: content.CSV, Delimiter: '\t', Columns: []string{"a", "b"}}, `{"items":[{"a":"1","b":"2"}]}`},
		{"", content.Options{Format: content.CSV}, `{"items":[]}`},
		{"st\xe4dte\nK\xf6ln\n", content.Options{Format: content.CSV, Encoding: content.Latin1}, `{"items":[{"städte":"Köln"}]}`},
	} {
		got, err := content.Read(strings.NewReader(c.text), c.o)
		if err != nil || string(got) != c.want {
			t.Errorf("%q as %s: %s, %v, want %s", c.text, c.o.Format, got, err, c.want)
			continue
		}
		if err := content.OutputOf(c.o.Format, c.o.Answer).CheckAnswer(got); err != nil {
			t.Errorf("%q as %s is no output: %v", c.text, c.o.Format, err)
		}
	}
}

func TestIssue16_3_WhatCantBeReadSaysWhereAndWhatToDo(t *testing.T) {
	row := schema.MustFromJSON(`{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}},"additionalProperties":false}`)
	big := strings.Repeat("x", 3<<20)
	for _, c := range []struct {
		text       string
		o          content.Options
		want, hint string
		large      bool
	}{
		{big, content.Options{Format: content.Text}, "it has 3145728 bytes, and 1048576 bytes are read at a time", "`max_bytes: 3145728` reads it", true},
		{big + big, content.Options{Format: content.JSON}, "it has 6291456 bytes", "hand it to an action as it is", true},
		{big, content.Options{Format: content.Lines}, "it has 3145728 bytes", "`paginate`", true},
		{"a\xfcb", content.Options{Format: content.Text}, "it is no UTF-8: the byte 0xfc in line 1", "`encoding: windows-1252`", false},
		{"a\nb\xff\n", content.Options{Format: content.Lines}, "line 2: it is no UTF-8: the byte 0xff", "`encoding: windows-1252`", false},
		{"\xff\xfea\x00", content.Options{Format: content.Text}, "no UTF-8", "`encoding: utf-16`", false},
		{"abc", content.Options{Format: content.Text, Encoding: content.UTF16}, "it is no UTF-16", "", false},
		{`{"a":`, content.Options{Format: content.JSON}, "it is no JSON that can be read: it ends too early", "", false},
		{`{"a":1,"a":2}`, content.Options{Format: content.JSON}, "it is no JSON that can be read", "", false},
		{`{"id":"x"}`, content.Options{Format: content.JSON, Answer: row}, "it does not fit `answer`: /id: expects an integer, got text", "", false},
		{"{\"id\":1}\n{\"id\":}\n", content.Options{Format: content.JSONLines, Answer: row}, "line 2 is no JSON that can be read: column 7", "", false},
		{"{\"id\":1}\n{\"id\":true}\n", content.Options{Format: content.JSONLines, Answer: row}, "line 2: it does not fit `answer`", "", false},
		{"id\n1\nx\n", content.Options{Format: content.CSV, Answer: row}, "line 3, column `id`: must be an integer, is \"x\"", "", false},
		{"id,more\n1,2\n", content.Options{Format: content.CSV, Answer: row}, "there is a column `more`", "add it to `answer`", false},
		{"name\n1\n", content.Options{Format: content.CSV, Answer: row}, "there is a column `name`", "", false},
		{"a,b\n1\n", content.Options{Format: content.CSV}, "line 2 has 1 cells, and there are 2 columns", "", false},
		{"a\n\"x\n", content.Options{Format: content.CSV}, "it is no CSV: parse error on line 2, column 4", "", false},
		{"a\n\xff\n", content.Options{Format: content.CSV}, "line 2, column `a`: it is no UTF-8", "", false},
	} {
		_, err := content.Read(strings.NewReader(c.text), c.o)
		p, ok := errors.AsType[*content.Problem](err)
		if !ok || !strings.Contains(p.Message, c.want) || !strings.Contains(p.Hint, c.hint) || p.TooLarge != c.large {
			t.Errorf("%.40q as %s: %v (hint %q), want %s", c.text, c.o.Format, err, func() string {
				if ok {
					return p.Hint
				}
				return ""
			}(), c.want)
		}
	}
}

// randomTable is a CSV with quotes, line ends and umlauts in its cells.
func randomTable(r *rand.Rand, rowCount int) string {
	var b strings.Builder
	b.WriteString("id,\"na\"\"me\nx\",text\r\n")
	for i := range rowCount {
		cell := ""
		for range r.IntN(12) {
			cell += []string{"a", "ü", "\"\"", ",", "\n", "\r\n", " "}[r.IntN(7)]
		}
		fmt.Fprintf(&b, "%d,\"%s\",%s%s", i, cell, strings.Repeat("z", r.IntN(30)), []string{"\n", "\r\n", "\n\n"}[r.IntN(3)])
	}
	return b.String()
}

// TestIssue16_3_PagesAreTheWhole: read page by page, however small, a list has the
// elements that it has as a whole.
func TestIssue16_3_PagesAreTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 3))
	for round := range 60 {
		table := randomTable(r, 1+r.IntN(60))
		if round%3 == 0 {
			table = "\ufeff" + table
		}
		if round%4 == 0 {
			table = strings.TrimRight(table, "\r\n")
		}
		for _, f := range []content.Format{content.CSV, content.Lines} {
			whole, err := content.Read(strings.NewReader(table), content.Options{Format: f})
			if err != nil {
				t.Fatal(err)
			}
			want := texts(list(t, whole, f))
			got, n, err := pages(t, table, content.Options{Format: f, MaxBytes: 120 + r.IntN(200)})
			if err != nil || texts(got) != want {
				t.Fatalf("%s of %q in %d pages: %v\n%s\nwant\n%s", f, table, n, err, texts(got), want)
			}
			if len(table) > 1000 && n < 3 {
				t.Fatalf("%d bytes in %d pages", len(table), n)
			}
		}
	}
}

func TestIssue16_3_PlacesAreTrueOnLaterPages(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,note\n")
	for i := range 500 {
		fmt.Fprintf(&b, "%d,\"a\nb\"\n", i)
	}
	bad := strings.Replace(b.String(), "\n400,", "\nfour,", 1)
	row := schema.MustFromJSON(`{"type":"object","properties":{"id":{"type":"integer"}}}`)
	_, n, err := pages(t, bad, content.Options{Format: content.CSV, Answer: row, MaxBytes: 700})
	line := strconv.Itoa(strings.Count(bad[:strings.Index(bad, "four")], "\n") + 1)
	if err == nil || !strings.Contains(err.Error(), "line "+line+", column `id`") || n < 4 {
		t.Errorf("page %d: %v, want line %s", n, err, line)
	}
	broken := strings.Replace(b.String(), "\n400,\"a", "\n400,a\"a", 1)
	_, _, err = pages(t, broken, content.Options{Format: content.CSV, MaxBytes: 700})
	if err == nil || !strings.Contains(err.Error(), "on line "+line) {
		t.Errorf("%v, want line %s", err, line)
	}
	lines := strings.Repeat("x\n", 700) + "\xff\n"
	if _, _, err = pages(t, lines, content.Options{Format: content.Lines, MaxBytes: 100}); err == nil || !strings.Contains(err.Error(), "line 701:") {
		t.Error(err)
	}
}

func TestIssue16_3_WhatIsLargerThanAPageEndsTheReading(t *testing.T) {
	for text, f := range map[string]content.Format{
		strings.Repeat("x", 500):                       content.Lines,
		"a\n\"" + strings.Repeat("x", 500) + "\"\nb\n": content.CSV,
		"a\n1\n\"" + strings.Repeat("x", 5<<20):        content.CSV, // a quote that is not closed
		"[" + strings.Repeat("1,", 300) + "1]\n":       content.JSONLines,
	} {
		_, _, err := pages(t, text, content.Options{Format: f, MaxBytes: 200})
		if p, ok := errors.AsType[*content.Problem](err); !ok || !p.TooLarge || !strings.Contains(p.Message, "200 bytes") {
			t.Errorf("%.20q as %s: %v", text, f, err)
		}
	}
	for _, cursor := range []string{"x", "1", "-1:1", "99:1", "1:0", "1:1:1", "9999999999999999999:1"} {
		if _, err := content.ReadPage(strings.NewReader("abc"), content.Options{Format: content.Lines}, cursor); err == nil {
			t.Errorf("the cursor %q is taken", cursor)
		}
	}
	for _, o := range []content.Options{{Format: content.Text}, {Format: content.JSON}, {Format: content.Lines, Encoding: content.UTF16}} {
		if _, err := content.ReadPage(strings.NewReader("abc"), o, ""); err == nil {
			t.Errorf("%v has pages", o)
		}
	}
}

// TestIssue16_3_RowsThatGrowAsJSONEndAPage: names of columns stand in each row.
func TestIssue16_3_RowsThatGrowAsJSONEndAPage(t *testing.T) {
	name := strings.Repeat("n", 5000)
	table := name + "\n" + strings.Repeat("1\n", 4000)
	got, n, err := pages(t, table, content.Options{Format: content.CSV})
	if err != nil || len(got) != 4000 || n < 4 {
		t.Errorf("%d rows in %d pages, %v", len(got), n, err)
	}
	if _, err := content.Read(strings.NewReader(table), content.Options{Format: content.CSV}); err == nil || !strings.Contains(err.Error(), "as JSON it has more than") {
		t.Errorf("as a whole: %v", err)
	}
}

// failing is a source that can't be read behind a place.
type failing struct {
	*strings.Reader
	from int64
}

var errDisk = errors.New("the disk")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, errDisk
	}
	return f.Reader.ReadAt(p, off)
}

func TestIssue16_3_ErrorsOfTheSourceArePassedOn(t *testing.T) {
	for _, f := range content.Formats() {
		_, err := content.Read(failing{strings.NewReader(strings.Repeat("1\n", 9000)), 9000}, content.Options{Format: content.Format(f)})
		if !errors.Is(err, errDisk) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// FuzzPages: what is read as a whole is read the same page by page, or a page says that an
// element is too large for it.
func FuzzPages(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "\"\n", "a\n\"x\"y\n", "\ufeffa\r\n\r\n1", "{}\n{\n", "\xff"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, most int) {
		if len(text) > 5000 {
			return
		}
		for _, format := range []content.Format{content.CSV, content.Lines, content.JSONLines} {
			o := content.Options{Format: format}
			whole, err := content.Read(strings.NewReader(text), o)
			if err != nil {
				if _, ok := errors.AsType[*content.Problem](err); !ok && !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
			}
			o.MaxBytes = 1 + max(most, -most, 0)%200
			got, _, pageErr := pages(t, text, o)
			if err == nil && pageErr == nil && !slices.EqualFunc(got, list(t, whole, format), func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
				t.Fatalf("%s of %q by %d bytes: %s\nwant %s", format, text, o.MaxBytes, got, whole)
			}
			if p, ok := errors.AsType[*content.Problem](pageErr); err == nil && pageErr != nil && (!ok || !p.TooLarge) {
				t.Fatalf("%s of %q by %d bytes: %v", format, text, o.MaxBytes, pageErr)
			}
			if err != nil && pageErr == nil {
				t.Fatalf("%s of %q by %d bytes is read, and as a whole: %v", format, text, o.MaxBytes, err)
			}
		}
	})
}
