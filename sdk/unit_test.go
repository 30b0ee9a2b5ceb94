package sdk

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

func TestT01_BaseURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://api.example.com":        "https://api.example.com",
		"https://api.example.com/":       "https://api.example.com",
		"http://127.0.0.1:8080/root//":   "http://127.0.0.1:8080/root",
		"http://[::1]:8080":              "http://[::1]:8080",
		"":                               "!must start with",
		"api.example.com":                "!must start with",
		"/relative":                      "!must start with",
		"ftp://api.example.com":          "!must start with",
		"https://":                       "!has no host",
		"https://:443":                   "!has no host",
		"https://u:canary@h":             "!user or a password",
		"https://h?a=1":                  "!query",
		"https://h?":                     "!query",
		"https://h#f":                    "!fragment",
		"https://h/#":                    "!fragment",
		"https://h/a/../b":               "!. or ..",
		"https://h/%2e%2e":               "!. or ..",
		"https://u:canary@h:port":        "!is no URL",
		"https://exa mple.com":           "!is no URL",
		"javascript:alert(1)//http://h/": "!must start with",
	} {
		got, err := CheckBaseURL(text)
		if message, wrong := strings.CutPrefix(want, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), message) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%q: %q, %v; want %q", text, got, err, message)
			}
		} else if err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestI24_PathEscape(t *testing.T) {
	for segment, want := range map[string]string{
		"a": "a", "a/b": "a%2Fb", "a b": "a%20b", "é": "%C3%A9", "a?b#c%d": "a%3Fb%23c%25d", "...": "...", "a\\b": "a%5Cb", "\n": "%0A",
		"": "!", ".": "!", "..": "!",
	} {
		got, err := PathEscape(segment)
		if want == "!" {
			var refused *Error
			if !errors.As(err, &refused) || refused.Code != CodeInvalid || refused.Applied != NotApplied {
				t.Errorf("%q: %q, %v", segment, got, err)
			}
		} else if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", segment, got, err, want)
		}
	}
	if path, err := Path("whois", "a/b"); path != "/whois/a%2Fb" || err != nil {
		t.Errorf("path %q, %v", path, err)
	}
	if _, err := Path("whois", ".."); err == nil {
		t.Error(".. is a path")
	}
}

func TestI21_RetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	later := now.Add(90 * time.Second).Format(http.TimeFormat)
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "30": 30 * time.Second, " 7 ": 7 * time.Second, "1.5": 1500 * time.Millisecond, "-1": 0, "NaN": 0, "soon": 0,
		"99999999999999999999": 24 * time.Hour, "Inf": 24 * time.Hour, later: 90 * time.Second, now.Add(-time.Hour).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	// the service's clock is an hour ahead of ours: its own date counts
	header := http.Header{"Retry-After": {now.Add(time.Hour + 5*time.Second).Format(http.TimeFormat)}, "Date": {now.Add(time.Hour).Format(http.TimeFormat)}}
	if got := retryAfter(header, now); got != 5*time.Second {
		t.Errorf("with another clock: %s", got)
	}
}

func TestRedactURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://h/a%2Fb":                           "https://h/a%2Fb",
		"https://u:p@h/x#f":                         "https://h/x",
		"https://h/revoke?token=abc&x=1":            "https://h/revoke?token=[redacted]&x=1",
		"https://h/?access_token=a&api-key=b&q=c d": "https://h/?access_token=[redacted]&api-key=[redacted]&q=c+d",
		"https://h/?Client_Secret=a&Client_Secret=": "https://h/?Client_Secret=[redacted]&Client_Secret=[redacted]",
		"https://h/?a=%zz":                          "https://h/?...",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := redactURL(u); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	err := stripURL(&url.Error{Op: "Get", URL: "https://h?token=abc", Err: &url.Error{URL: "https://h?token=abc", Err: errors.New("refused")}})
	if err.Error() != "refused" {
		t.Errorf("a stripped error is %v", err)
	}
}

