package dictionary

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/dictionary/dictionarysim"
	"github.com/flowrun/flowrun/sdk"
)

func TestD02_CodeAndStatusBothCount(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		code   sdk.Code
		text   string
	}{
		"the code wins over the status":  {503, `{"code":404,"message":"no such word","data":null}`, sdk.CodeNotFound, "no such word"},
		"a good code with a bad status":  {502, `{"code":200,"message":"success","data":{}}`, sdk.CodeUnavailable, "success"},
		"an unknown code":                {200, `{"code":7,"message":"odd","data":null}`, sdk.CodeUnexpectedResponse, "odd"},
		"a code of the 4xx class":        {200, `{"code":403,"message":"no","data":null}`, sdk.CodeForbidden, "no"},
		"no message":                     {200, `{"code":404,"data":null}`, sdk.CodeNotFound, "code 404"},
		"no code":                        {200, `{"message":"success","data":{}}`, sdk.CodeUnexpectedResponse, "`code`"},
		"the code is text":               {200, `{"code":"200","message":"success","data":{}}`, sdk.CodeUnexpectedResponse, "`code` is text where an integer is due"},
		"a list":                         {200, `[]`, sdk.CodeUnexpectedResponse, "`code`"},
		"no envelope with a bad status":  {404, `<html></html>`, sdk.CodeNotFound, "404"},
		"no envelope and method refused": {405, `nope`, sdk.CodeInternal, "405"},
		"control signs are not shown":    {200, `{"code":400,"message":"a\u001b[31m\nb","data":null}`, sdk.CodeInvalid, "a[31m b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			failsWith(t, simkit.Fault{Status: tt.status, Body: tt.body}, tt.code, tt.text)
		})
	}
}

// failsWith calls stats against an answer and checks the error.
func failsWith(t *testing.T, f simkit.Fault, code sdk.Code, text string) *sdk.Error {
	t.Helper()
	p, sim := open(t)
	answer(t, sim, f)
	r := p.Call("stats", in{})
	if r.Err == nil || r.Err.Code != code || !strings.Contains(r.Err.Message, text) {
		t.Fatalf("got %v, want %s with %q", r.Err, code, text)
	}
	if body, _ := r.Err.Details["body"].(string); len(body) > 512 {
		t.Errorf("the excerpt has %d bytes", len(body))
	}
	if n := sim.Kit().Count(""); n != 1 {
		t.Errorf("%d requests were sent: a plugin never repeats one", n)
	}
	return r.Err
}

func TestD03_MirroredAndAlwaysOKServers(t *testing.T) {
	for _, always := range []bool{false, true} {
		t.Run(fmt.Sprintf("always 200 is %v", always), func(t *testing.T) {
			p, _ := openSim(t, dictionarysim.Options{AlwaysOK: always, Now: frozen}, nil)
			r := p.Call("word", in{"word": "qqqq"})
			if r.Err == nil || r.Err.Code != sdk.CodeNotFound || r.Err.Message != "word not found" || r.Err.Reason != "404" || r.Err.Applied != sdk.NotApplied {
				t.Errorf("got %+v", r.Err)
			}
			output(t, p.Call("word", in{"word": "happy"}))
		})
	}
}

func TestD04_Codes(t *testing.T) {
	for code, want := range map[int]sdk.Code{
		400: sdk.CodeInvalid, 404: sdk.CodeNotFound, 405: sdk.CodeInternal, 429: sdk.CodeRateLimited, 500: sdk.CodeUnavailable,
	} {
		for _, status := range []int{200, code} {
			e := failsWith(t, simkit.Fault{Status: status, Body: fmt.Sprintf(`{"code":%d,"message":"so it is","data":null}`, code)}, want, "so it is")
			if e.Reason != fmt.Sprint(code) || e.HTTPStatus != status {
				t.Errorf("code %d with HTTP %d: %+v", code, status, e)
			}
		}
	}
}

