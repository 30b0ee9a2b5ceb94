package rows

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// spoiled are changes of a case after which its judgement must find something:
// one for each kind of expectation.
var spoiled = []struct {
	name  string
	of    string // title of the case in testdata/control.rows
	spoil func(*call)
	finds string
}{
	{"another value", "outputs", func(c *call) {
		c.want.outputs = json.RawMessage(`{"word_count":2,"abbr_count":2,"scene_count":3,"cat_word_count":4}`)
	}, "outputs.word_count is 1"},
	{"a value of another type", "outputs", func(c *call) {
		c.want.outputs = json.RawMessage(`{"word_count":"1","abbr_count":2,"scene_count":3,"cat_word_count":4}`)
	}, "outputs.word_count"},
	{"an output too few", "outputs", func(c *call) { c.want.outputs = json.RawMessage(`{"word_count":1,"abbr_count":2,"scene_count":3}`) }, "expected was none"},
	{"an output too many", "outputs", func(c *call) {
		c.want.outputs = json.RawMessage(`{"word_count":1,"abbr_count":2,"scene_count":3,"cat_word_count":4,"x":1}`)
	}, "missing"},
	{"a failure", "outputs", func(c *call) { c.want = want{hasError: true, kind: "invalid"} }, "succeeded with"},
	{"a pattern", "outputs", func(c *call) {
		c.want.outputs = json.RawMessage(`{"word_count":"<num 2..9>","abbr_count":2,"scene_count":3,"cat_word_count":4}`)
	}, "expected was a number"},
	{"a time", "outputs", func(c *call) {
		c.want.outputs = json.RawMessage(`{"word_count":"<time 0s>","abbr_count":2,"scene_count":3,"cat_word_count":4}`)
	}, "expected was a time"},
	{"other bytes", "bytes", func(c *call) { c.want.outputs = json.RawMessage(`{"word":"x","id":1}`) }, "expected to the byte"},
	{"another meta", "outputs", func(c *call) { c.want.meta = map[string]json.RawMessage{"status": json.RawMessage("201")} }, "meta.status"},
	{"a line of the log", "outputs", func(c *call) { c.want.logs = []string{"nobody says this"} }, "no line of the log"},
	{"another method", "outputs", func(c *call) { c.sends[0].line = "PUT /api/stats" }, "expected was PUT"},
	{"another target", "outputs", func(c *call) { c.sends[0].line = "GET /api/stats?x=1" }, "expected was GET"},
	{"a header", "outputs", func(c *call) { c.sends[0].headers = [][2]string{{"Accept", "text/html"}} }, "header Accept"},
	{"a header that must not be there", "outputs", func(c *call) { c.sends[0].absent = []string{"accept"} }, "header accept is there"},
	{"exactly these headers", "outputs", func(c *call) { c.sends[0].exactly = []string{"Host"} }, "the headers are"},
	{"TLS", "outputs", func(c *call) { c.sends[0].secure = true }, "without TLS"},
	{"a body", "outputs", func(c *call) { body := "{}"; c.sends[0].body = &body }, "its body is"},
	{"a request more", "outputs", func(c *call) { c.sends = append(c.sends, c.sends[0]) }, "was not sent"},
	{"a request less", "outputs", func(c *call) { c.sends = nil }, "one more request"},
	{"another body", "body", func(c *call) { body := `{"name":"b"}`; c.sends[0].body = &body }, "its body is"},
	{"no body", "body", func(c *call) { c.sends[0].body = nil }, "a body that nobody expected"},
	{"success", "failure", func(c *call) { c.want = want{outputs: json.RawMessage("{}")} }, "failed:"},
	{"another kind", "failure", func(c *call) { c.want.kind = "unavailable" }, "the kind is"},
	{"another status", "failure", func(c *call) { n := 400; c.want.status = &n }, "the status is 200"},
	{"another effect", "failure", func(c *call) { c.want.applied = "unknown" }, "applied is not_applied"},
	{"another pointer", "failure", func(c *call) { p := "/word"; c.want.pointer = &p }, "the pointer is"},
	{"another reason", "failure", func(c *call) { r := "405"; c.want.reason = &r }, "the reason is 404"},
	{"a wait", "failure", func(c *call) { c.want.retry = "5" }, "retry_after_s is"},
	{"other words", "failure", func(c *call) { c.want.message = []string{"teapot"} }, "must have"},
	{"words that must not be there", "failure", func(c *call) { c.want.not = []string{"not found"} }, "must have"},
	{"a hint", "failure", func(c *call) { c.want.hint = []string{"teapot"} }, "the hint"},
}

