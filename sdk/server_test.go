package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/sdk"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type serverConfig struct {
	Name string `json:"name" default:"nobody"`
	Key  string `json:"key,omitempty" secret:"true"`
}

type doIn struct {
	What string `json:"what"`
	Code string `json:"code,omitempty" secret:"true"`
}

type doOut struct {
	Name   string            `json:"name"`
	List   []string          `json:"list"`
	Map    map[string]int    `json:"map"`
	Rows   []doRow           `json:"rows"`
	Secret string            `json:"secret,omitempty" secret:"true"`
	Raw    sdk.Value         `json:"raw,omitempty"`
	Maybe  *string           `json:"maybe"`
	More   map[string]string `json:"more,omitempty"`
}

type doRow struct {
	Token string   `json:"token,omitempty" secret:"true"`
	Tags  []string `json:"tags"`
}

// deeds are what the action of doer can be asked for.
func deeds(c *sdk.Call[serverConfig], in doIn) (doOut, error) {
	out := doOut{Name: c.Config.Name}
	switch in.What {
	case "panic":
		panic(fmt.Sprintf("boom with %s and %s", c.Config.Key, in.Code))
	case "nil panic":
		var m map[string]int
		m["x"] = 1 //nolint:staticcheck // the panic is the test
	case "pending":
		return out, sdk.Pending{RetryAfter: 5 * time.Second, Checkpoint: []byte("c1"), Message: "wait " + in.Code, Prompt: &sdk.Prompt{Title: "Log in", UserCode: "AB-CD", ExpiresAt: time.Unix(100, 0)}}
	case "pending pointer":
		return out, fmt.Errorf("not yet: %w", &sdk.Pending{Message: "later"})
	case "plain error":
		return out, errors.New("went wrong with " + c.Config.Key)
	case "wrapped error":
		return out, fmt.Errorf("outer: %w", sdk.NotFound("no %s", "thing").WithReason("gone").WithHint("look %s", "elsewhere"))
	case "typed nil":
		var none *sdk.Error
		return out, none
	case "secrets":
		out.Secret, out.Rows = "s-1", []doRow{{Token: "t-1"}, {}, {Token: "t-2"}}
	case "raw":
		out.Raw = sdk.Value(`{"b":1.10,"a":9007199254740993,"t":"\u00e9<>"}`)
	case "not JSON":
		out.Raw = sdk.Value(`{`)
	case "large":
		out.Name = strings.Repeat("x", 9<<20)
	case "page":
		c.Next(c.PageCursor() + "+")
		c.SetWatermark(append(c.Watermark(), '!'))
		c.LeaveNote(append(c.PageNote(), '?'))
		c.Meta("fine", true)
		c.Meta("broken", math.NaN())
	case "where":
		out.Name = fmt.Sprint(c.Connection(), " ", c.Run.Workflow, " ", c.Run.RunID, " ", c.Run.Step, " ", c.Run.Attempt, " ", c.Run.IdempotencyKey, " ", string(c.Checkpoint()))
	case "wait":
		<-c.Done()
		return out, c.Err()
	}
	return out, nil
}

func doer() *sdk.Plugin {
	return sdk.New("doer", "1.0.0", "does things",
		sdk.ValidateConfig(func(config serverConfig) []sdk.Problem {
			switch config.Name {
			case "bad":
				return []sdk.Problem{sdk.Problemf("/name", "is bad")}
			case "odd":
				return []sdk.Problem{sdk.Warningf("/name", "is odd")}
			case "panic":
				panic("in ValidateConfig")
			}
			return nil
		}),
		sdk.CheckConnection(func(c *sdk.Call[serverConfig]) (string, error) {
			if c.Config.Name == "locked" {
				return "", sdk.Errorf(sdk.CodeUnauthorized, "key %s is refused", c.Config.Key)
			}
			return c.Config.Name, nil
		}),
		sdk.Read("do", "Do it", deeds),
		sdk.Once("once", "Do it once", deeds,
			sdk.ValidateWith(func(in doIn, unknown []string) []sdk.Problem {
				switch {
				case len(unknown) == 0 && in.What == "never":
					return []sdk.Problem{sdk.Problemf("/what", "is never done").WithDetail("do another")}
				case in.What == "rarely":
					return []sdk.Problem{sdk.Warningf("/what", "is rarely done")}
				case in.What == "panic in validate":
					panic("in ValidateWith")
				}
				return nil
			}),
			sdk.NarrowWith(func(in doIn, _ []string) json.RawMessage {
				if in.What == "narrow" {
					return json.RawMessage(`{"type":"object"}`)
				}
				return nil
			}),
			sdk.ReconcileWith(func(c *sdk.Call[serverConfig], in doIn) (sdk.Reconciled[doOut], error) {
				switch in.What {
				case "done":
					return sdk.Reconciled[doOut]{Applied: sdk.AppliedFully, Output: &doOut{Name: c.Config.Name, Secret: "s"}, Note: "found"}, nil
				case "panic":
					panic("in ReconcileWith")
				case "error":
					return sdk.Reconciled[doOut]{Applied: sdk.AppliedFully}, errors.New("cannot ask")
				}
				return sdk.Reconciled[doOut]{Applied: sdk.NotApplied}, nil
			})),
	)
}

