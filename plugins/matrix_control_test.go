package plugins

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/sdk"
)

// carelessConfig is the config of the plugin of the negative control.
type carelessConfig struct{ sdk.HTTPSettings }

type carelessInput struct{}

type carelessOutput struct {
	Done bool `json:"done"`
}

// careless is a plugin with the mistakes that the matrix must notice.
func careless() *sdk.Plugin {
	post := func(c *sdk.Call[carelessConfig], times int) (carelessOutput, error) {
		var out carelessOutput
		var last error
		for range times {
			response, err := c.HTTP().Do(&sdk.Request{Method: http.MethodPost, Path: "/write", JSON: map[string]string{}})
			if last = err; err == nil {
				last = response.JSON(&out)
			}
			if last == nil {
				break
			}
		}
		return out, last
	}
	return sdk.New("careless", "1.0.0", "Makes every mistake that the fault matrix looks for.",
		sdk.Once("twice", "Sends its write again by itself.", func(c *sdk.Call[carelessConfig], _ carelessInput) (carelessOutput, error) {
			return post(c, 2)
		}),
		sdk.Read("writes", "Is declared as a read and writes.", func(c *sdk.Call[carelessConfig], _ carelessInput) (carelessOutput, error) {
			return post(c, 1)
		}),
		sdk.Once("hasty", "Says of every failure that nothing has happened.", func(c *sdk.Call[carelessConfig], _ carelessInput) (carelessOutput, error) {
			out, err := post(c, 1)
			if err != nil {
				return out, &sdk.Error{Code: sdk.CodeUnavailable, Applied: sdk.NotApplied, Message: "it did not work"}
			}
			return out, nil
		}),
		sdk.Read("panics", "Panics on every answer that it does not like.", func(c *sdk.Call[carelessConfig], _ carelessInput) (carelessOutput, error) {
			if _, err := c.HTTP().Get("/read", nil); err != nil {
				panic("runtime error: " + err.Error())
			}
			return carelessOutput{}, nil
		}),
		sdk.Read("mumbles", "Says neither status nor what to do.", func(c *sdk.Call[carelessConfig], _ carelessInput) (carelessOutput, error) {
			if _, err := c.HTTP().Get("/read", nil); err != nil {
				return carelessOutput{}, &sdk.Error{Code: sdk.CodeUnavailable, Message: "failed"}
			}
			return carelessOutput{}, nil
		}),
	)
}

// TestMatrixNoticesMistakes is the negative control: a plugin with mistakes is
// run through the same functions, and each mistake is found.
func TestMatrixNoticesMistakes(t *testing.T) {
	t.Parallel()
	byName := map[string]fault{}
	for _, f := range faults() {
		byName[f.name] = f
	}
	tests := map[string]struct {
		action string
		effect plan.Effect
		fault  string
		finds  string
	}{
		"a write that is sent twice after a lost answer": {"careless.twice", plan.EffectOnce, "dropped after", "the service got 2 requests"},
		"a write that is sent twice after a 503":         {"careless.twice", plan.EffectOnce, "503", "the service got 2 requests"},
		"a read that writes":                             {"careless.writes", plan.EffectRead, "503", "a read sends POST /write"},
		"a write that claims that nothing has happened":  {"careless.hasty", plan.EffectOnce, "dropped after", "requests, want 1 to 1"},
		"a panic":                 {"careless.panics", plan.EffectRead, "HTML with 200", "\"panic\" stands in"},
		"an error without status": {"careless.mumbles", plan.EffectRead, "503", "HTTP status 0"},
	}
	var lines []*line
	cells := map[string]*cell{}
	for i, name := range slices.Sorted(maps.Keys(tests)) {
		tt := tests[name]
		f := byName[tt.fault]
		if tt.action == "careless.panics" { // HTML alone is no failure of its request
			f.fault.Status = 503
		}
		c := &cell{action: tt.action, effect: tt.effect, fault: f, forever: true, expect: expected(tt.action, tt.effect, f, true)}
		c.line = newLine(t, fmt.Sprintf("l%d", i), "careless", authsim.Options{})
		cells[name], lines = c, append(lines, c.line)
	}
	b := openBench(t, lines, nil)
	for name := range tests {
		c := cells[name]
		c.begin(t, b, &plan.Action{})
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := cells[name]
			c.end(t, b)
			found := judge(c)
			if !slices.ContainsFunc(found, func(problem string) bool { return strings.Contains(problem, tt.finds) }) {
				t.Errorf("the matrix does not notice it; it says %q", found)
			}
		})
	}
}

// TestJudgeNoticesWhatNoPluginCanShow spoils what a run has ended with, where the
// host would mend it.
func TestJudgeNoticesWhatNoPluginCanShow(t *testing.T) {
	good := func() *cell {
		failure := &runs.Error{Kind: plan.KindUnavailable, Action: "tasks.stats", Message: "m", Hint: diag.Say("h"), HTTPStatus: 503,
			Details: json.RawMessage(`{"service":"tasks","action":"stats"}`)}
		return &cell{
			action: "tasks.stats", effect: plan.EffectRead, expect: failed(plan.KindUnavailable, 503, 1, 1),
			requests: []simkit.Request{{Method: http.MethodGet}},
			result:   &runs.Result{Run: runs.Run{Status: runs.RunFailed}, Error: failure},
		}
	}
	if wrong := judge(good()); len(wrong) > 0 {
		t.Fatalf("a good end is complained about: %q", wrong)
	}
	for finds, spoil := range map[string]func(*cell){
		"nothing says what to do":         func(c *cell) { c.result.Error.Hint = diag.Hint{} },
		"action \"\"":                     func(c *cell) { c.result.Error.Action = "" },
		"another service":                 func(c *cell) { c.result.Error.Details = json.RawMessage(`{"service":"auth"}`) },
		"kind internal":                   func(c *cell) { c.result.Error.Kind = plan.KindInternal },
		"the run is succeeded":            func(c *cell) { c.result.Run.Status = runs.RunSucceeded },
		"there is no error":               func(c *cell) { c.result.Error = nil },
		"secret TASKS_TOKEN stands":       func(c *cell) { c.texts = "Bearer " + tasksToken },
		"the service got 0 requests":      func(c *cell) { c.requests = nil },
		"\"goroutine \" stands":           func(c *cell) { c.texts = "goroutine 1 [running]" },
		"a read sends DELETE /everything": func(c *cell) { c.requests[0].Method, c.requests[0].Path = "DELETE", "/everything" },
	} {
		c := good()
		spoil(c)
		if found := judge(c); !slices.ContainsFunc(found, func(problem string) bool { return strings.Contains(problem, finds) }) {
			t.Errorf("%s is not noticed; it says %q", finds, found)
		}
	}
}
