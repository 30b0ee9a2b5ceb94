package sdk_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestHTTPSendsTheTraceContextOn(t *testing.T) {
	const whole = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for name, test := range map[string]struct {
		context string
		header  http.Header // of the action itself
		want    string
	}{
		"a context":                      {context: whole, want: whole},
		"one that is not sampled":        {context: strings.TrimSuffix(whole, "01") + "00", want: strings.TrimSuffix(whole, "01") + "00"},
		"none":                           {},
		"the action's own header wins":   {context: whole, header: http.Header{"Traceparent": {"own"}}, want: "own"},
		"another version":                {context: "01" + whole[2:]},
		"a trace of zeros":               {context: "00-" + strings.Repeat("0", 32) + whole[35:]},
		"a span of zeros":                {context: whole[:36] + strings.Repeat("0", 16) + "-01"},
		"upper case":                     {context: strings.ToUpper(whole)},
		"too short":                      {context: whole[:54]},
		"too long":                       {context: whole + "-x"},
		"other separators":               {context: strings.ReplaceAll(whole, "-", "_")},
		"a line feed: no header is made": {context: whole[:53] + "\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := "no request"
			base := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Traceparent") })
			result := openFetcher(t, base, sdk.Request{Path: "/x", Header: test.header}).Call("read", nil, sdktest.Traceparent(test.context))
			if result.Err != nil {
				t.Fatal(result.Err)
			}
			if got != test.want {
				t.Errorf("the service got %q, want %q", got, test.want)
			}
		})
	}
}
