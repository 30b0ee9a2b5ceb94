package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/sdk"
)

type sdkConfig struct {
	Key string `json:"key,omitempty" secret:"true"`
}

type sdkIn struct {
	Text string `json:"text" max:"10"`
}

type sdkOut struct {
	Text string `json:"text"`
}

// sdkPlugin is a plugin as authors write it.
func sdkPlugin() *sdk.Plugin {
	return sdk.New("evil", "2.0.0", "a plugin made with the sdk",
		sdk.Read("shout", "Shout a text", func(c *sdk.Call[sdkConfig], in sdkIn) (sdkOut, error) {
			fmt.Println("printing to stdout is allowed")
			c.Log().Info("shouting", "key", c.Config.Key)
			return sdkOut{Text: strings.ToUpper(in.Text)}, nil
		}),
		sdk.Read("panic", "Panic", func(*sdk.Call[sdkConfig], sdkIn) (sdkOut, error) { panic("oh no") }),
		sdk.Read("wait", "Wait until canceled", func(c *sdk.Call[sdkConfig], _ sdkIn) (sdkOut, error) {
			<-c.Done()
			return sdkOut{}, c.Err()
		}))
}

// The limits are the default ones here: a plugin of the sdk must fit into them.
func TestSDKPluginServesManyCallsAtOnce(t *testing.T) {
	w := newWorld(t, "sdk", func(o *Options) { o.Limits = Limits{Grace: time.Second} })
	conn := Connection{Name: "main", Config: json.RawMessage(`{"key":{"$secret":"KEY"}}`)}
	if d, err := w.host.Describe(context.Background(), "evil"); err != nil || d.Version != "2.0.0" {
		t.Fatalf("describe: %+v, %v", d, err)
	}
	diagnostics, _, err := w.host.Validate(context.Background(), "evil.shout", "", json.RawMessage(`{"text":"much too long a text"}`), nil)
	t.Logf("validate: %+v, %v", diagnostics, err)
	var calls sync.WaitGroup
	sink := &sinkOf{}
	for i := range 64 {
		calls.Go(func() {
			answer := w.host.Call(context.Background(), runs.Request{Action: "evil.shout", Input: json.RawMessage(fmt.Sprintf(`{"text":"t%d"}`, i))}, conn, sink)
			if answer.Failed != nil || string(answer.Completed.Output) != fmt.Sprintf(`{"text":"T%d"}`, i) {
				t.Errorf("answer %d = %+v %v", i, answer, answer.Failed)
			}
		})
	}
	calls.Wait()
	if len(sink.logs) != 64 {
		t.Errorf("%d log lines", len(sink.logs))
	}
	for _, line := range sink.logs {
		if strings.Contains(string(line.Fields), "kilo") {
			t.Fatalf("a secret in a log: %s", line.Fields)
		}
	}
}

func TestSDKPluginSurvivesAPanicAndACancel(t *testing.T) {
	w := newWorld(t, "sdk", nil)
	f := w.fails("panic", `{"text":"x"}`, plan.KindInternal)
	t.Logf("panic: %v", f)
	answer := w.host.Call(context.Background(), runs.Request{Action: "evil.wait", Input: json.RawMessage(`{"text":"x"}`), Timeout: 100 * time.Millisecond}, Connection{}, nil)
	if answer.Failed == nil || answer.Failed.Kind != plan.KindTimeout {
		t.Errorf("answer = %+v", answer.Failed)
	}
	if s := w.host.Status("evil"); s.Crashes != 0 || s.PID == 0 {
		t.Errorf("status = %+v", s)
	}
}

func TestCloseDuringAStartDoesNotWaitForIt(t *testing.T) {
	w := newWorld(t, "silent", nil)
	answer := make(chan runs.Answer, 1)
	go func() { answer <- w.call("echo", `{}`) }()
	eventually(t, "start", func() bool { return w.host.Status("evil").State == Starting })
	began := time.Now()
	if err := w.host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("close took %s", took)
	}
	if f := (<-answer).Failed; f == nil || f.Kind != plan.KindCanceled {
		t.Errorf("failure = %+v", f)
	}
}