func TestMaskerKnowsEncodedForms(t *testing.T) {
	m := newMasker([]string{"short", `p@ss/w"rd`, `p@ss/w"rd and more`, ""})
	for text, want := range map[string]string{
		`x p@ss/w"rd y`:            "x [redacted] y",
		`p@ss/w"rd and more`:       "[redacted]",
		`{"a":"p@ss/w\"rd"}`:       `{"a":"[redacted]"}`,
		`?p=p%40ss%2Fw%22rd&q=1`:   "?p=[redacted]&q=1",
		`/p@ss%2Fw%22rd/`:          "/[redacted]/",
		"a short secret is a word": "a short secret is a word",
	} {
		if got := m.text(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := (*masker)(nil).text("x"); got != "x" {
		t.Errorf("no masker: %s", got)
	}
	masked := m.error(&Error{Message: `p@ss/w"rd`, Hint: `p@ss/w"rd`, Reason: `p@ss/w"rd`, Details: map[string]any{"a": []string{`p@ss/w"rd`}}})
	if text := string(encoded(masked)); strings.Contains(text, "p@ss") {
		t.Errorf("masked error %s", text)
	}
}

func TestTextIsFitForAMessage(t *testing.T) {
	if got := plain("a\x1b[31m\r\nb\u202ec\xffd\u0085"); got != "a[31m  bc?d" {
		t.Errorf("plain gave %q", got)
	}
	for text, want := range map[string]string{"abc": "abc", "abcdefghi": "abcde...", "ééééé": "éé..."} {
		if got := cut(text, 8); got != want {
			t.Errorf("cut(%q) gave %q", text, got)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"type", "domain", "missing_ok"}
	for word, want := range map[string]string{"typ": "type", "tpye": "type", "domian": "domain", "missingok": "missing_ok", "x": "", "": "", "type": "", strings.Repeat("a", 100): ""} {
		if want != "" {
			want = "did you mean `" + want + "`?"
		}
		if got := didYouMean(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestFormats(t *testing.T) {
	for format, c := range map[string]struct{ good, bad []string }{
		"date-time": {[]string{"2026-01-31T09:00:00Z", "2026-01-31T09:00:00.123+01:00"}, []string{"2026-01-31", "2026-02-30T00:00:00Z", ""}},
		"date":      {[]string{"2024-02-29"}, []string{"2026-02-29", "2026-1-1"}},
		"duration":  {[]string{"30s", "1h30m", "PT20M", "P7D"}, []string{"30", "P", "1y"}},
		"uri":       {[]string{"https://h/x"}, []string{"/x", "%zz"}},
		"ipv4":      {[]string{"192.0.2.1"}, []string{"::1", "192.0.2.256"}},
		"ipv6":      {[]string{"2001:db8::1"}, []string{"192.0.2.1", "fe80::1%eth0"}},
		"uuid":      {[]string{"123e4567-e89b-12d3-a456-426614174000"}, []string{"123e4567"}},
		"another":   {[]string{"whatever"}, nil},
	} {
		for _, text := range c.good {
			if wrong := checkFormat(format, text); wrong != "" {
				t.Errorf("%s %q: %s", format, text, wrong)
			}
		}
		for _, text := range c.bad {
			if checkFormat(format, text) == "" {
				t.Errorf("%s %q is taken", format, text)
			}
		}
	}
}

// A flood of lines is cut off and counted; the terminal event still comes last.
func TestLogFloodIsDropped(t *testing.T) {
	var sent []*pluginv1.ExecuteEvent
	s := &eventStream{send: func(e *pluginv1.ExecuteEvent) error { sent = append(sent, e); return nil }}
	line := strings.Repeat("x", 1<<20)
	for range 20 {
		s.log(pluginv1.Log_LEVEL_INFO, line, nil, time.Time{})
	}
	if len(sent) != 16 || s.droppedLines() != 4 {
		t.Errorf("%d lines sent, %d dropped", len(sent), s.droppedLines())
	}
	s.sendDropped(4, time.Time{})
	if err := s.end(&pluginv1.ExecuteEvent{}); err != nil {
		t.Fatal(err)
	}
	s.log(pluginv1.Log_LEVEL_INFO, "late", nil, time.Time{})
	s.progress(1, "late")
	if err := s.end(&pluginv1.ExecuteEvent{}); err != nil || len(sent) != 18 {
		t.Errorf("%d events, %v", len(sent), err)
	}
}

// What an action returned is not written to: other calls may read it now.
func TestOutputOfTheAuthorIsNotChanged(t *testing.T) {
	type row struct {
		Tags []string `json:"tags"`
	}
	type out struct {
		Rows   []row          `json:"rows"`
		Nested *row           `json:"nested"`
		Any    any            `json:"any"`
		Number json.Number    `json:"number"`
		Time   time.Time      `json:"time"`
		Object map[string]int `json:"object"`
	}
	shared := []row{{}, {Tags: []string{"a"}}}
	nested := &row{}
	value := out{Rows: shared, Nested: nested, Number: "1.10"}
	got, err := encodeOutput(&value)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"rows":[{"tags":[]},{"tags":["a"]}],"nested":{"tags":[]},"any":null,"number":1.10,"time":"0001-01-01T00:00:00Z","object":{}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if shared[0].Tags != nil || nested.Tags != nil {
		t.Error("the author's memory was written to")
	}
	for _, document := range []Value{nil, Value("1.10"), Value(`{"a": 1}`)} {
		got, err := encodeOutput(&document)
		if err != nil || !json.Valid(got) {
			t.Errorf("%q: %q, %v", document, got, err)
		}
	}
}

func TestMessageLimitOfTheHost(t *testing.T) {
	for text, want := range map[string]int{"": handshake.DefaultMessageLimit, "x": handshake.DefaultMessageLimit, "-1": handshake.DefaultMessageLimit, "100": 100, "999999999": handshake.MaxMessageLimit} {
		if got := messageLimit(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestLifelineEndsTheProcess(t *testing.T) {
	exited := -1
	exitWithHost(strings.NewReader("noise on stdin"), func(code int) { exited = code })
	if exited != 0 {
		t.Errorf("exit code %d", exited)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for pointer, s := range map[string]HTTPSettings{
		"/base_url": {BaseURL: "h"}, "/proxy": {Proxy: "gopher://h"}, "/ca_file": {CAFile: "no-such-file.pem"},
	} {
		problems := checkSettings(s)
		if len(problems) != 1 || problems[0].Pointer != pointer {
			t.Errorf("%+v: %+v", s, problems)
		}
	}
	if problems := checkSettings(HTTPSettings{CAFile: "doc.go"}); len(problems) != 1 || !strings.Contains(problems[0].Summary, "no PEM") {
		t.Errorf("a file without certificates: %+v", problems)
	}
	if problems := checkSettings(HTTPSettings{BaseURL: "https://h", Proxy: "http://u:p@proxy:3128"}); len(problems) > 0 {
		t.Errorf("good settings: %+v", problems)
	}
}

func TestCodesHaveNames(t *testing.T) {
	for code, want := range map[Code]string{CodeNotFound: "not_found", CodeUnexpectedResponse: "unexpected_response", 0: "unknown", 99: "unknown"} {
		if code.String() != want {
			t.Errorf("code %d is %q", int(code), code.String())
		}
	}
	for applied, want := range map[Applied]string{NotApplied: "not_applied", AppliedFully: "applied", AppliedPartly: "partly", AppliedUnknown: "unknown"} {
		if applied.String() != want {
			t.Errorf("applied %d is %q", int(applied), applied.String())
		}
	}
}

// A secret field may hold a whole document: every text and number in it counts.
func TestSecretsInsideAnObject(t *testing.T) {
	s, err := parseSchema([]byte(`{"type":"object","properties":{"open":{},"body":{"type":"object","writeOnly":true},"list":{"type":"array","items":{"type":"string","writeOnly":true}}},"additionalProperties":{"type":"string","writeOnly":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	document := []byte(`{"open":"visible-text","body":{"a":["canary-one",1234567],"b":{"c":"canary-two"},"d":true},"list":["canary-three"],"x/y":"canary-four"}`)
	m := newMasker(secretValues(s, document))
	if got, want := m.text("visible-text canary-one 1234567 canary-two canary-three canary-four true"), "visible-text [redacted] [redacted] [redacted] [redacted] [redacted] true"; got != want {
		t.Errorf("masked to %q", got)
	}
	if diff := cmp.Diff([]string{"/body", "/list/0", "/x~1y"}, sensitivePointers(s, document)); diff != "" {
		t.Errorf("sensitive (-want +got):\n%s", diff)
	}
}

func TestEmptyListsInEmbeddedStructs(t *testing.T) {
	type hidden struct {
		Tags []string `json:"tags"`
	}
	type Shown struct {
		More []string `json:"more"`
	}
	value := struct {
		hidden
		Shown
		Array [1]hidden `json:"array"`
	}{}
	got, err := encodeOutput(&value)
	if want := `{"tags":[],"more":[],"array":[{"tags":[]}]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestErrorConstructors(t *testing.T) {
	for _, c := range []struct {
		err     *Error
		code    Code
		applied Applied
	}{
		{Forbidden("x"), CodeForbidden, NotApplied}, {AuthRequired("x"), CodeAuthRequired, NotApplied}, {NotFound("x"), CodeNotFound, NotApplied},
		{RateLimited(time.Second, "x"), CodeRateLimited, NotApplied}, {CursorExpired("x"), CodeCursorExpired, NotApplied},
		{UnexpectedResponse("x"), CodeUnexpectedResponse, AppliedUnknown}, {Errorf(CodeDenied, "x"), CodeDenied, AppliedUnknown},
	} {
		if c.err.Code != c.code || c.err.Applied != c.applied || c.err.Message != "x" {
			t.Errorf("got %+v", c.err)
		}
	}
	cause := errors.New("cause")
	if err := Errorf(CodeInternal, "doing: %w", cause); !errors.Is(err, cause) || err.Error() != "internal: doing: cause" {
		t.Errorf("a wrapped cause: %v", err)
	}
}

func TestLogFields(t *testing.T) {
	got := string(logFields([]any{"e", errors.New("x"), "d", time.Second, "f", func() {}, "v", map[string]int{"a": 1}, "raw", Value(`[1.10]`)}))
	if !strings.HasPrefix(got, `{"d":"1s","e":"x","f":"0x`) || !strings.HasSuffix(got, `"raw":[1.10],"v":{"a":1}}`) {
		t.Errorf("fields %s", got)
	}
	if got := logFields([]any{"bad", Value("{")}); got == nil || !json.Valid(got) {
		t.Errorf("a broken value: %s", got)
	}
}

// TestAnExcerptEndsBeforeASecretThatIsCut: masks are shorter than secrets, so that
// the end of what is masked comes near the start of what is shown.
func TestAnExcerptEndsBeforeASecretThatIsCut(t *testing.T) {
	secret := strings.Repeat("canary-", 30)
	var m masks
	m.add(secret)
	for padding := range len(secret) {
		text := strings.Repeat("x", padding) + strings.Repeat(secret, 40)
		if got := m.now().start(text, 4*maxExcerpt); strings.Contains(got, "canary") {
			t.Fatalf("padding %d: %q", padding, got)
		}
	}
	if got := m.now().start("short "+secret+" end", 4*maxExcerpt); got != "short [redacted] end" {
		t.Errorf("got %q", got)
	}
}

func TestIssue15_CheckOutputReadsNumbersAsJSONSchemaDoes(t *testing.T) {
	count := func(*Call[struct{}], NoInput) (map[string]int, error) { return nil, nil }
	p := New("p", "1", "", Read("count", "", count))
	for document, want := range map[string]string{
		`{"a":3320}`: "", `{"a":3320.0}`: "", `{"a":3.32e3}`: "", `{"a":-0.0}`: "",
		`{"a":3320.5}`: "/a must be an integer, is 3320.5", `{"a":"x"}`: "/a must be an integer, is the text", `{"a":`: " is no JSON",
	} {
		got := ""
		for _, problem := range p.CheckOutput("count", Value(document)) {
			got += problem.Pointer + " " + problem.Summary
		}
		if (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: want %q, got %q", document, want, got)
		}
	}
	if got := p.CheckOutput("cuont", nil); len(got) != 1 {
		t.Errorf("an action that is not there: %v", got)
	}
}
