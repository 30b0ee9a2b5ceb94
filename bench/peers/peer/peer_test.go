package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAnEngineIsMeasured(t *testing.T) {
	var steps, runs atomic.Int64
	closed := false
	open := func(context.Context, string) (*Engine, error) {
		return &Engine{
			Program: "Any 1", Durability: "nothing",
			Sequence: func(_ context.Context, n int) error { steps.Add(int64(n)); runs.Add(1); return nil },
			Fan:      func(_ context.Context, n int) error { steps.Add(int64(n)); return nil },
			Close:    func() error { closed = true; return nil },
		}, nil
	}
	var out bytes.Buffer
	if err := repeated(t.Context(), &out, open, 100, 2); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"S2": 100, "S3": 100, "S4": 100}
	for line := range strings.Lines(out.String()) {
		var s sample
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		if s.Units != want[s.Scenario] || s.Program != "Any 1" || s.Repetition != 2 || s.Wall <= 0 {
			t.Errorf("%+v", s)
		}
		delete(want, s.Scenario)
	}
	if len(want) > 0 || !closed {
		t.Errorf("missing: %v; closed: %v", want, closed)
	}
	if n := steps.Load(); n != 1+10+100+100+30+300 || runs.Load() != 1+1+1+10+100 {
		t.Errorf("%d steps in %d runs", n, runs.Load())
	}
}

func TestARunThatFailsEndsTheMeasuring(t *testing.T) {
	broken := errors.New("it broke")
	open := func(context.Context, string) (*Engine, error) {
		return &Engine{Program: "Any 1", Sequence: func(context.Context, int) error { return broken }, Close: func() error { return nil }}, nil
	}
	if err := repeated(t.Context(), &bytes.Buffer{}, open, 10, 1); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	slowly := &measuring{engine: &Engine{Program: "Any 1", Sequence: func(context.Context, int) error { time.Sleep(time.Millisecond); return nil }}, out: &bytes.Buffer{}}
	if err := slowly.runs(t.Context(), 20, 4); err != nil {
		t.Error(err)
	}
}