func openDoer(t *testing.T) *sdktest.Plugin {
	t.Helper()
	return sdktest.Open(t, doer(), map[string]any{"name": "ann", "key": "canary-key-77"})
}

func TestExecuteFailures(t *testing.T) {
	p := openDoer(t)
	for what, want := range map[string]sdk.Error{
		"panic":         {Code: sdk.CodeInternal, Message: "the plugin panicked: boom with [redacted] and [redacted]"},
		"nil panic":     {Code: sdk.CodeInternal, Message: "the plugin panicked: assignment to entry in nil map"},
		"plain error":   {Code: sdk.CodeInternal, Message: "went wrong with [redacted]"},
		"wrapped error": {Code: sdk.CodeNotFound, Message: "no thing", Reason: "gone", Hint: "look elsewhere", Applied: sdk.NotApplied},
		"not JSON":      {Code: sdk.CodeInternal, Message: "encode the output", Applied: sdk.AppliedFully},
		"large":         {Code: sdk.CodeUnexpectedResponse, Message: "more than the limit of 8388608", Applied: sdk.AppliedFully},
		"never":         {Code: sdk.CodeInvalid, Message: "is never done", Pointer: "/what", Hint: "do another", Applied: sdk.NotApplied},

		"panic in validate": {Code: sdk.CodeInternal, Message: "the plugin panicked: in ValidateWith"},
	} {
		t.Run(what, func(t *testing.T) {
			result := p.Call("once", doIn{What: what, Code: "canary-code-88"})
			if result.Err == nil {
				t.Fatalf("the call gave %s", result.Output)
			}
			if !strings.Contains(result.Err.Message, want.Message) || want.Hint != "" && result.Err.Hint != want.Hint {
				t.Errorf("message %q, hint %q", result.Err.Message, result.Err.Hint)
			}
			got := sdk.Error{Code: result.Err.Code, Reason: result.Err.Reason, Applied: result.Err.Applied, Pointer: result.Err.Pointer}
			want.Message, want.Hint = "", ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := fmt.Sprintf("%+v", result); strings.Contains(text, "canary") {
				t.Errorf("a secret shows in %s", text)
			}
			if panicked := strings.Contains(want.Code.String()+what, "panic"); panicked && (len(result.Logs) != 1 || !strings.Contains(fmt.Sprint(result.Logs[0].Fields["stack"]), "server_test.go")) {
				t.Errorf("the log has no stack: %+v", result.Logs)
			}
		})
	}
	if result := p.Call("do", doIn{}); result.Err != nil {
		t.Errorf("after all that: %v", result.Err)
	}
}

