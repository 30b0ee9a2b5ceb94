package workspace

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type meetIn struct {
	N int `json:"n" doc:"A number; 0 waits for nobody"`
}

// meeting is a rule that says so where a question is alone in the plugin for long, or is
// asked again.
func meeting() func(in meetIn, unknown []string) []sdk.Problem {
	var mu sync.Mutex
	inside, met, closed, seen := 0, make(chan struct{}), false, map[int]bool{}
	return func(in meetIn, unknown []string) []sdk.Problem {
		mu.Lock()
		again := seen[in.N] && len(unknown) == 0
		seen[in.N] = true
		if inside++; inside == 2 && in.N != 0 {
			if !closed {
				close(met)
			}
			closed = true
		}
		mu.Unlock()
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			inside--
		}()
		switch {
		case again:
			return []sdk.Problem{sdk.Problemf("/n", "it is asked again")}
		case in.N == 0:
			return nil
		}
		select {
		case <-met:
			return nil
		case <-time.After(10 * time.Second):
			mu.Lock()
			defer mu.Unlock()
			if !closed {
				close(met)
			}
			closed = true
			return []sdk.Problem{sdk.Problemf("/n", "it is asked alone")}
		}
	}
}

// The questions of a file are asked some at a time, and each once.
func TestQuestionsAreAskedSomeAtATime(t *testing.T) {
	p := projectOf(t, "", nil)
	var text strings.Builder
	text.WriteString("flowrun: v1\nname: many\nsteps:\n")
	for i := range 50 {
		fmt.Fprintf(&text, "  - {id: s%d, needs: [], uses: feed.meet, with: {n: %d}}\n", i, i%40)
	}
	if workflow, problems := p.Check(t.Context(), "many.yaml", []byte(text.String())); workflow == nil || len(problems) > 0 {
		t.Error(problems)
	}
}