// TestControlSpoiledCasesAreFound runs good cases and judges them by what they do
// not say.
func TestControlSpoiledCasesAreFound(t *testing.T) {
	text, err := os.ReadFile("testdata/control.rows")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := load("control.rows", string(text))
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "flowrun")
	if err := build(t, binary, ""); err != nil {
		t.Fatal(err)
	}
	acts := actsOf(cases)
	performAll(t, binary, acts)
	report(t, acts)
	for _, s := range spoiled {
		t.Run(s.name, func(t *testing.T) {
			for _, a := range acts {
				if a.title != s.of || a.way != byCall && s.name == "another meta" {
					continue
				}
				wrong := *a
				wrong.example = a.copied()
				s.spoil(&wrong.calls[0])
				if found := strings.Join(judge(&wrong), "\n"); !strings.Contains(found, s.finds) {
					t.Errorf("by %s nothing says %q: %q", a.way, s.finds, found)
				}
			}
		})
	}
	t.Run("a secret in the output", func(t *testing.T) {
		for _, printed := range []string{secrets["TOKEN"], leak, "inv-13%20Za%2FSECRET%255f"} {
			wrong := *acts[0]
			wrong.seen.text += printed
			if found := strings.Join(judge(&wrong), "\n"); !strings.Contains(found, "was printed") {
				t.Errorf("%s may be printed: %q", printed, found)
			}
		}
	})
}

// TestTheLoaderIsStrict holds mistakes that must not make a case that checks
// nothing.
func TestTheLoaderIsStrict(t *testing.T) {
	const good = "=== D-16: x\ncall: dictionary.stats\n> GET /api/stats\n< 200 {}\n"
	for name, text := range map[string]string{
		"no row":                "=== X-01: x\ncall: a.b\n> none\n! invalid\n",
		"no title":              "=== D-16\ncall: a.b\n> none\n! invalid\n",
		"no ending":             good,
		"no request":            "=== D-16: x\ncall: a.b\n= {}\n",
		"both endings":          good + "= {}\n! invalid\n",
		"an unknown word":       good + "= {}\nretries: 3\n",
		"an unknown kind":       good + "! wrong\n",
		"an unknown effect":     good + "! invalid applied=maybe\n",
		"an unknown option":     "=== D-16: x\ncall: a.b\n> GET /\n< 200 [text, slow 3] x\n= {}\n",
		"outputs that are none": good + "= {\n",
		"no such base":          "=== D-16: x\nlike: nobody\n= {}\n",
		"more answers":          good + "< 200 {}\n= {}\n",
		"a header before":       "=== D-16: x\ncall: a.b\n> Accept: x\n< 200 {}\n= {}\n",
		"no method":             "=== D-16: x\ncall: a.b\n> /api\n< 200 {}\n= {}\n",
		"input that is none":    "=== D-16: x\ncall: a.b {\n> none\n! invalid\n",
		"two of a name":         good + "name: a\n= {}\n" + good + "name: a\n= {}\n",
		"like after a call":     good + "= {}\nlike: a\n",
		"a command for nothing": "=== D-16: x\ncommand: version\n",
		"only without a reason": good + "only: call\n= {}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := load("x.rows", text); err == nil {
				t.Error("the loader takes it")
			}
		})
	}
	if _, err := load("x.rows", good+"= {}\n"); err != nil {
		t.Errorf("a good case: %v", err)
	}
}

// TestAnswersAreTheBytesTheySay compares what goes over the wire.
func TestAnswersAreTheBytesTheySay(t *testing.T) {
	for text, want := range map[string]string{
		`200 {"a":1}`:                             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
		`200 [html, cut 2, keep] <p>`:             "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 3\r\n\r\n<p",
		`204 [none]`:                              "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
		`200 [chunked 2, unfinished, notype] abc`: "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n",
		`200 [version HTTP/1.0, reason, nolength] [\xff\\n]`: "HTTP/1.0 200 \r\nContent-Type: application/json\r\nConnection: close\r\n\r\n[\xff\\n]",
		`200 [length 9, text] {{rep 3 ab}}`:                  "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: 9\r\n\r\nababab",
	} {
		a, err := parseAnswer(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.bytes(macros{})
		if err != nil || string(got) != want {
			t.Errorf("%s:\n%q, %v, want\n%q", text, got, err, want)
		}
	}
}
