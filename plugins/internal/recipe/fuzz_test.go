package recipe_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
)

// What Decode reads, Encode writes so that Decode reads the same again.
func FuzzCodec(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"method":"GET","path":"/a/{b}","params":[{"input":"b","name":"b","in":"path","as":"upper","fixed":[1.10]}],"page":{"kind":"number","input":"p","end":404,"wrap":"w"}}`,
		`{"method":"POST","path":"/","body":{"input":"","kind":"multipart","members":["a"],"parts":{"f":{"file":true}}},"envelope":{"ok":"/ok","is":"yes","filled":true},"faults":[{"status":402,"code":8,"input":"x"}]}`,
		`{"security":[[],[{"kind":"api_key","name":"k","in":"query"}]],"refuse":[{"input":"a","if":"(","say":"{match}"}],"fill":[{"member":"m","value":null}],"join":["h"],"only":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := recipe.Decode(text)
		if err != nil {
			return
		}
		encoded, err := first.Encode()
		if err != nil {
			t.Fatalf("%s is read and can't be written: %v", text, err)
		}
		second, err := recipe.Decode(encoded)
		if err != nil {
			t.Fatalf("%s is written and can't be read: %v", encoded, err)
		}
		again, err := second.Encode()
		if diff := cmp.Diff(string(encoded), string(again)); diff != "" || err != nil {
			t.Fatalf("%v (-first +second):\n%s", err, diff)
		}
	})
}

// Whatever an input holds, it stays in its place: one segment of the path, one value of the
// query, and no other host.
func FuzzInputsStayInTheirPlaces(f *testing.F) {
	for _, seed := range []string{"a", "a/b", "..", "%2e%2e", "a?b#c", "//evil.example", "a\r\nX: 1", "é", "\x00", ";p=1", "a&q=2", "http://evil.example/", `"\u002f"`} {
		f.Add(seed, "simple", false)
		f.Add(seed, "matrix", true)
		f.Add(seed, "label", false)
	}
	f.Fuzz(func(t *testing.T, text, style string, explode bool) {
		r := &recipe.Recipe{Method: "GET", Path: "/x/{p}/y", Params: []recipe.Param{
			{Input: "p", Name: "p", In: recipe.InPath, Style: style, Explode: explode}, {Input: "q", Name: "q", In: recipe.InQuery, Explode: explode},
		}}
		input := sdk.JSON(map[string]string{"p": text, "q": text})
		path, query, err := recipe.Built(r, input)
		if err != nil {
			return
		}
		if parts := strings.Split(path, "/"); len(parts) != 4 || parts[1] != "x" || parts[3] != "y" || strings.ContainsAny(path, "?#\r\n ") {
			t.Fatalf("%q in the style %q makes the path %q", text, style, path)
		}
		parsed, err := http.NewRequest(http.MethodGet, "http://service.example"+path+"?"+query.Encode(), nil) //nolint:noctx // it is not sent
		if err != nil {
			t.Fatalf("%q makes no URL: %v", text, err)
		}
		if parsed.URL.Host != "service.example" || parsed.URL.EscapedPath() != path {
			t.Fatalf("%q leads to %s", text, parsed.URL)
		}
		if got := parsed.URL.Query(); len(got) != 1 || len(got["q"]) != 1 {
			t.Fatalf("%q makes the query %v", text, got)
		}
	})
}