func TestExecuteOutputs(t *testing.T) {
	p := openDoer(t)
	empty := `"list":[],"map":{},"rows":[],`
	for what, c := range map[string]struct {
		output    string
		sensitive []string
	}{
		"nothing":   {`{"name":"ann",` + empty + `"maybe":null}`, nil},
		"typed nil": {`{"name":"ann",` + empty + `"maybe":null}`, nil},
		"raw":       {`{"name":"ann",` + empty + `"raw":{"b":1.10,"a":9007199254740993,"t":"\u00e9<>"},"maybe":null}`, nil},
		"secrets":   {`{"name":"ann","list":[],"map":{},"rows":[{"token":"t-1","tags":[]},{"tags":[]},{"token":"t-2","tags":[]}],"secret":"s-1","maybe":null}`, []string{"/rows/0/token", "/rows/2/token", "/secret"}},
		"rarely":    {`{"name":"ann",` + empty + `"maybe":null}`, nil},
		"where":     {`{"name":"test test run step 1 key ",` + empty + `"maybe":null}`, nil},
	} {
		t.Run(what, func(t *testing.T) {
			result := p.Call("once", doIn{What: what})
			if diff := cmp.Diff(c.output, string(result.Output)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v", diff, result.Err)
			}
			if diff := cmp.Diff(c.sensitive, result.Sensitive); diff != "" {
				t.Errorf("sensitive (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExecutePages(t *testing.T) {
	result := openDoer(t).Call("do", doIn{What: "page"}, sdktest.Page("p2"), sdktest.Watermark([]byte("w")), sdktest.Note([]byte("n")))
	if result.Next != "p2+" || string(result.Watermark) != "w!" || string(result.Note) != "n?" {
		t.Errorf("next %q, watermark %q, note %q", result.Next, result.Watermark, result.Note)
	}
	if diff := cmp.Diff(map[string]any{"fine": true}, result.Meta); diff != "" {
		t.Errorf("meta (-want +got):\n%s", diff)
	}
}

func TestExecutePending(t *testing.T) {
	p := openDoer(t)
	result := p.Call("do", doIn{What: "pending", Code: "canary-code-88"})
	want := &sdk.Pending{RetryAfter: 5 * time.Second, Checkpoint: []byte("c1"), Message: "wait [redacted]", Prompt: &sdk.Prompt{Title: "Log in", UserCode: "AB-CD", ExpiresAt: time.Unix(100, 0).UTC()}}
	if diff := cmp.Diff(want, result.Pending); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if result := p.Call("do", doIn{What: "pending pointer"}); result.Pending == nil || result.Pending.Message != "later" {
		t.Errorf("a wrapped pointer: %+v", result)
	}
}

// TestExecuteEndsWithItsContext, also where that has ended before the request is
// sent, as it may on a busy machine.
func TestExecuteEndsWithItsContext(t *testing.T) {
	p := openDoer(t)
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if failure := p.CallContext(over, "do", doIn{What: "wait"}).Err; failure == nil || failure.Code != sdk.CodeTimeout {
		t.Errorf("after the deadline: %v", failure)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if failure := p.CallContext(canceled, "do", doIn{What: "wait"}).Err; failure == nil || failure.Code != sdk.CodeCanceled {
		t.Errorf("after the end: %v", failure)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if failure := p.CallContext(ctx, "do", doIn{What: "wait"}).Err; failure == nil || failure.Code != sdk.CodeTimeout {
		t.Errorf("got %v", failure)
	}
}

func TestExecuteManyAtOnce(t *testing.T) {
	p := openDoer(t)
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			what := []string{"nothing", "panic", "pending", "secrets"}[i%4]
			result := p.Call("do", doIn{What: what})
			if (result.Err != nil) != (what == "panic") || (result.Pending != nil) != (what == "pending") {
				t.Errorf("%s: %+v", what, result)
			}
		})
	}
	group.Wait()
}

func TestEventsFromManyGoroutines(t *testing.T) {
	p := sdktest.Open(t, sdk.New("p", "1", "", sdk.Read("log", "", func(c *sdk.Call[serverConfig], _ struct{}) (struct{}, error) {
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				c.Log().Info("line with "+c.Config.Key, "i", i, "key", c.Config.Key, "err", errors.New("e"), "odd")
				c.Progress(float64(i)/10-0.5, "on")
			})
		}
		group.Wait()
		c.Progress(math.NaN(), "")
		c.Log().Warn(strings.Repeat("é", 100_000))
		late := c.Log()
		time.AfterFunc(time.Hour, func() { late.Info("after the end") })
		return struct{}{}, nil
	})), map[string]any{"key": "canary-key-77"})
	result := p.Call("log", nil)
	if result.Err != nil || len(result.Logs) != 21 || len(result.Progress) != 21 {
		t.Fatalf("%d lines, %d progress, %v", len(result.Logs), len(result.Progress), result.Err)
	}
	line := result.Logs[0]
	if line.Level != "INFO" || line.Message != "line with [redacted]" || line.Fields["key"] != "[redacted]" || line.Fields["err"] != "e" || line.Fields["extra"] != "odd" {
		t.Errorf("line %+v", line)
	}
	if long := result.Logs[20]; len(long.Message) > 64<<10 || !strings.HasSuffix(long.Message, "é...") {
		t.Errorf("a long line has %d bytes", len(long.Message))
	}
	for _, fraction := range result.Progress {
		if fraction < 0 || fraction > 1 {
			t.Errorf("progress %v", fraction)
		}
	}
}

func TestConnections(t *testing.T) {
	p := sdktest.Serve(t, doer())
	for name, c := range map[string]struct {
		config  any
		pointer string
		summary string
	}{
		"unknown field":  {map[string]any{"nam": 1}, "/nam", "there is no field `nam`"},
		"wrong type":     {map[string]any{"name": 1}, "/name", "must be text"},
		"ValidateConfig": {map[string]any{"name": "bad"}, "/name", "is bad"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := p.Connect("x", c.config)
			if len(problems) != 1 || problems[0].Pointer != c.pointer || !strings.Contains(problems[0].Summary, c.summary) {
				t.Errorf("problems %+v", problems)
			}
			if failure := p.Call("do", doIn{What: "a"}, sdktest.OnConnection("x")).Err; failure == nil || failure.Code != sdk.CodeInternal || failure.Applied != sdk.NotApplied {
				t.Errorf("a call on it: %v", failure)
			}
		})
	}
	nameOf := func(connection string) string {
		var out doOut
		p.Call("do", doIn{What: "a"}, sdktest.OnConnection(connection)).Decode(t, &out)
		return out.Name
	}
	if problems := p.Connect("y", map[string]any{"name": "odd"}); len(problems) != 1 || !problems[0].Warning || nameOf("y") != "odd" {
		t.Errorf("a warning: %+v", problems)
	}
	p.Connect("y", map[string]any{"name": "bob"})
	p.Connect("z", nil)
	if got := nameOf("y") + nameOf("z") + nameOf(""); got != "bobnobodynobody" {
		t.Errorf("names %q", got)
	}
	connect := func(hash, name string) {
		_, err := wire(p).Connect(t.Context(), &pluginv1.ConnectRequest{Connection: "h", ConfigHash: hash, Config: &pluginv1.Value{Json: []byte(`{"name":"` + name + `"}`)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	connect("1", "first")
	connect("1", "ignored")
	if got := nameOf("h"); got != "first" {
		t.Errorf("the same hash: %s", got)
	}
	connect("2", "second")
	if got := nameOf("h"); got != "second" {
		t.Errorf("another hash: %s", got)
	}
	if _, err := wire(p).Connect(t.Context(), &pluginv1.ConnectRequest{Connection: "p", Config: &pluginv1.Value{Json: []byte(`{"name":"panic"}`)}}); err == nil || !strings.Contains(err.Error(), "in ValidateConfig") {
		t.Errorf("a panic: %v", err)
	}
}

func TestCheckConnection(t *testing.T) {
	p := openDoer(t)
	if account, failure := p.CheckConnection(); account != "ann" || failure != nil {
		t.Errorf("account %q, %v", account, failure)
	}
	p.Connect(sdktest.Connection, map[string]any{"name": "locked", "key": "canary-key-77"})
	if _, failure := p.CheckConnection(); failure == nil || failure.Code != sdk.CodeUnauthorized || failure.Message != "key [redacted] is refused" {
		t.Errorf("a refused key: %v", failure)
	}
}

// TestIssue12_31_WhatWasNotTried: a plugin says whether its service was asked.
func TestIssue12_31_WhatWasNotTried(t *testing.T) {
	type settings struct {
		Key string `json:"key" secret:"true"`
	}
	config := map[string]any{"key": "canary-key-77"}
	plugin := func(check ...sdk.Part) *sdktest.Plugin {
		read := sdk.Read("read", "Read", func(*sdk.Call[settings], sdk.NoInput) (struct{}, error) { return struct{}{}, nil })
		return sdktest.Open(t, sdk.New("untried", "1.0.0", "Has a test or none", append(check, read)...), config)
	}
	if why, not := plugin().NotTried(); !not || why != "" {
		t.Errorf("without a test: %t, %q", not, why)
	}
	asks := plugin(sdk.CheckConnection(func(*sdk.Call[settings]) (string, error) { return "ann", nil }))
	if why, not := asks.NotTried(); not || why != "" {
		t.Errorf("with a test: %t, %q", not, why)
	}
	can := plugin(sdk.CheckConnection(func(c *sdk.Call[settings]) (string, error) {
		c.NotTried("nothing takes " + c.Config.Key)
		return "", nil
	}))
	if why, not := can.NotTried(); !not || why != "nothing takes [redacted]" {
		t.Errorf("a test that can't try: %t, %q", not, why)
	}
	fails := plugin(sdk.CheckConnection(func(c *sdk.Call[settings]) (string, error) {
		c.NotTried("no matter")
		return "", &sdk.Error{Code: sdk.CodeUnauthorized, Message: "no"}
	}))
	if _, not := fails.NotTried(); not {
		t.Error("a failure counts as not tried")
	}
}

func TestValidate(t *testing.T) {
	p := openDoer(t)
	for name, c := range map[string]struct {
		input   any
		unknown []string
		want    []sdk.Problem
	}{
		"fine":               {doIn{What: "x"}, nil, nil},
		"tags":               {map[string]any{"wat": "x"}, nil, []sdk.Problem{{Pointer: "/what", Summary: "`what` is required"}, {Pointer: "/wat", Summary: "there is no field `wat`", Detail: "did you mean `what`?"}}},
		"the author's check": {doIn{What: "never"}, nil, []sdk.Problem{{Pointer: "/what", Summary: "is never done", Detail: "do another"}}},
		"not yet known":      {map[string]any{}, []string{"/what"}, nil},
		"a warning":          {doIn{What: "rarely"}, nil, []sdk.Problem{{Pointer: "/what", Summary: "is rarely done", Warning: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, p.Validate("once", c.input, c.unknown...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := p.Validate("onec", nil); len(got) != 1 || got[0].Detail != "did you mean `once`?" {
		t.Errorf("an unknown action: %+v", got)
	}
	if failure := p.Call("onec", nil).Err; failure == nil || failure.Code != sdk.CodeUnsupported || failure.Hint != "did you mean `once`?" {
		t.Errorf("a call of it: %+v", failure)
	}
	if _, narrowed := p.ValidateNarrow("once", doIn{What: "narrow"}); string(narrowed) != `{"type":"object"}` {
		t.Errorf("narrowed to %s", narrowed)
	}
}

func TestReconcile(t *testing.T) {
	p := openDoer(t)
	if features := p.Describe().Features; len(features) != 2 || features[0] != "reconcile" {
		t.Errorf("features %q", features)
	}
	for what, want := range map[string]*pluginv1.ReconcileResponse{
		"done":  {Applied: pluginv1.Error_APPLIED_APPLIED, Note: "found", Output: &pluginv1.Value{Json: []byte(`{"name":"ann","list":[],"map":{},"rows":[],"secret":"s","maybe":null}`), Sensitive: []string{"/secret"}}},
		"not":   {Applied: pluginv1.Error_APPLIED_NOT_APPLIED},
		"panic": {Note: "the plugin panicked: in ReconcileWith"},
		"error": {Note: "internal: cannot ask"},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := wire(p).Reconcile(t.Context(), &pluginv1.ReconcileRequest{Action: "once", Connection: sdktest.Connection, Input: &pluginv1.Value{Json: []byte(`{"what":"` + what + `"}`)}})
			if err != nil || got.String() != want.String() {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	got, err := wire(p).Reconcile(t.Context(), &pluginv1.ReconcileRequest{Action: "do"})
	if err != nil || got.GetApplied() != pluginv1.Error_APPLIED_UNSPECIFIED || got.GetNote() == "" {
		t.Errorf("an action that cannot tell: %v, %v", got, err)
	}
}
