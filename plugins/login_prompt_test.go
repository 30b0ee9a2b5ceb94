package plugins

import (
	"strings"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/runs"
)

// promptsOnly keeps the prompts of a login.
type promptsOnly struct {
	silent
	mu      sync.Mutex
	prompts []runs.Prompt
}

func (p *promptsOnly) Prompt(prompt runs.Prompt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prompts = append(p.prompts, prompt)
}

// TestIssue12_13_TheSecondPromptSaysWhyTheFirstEnded logs in at a server that does
// not know the first code any more.
func TestIssue12_13_TheSecondPromptSaysWhyTheFirstEnded(t *testing.T) {
	t.Parallel()
	cells, lines := newTokenCells(t, "auth", []rawAnswer{refusedGrant}, true)
	b := openBench(t, lines, lineSecrets())
	cells[0].server.poll = &cells[0].fault
	sink := &promptsOnly{}
	result, err := b.engine.Login(t.Context(), "l0", connections.LoginRequest{}, sink)
	if err != nil || result.Error != nil {
		t.Fatalf("log in: %v, %+v", err, result.Error)
	}
	var why []string
	for i, prompt := range sink.prompts {
		if i > 0 && prompt.Message != "" && strings.Contains(prompt.Message, "the one before is of no use") {
			why = append(why, prompt.Message)
		}
	}
	if len(why) == 0 || !strings.Contains(why[0], "not valid, or was already claimed") {
		t.Errorf("the prompts say %+v", sink.prompts)
	}
}
