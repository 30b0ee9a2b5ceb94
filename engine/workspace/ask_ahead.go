package workspace

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/flowrun/flowrun/engine/check"
)

// questionsAtOnce is how many questions of a check are under way at a time: a plugin in Go
// answers some thousand a second, and one that is slow is asked of no more.
const questionsAtOnce = 16

// Asks reports whether a plugin is asked about inputs of an action. One of an attached
// process is not asked ahead: its answers are not kept.
func (c *catalog) Asks(ctx context.Context, action string) bool {
	plugin, _, _ := strings.Cut(action, ".")
	if c.project.config.Attach[plugin] != "" {
		return false
	}
	description, err := c.project.Describe(plugin)
	return err == nil && c.project.host.Asks(ctx, action, description.Digest)
}

// AskAhead asks some questions at a time; the host keeps the answers. The first goes alone:
// it starts the plugin. Where one can't be answered no more are asked: the check asks them
// one by one, and tells.
func (c *catalog) AskAhead(ctx context.Context, questions []check.Question) {
	ask := func(q check.Question) bool {
		_, err := c.project.askPluginOn(ctx, q.Action, q.Connection, q.Input, q.Unknown)
		return err == nil
	}
	if len(questions) == 0 || !ask(questions[0]) {
		return
	}
	var next atomic.Int64
	var failed atomic.Bool
	var asking sync.WaitGroup
	for range min(questionsAtOnce, len(questions)-1) {
		asking.Go(func() {
			for !failed.Load() && ctx.Err() == nil {
				at := int(next.Add(1))
				if at >= len(questions) {
					return
				}
				if !ask(questions[at]) {
					failed.Store(true)
				}
			}
		})
	}
	asking.Wait()
}