func TestD05_NullDataOnSuccess(t *testing.T) {
	for _, body := range []string{`{"code":200,"message":"success","data":null}`, `{"code":200,"message":"success"}`} {
		failsWith(t, simkit.Fault{Body: body}, sdk.CodeUnexpectedResponse, "`data`")
	}
}

func TestD18_RetryAfterIsTheRestOfTheWindow(t *testing.T) {
	now := noon
	w := newWindows(func() time.Time { return now }, window)
	steps := []struct {
		after time.Duration
		want  time.Duration // rest after this request
	}{
		{0, 60 * time.Second},
		{20 * time.Second, 40 * time.Second},
		{39500 * time.Millisecond, time.Second}, // never at once
		{500 * time.Millisecond, 60 * time.Second},
		{5 * time.Minute, 60 * time.Second},
		{-time.Hour, 60 * time.Second}, // a clock that was set back
	}
	for i, s := range steps {
		now = now.Add(s.after)
		w.sent("base")
		if got := w.rest("base"); got != s.want {
			t.Errorf("request %d: %s, want %s", i+1, got, s.want)
		}
	}
	now = noon
	w.sent("other")
	if got := w.rest("other"); got != time.Minute {
		t.Errorf("another base: %s", got)
	}
}

func TestD18_RateLimited(t *testing.T) {
	p, sim := openSim(t, dictionarysim.Options{Requests: 1, Now: frozen}, nil)
	output(t, p.Call("stats", in{}))
	r := p.Call("stats", in{})
	if r.Err == nil || r.Err.Code != sdk.CodeRateLimited || r.Err.HTTPStatus != 429 || r.Err.RetryAfter != time.Minute {
		t.Errorf("got %+v, want to wait for the rest of the window", r.Err)
	}
	answer(t, sim, simkit.Fault{Status: 429, RetryAfter: "7"})
	if r := p.Call("stats", in{}); r.Err == nil || r.Err.RetryAfter != 7*time.Second {
		t.Errorf("a Retry-After is not honoured: %+v", r.Err)
	}
	answer(t, sim, simkit.Fault{Body: `{"code":429,"message":"slow down","data":null}`})
	if r := p.Call("stats", in{}); r.Err == nil || r.Err.Code != sdk.CodeRateLimited || r.Err.RetryAfter != time.Minute {
		t.Errorf("code 429 with HTTP 200: %+v", r.Err)
	}
}

func TestD20_CharsetParameter(t *testing.T) {
	for _, ctype := range []string{"application/json; charset=utf-8", "application/json;charset=UTF-8", "text/plain"} {
		p, sim := open(t)
		answer(t, sim, simkit.Fault{ContentType: ctype})
		output(t, p.Call("stats", in{}))
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	tests := map[string]struct {
		fault simkit.Fault
		code  sdk.Code
		text  string
	}{
		"a page with status 200":    {simkit.Fault{HTML: true}, sdk.CodeUnexpectedResponse, "text/html"},
		"cut with a fitting length": {simkit.Fault{Truncate: 40}, sdk.CodeUnexpectedResponse, "no JSON"},
		"cut on the wire":           {simkit.Fault{Truncate: 40, Cut: true}, sdk.CodeUnexpectedResponse, "cut short"},
		"empty":                     {simkit.Fault{Empty: true}, sdk.CodeUnexpectedResponse, "empty"},
		"dropped":                   {simkit.Fault{Drop: simkit.DropAfter}, sdk.CodeUnavailable, ""},
		"too large":                 {simkit.Fault{HugeBytes: 9 << 20}, sdk.CodeUnexpectedResponse, "larger than"},
		"a page with status 503":    {simkit.Fault{HTML: true, Status: 503}, sdk.CodeUnavailable, "503"},
		"a page with status 429":    {simkit.Fault{HTML: true, Status: 429}, sdk.CodeRateLimited, "429"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { failsWith(t, tt.fault, tt.code, tt.text) })
	}
}
