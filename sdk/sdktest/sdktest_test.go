package sdktest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/internal/leaktest"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

type config struct{ sdk.HTTPSettings }

type in struct {
	City string `json:"city" min:"1"`
}

type out struct {
	Sky string `json:"sky" enum:"clear,rain"`
}

func weather() *sdk.Plugin {
	return sdk.New("weather", "1.0.0", "The weather", sdk.Read("current", "Now", func(c *sdk.Call[config], in in) (out out, err error) {
		c.Log().Info("looking", "city", in.City)
		c.Progress(0.5, "asking")
		err = c.HTTP().GetJSON("/"+in.City, nil, &out)
		return out, err
	}))
}

func service(t *testing.T, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/nowhere" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestHarnessCallsAnAction(t *testing.T) {
	plugin := sdktest.Open(t, weather(), map[string]any{"base_url": service(t, `{"sky":"rain"}`)})
	result := plugin.Call("current", in{City: "bonn"})
	sdktest.Equal(t, result.Output, out{Sky: "rain"})
	if len(result.Logs) != 1 || result.Logs[0].Fields["city"] != "bonn" || len(result.Progress) != 1 {
		t.Errorf("logs %+v, progress %v", result.Logs, result.Progress)
	}
	if failure := plugin.Call("current", in{City: "nowhere"}).Err; failure == nil || failure.Code != sdk.CodeNotFound {
		t.Errorf("nowhere: %v", failure)
	}
	if problems := plugin.Validate("current", in{}); len(problems) != 1 || problems[0].Pointer != "/city" {
		t.Errorf("an empty city: %+v", problems)
	}
	if problems := plugin.Connect("bad", map[string]any{"base_url": "nowhere"}); len(problems) == 0 {
		t.Error("a wrong base_url is taken")
	}
	if plugin.Action("current").Doc != "Now" || plugin.Describe().Name != "weather" {
		t.Errorf("described as %v", plugin.Describe())
	}
}

// failing notes what a harness reports instead of failing the test.
type failing struct {
	testing.TB
	reports []string
}

func (f *failing) Helper() {}

func (f *failing) Errorf(format string, args ...any) {
	f.reports = append(f.reports, fmt.Sprintf(format, args...))
}

func (f *failing) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(f)
}

func (f *failing) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }

func reports(t *testing.T, try func(testing.TB)) string {
	t.Helper()
	f := &failing{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(f) {
				panic(r)
			}
		}()
		try(f)
	}()
	return strings.Join(f.reports, "\n")
}

func TestHarnessReports(t *testing.T) {
	base := service(t, `{"sky":"purple"}`)
	for want, try := range map[string]func(testing.TB){
		"its output does not fit its schema": func(tb testing.TB) {
			sdktest.Open(tb, weather(), map[string]any{"base_url": base}).Call("current", in{City: "bonn"})
		},
		"open the connection: /base_url `base_url` is required": func(tb testing.TB) { sdktest.Open(tb, weather(), nil) },
		`the plugin has no action "x"`:                          func(tb testing.TB) { sdktest.Serve(tb, weather()).Action("x") },
		"has no version":                                        func(tb testing.TB) { sdktest.Serve(tb, sdk.New("p", "", "")) },
		"another document":                                      func(tb testing.TB) { sdktest.Equal(tb, json.RawMessage(`{"a":1}`), map[string]int{"a": 2}) },
		"the call failed: not_found: no": func(tb testing.TB) {
			sdktest.Result{Err: sdk.NotFound("no")}.Decode(tb, new(int))
		},
	} {
		if got := reports(t, try); !strings.Contains(got, want) {
			t.Errorf("want %q, the harness says %q", want, got)
		}
	}
}
