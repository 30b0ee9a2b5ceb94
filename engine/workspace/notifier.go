package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/notify"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/runs"
)

var (
	_ check.NotifyCatalog   = (*catalog)(nil)
	_ check.WorkflowCatalog = (*catalog)(nil)
)

// NotifyTargets returns the names under `notify`; nil without a project file.
func (c *catalog) NotifyTargets() []string {
	if c.project.config.ProjectFile == "" {
		return nil
	}
	return c.project.notifyNames()
}

func (p *Workspace) notifyNames() []string {
	return diag.NamesOf(p.file.Notify, func(target project.Notify) string { return target.Name })
}

// notifyInput is the `with` of core.notify.
type notifyInput struct {
	To   string `json:"to"`
	Text string `json:"text"`
}

// notify sends the message of a core.notify step. In a sandbox only live targets
// are told: for the others the log says what they would be.
func (p *Workspace) notify(ctx context.Context, request runs.Request, sink runs.Sink) runs.Answer {
	var input notifyInput
	if err := json.Unmarshal(request.Input, &input); err != nil {
		return RefusedCall(request.Action, fmt.Errorf("read its input: %w", err))
	}
	text := p.redactor.Redact(input.Text)
	done := runs.Answer{Completed: &runs.Completed{Output: json.RawMessage("{}")}}
	if !p.Tells(input.To) {
		sink.Log(runs.Log{Level: "info", Message: fmt.Sprintf("sandbox: %s is not told: %s", input.To, text)})
		return done
	}
	failed := p.Tell(ctx, input.To, notify.Message{
		Text: text, To: input.To, Workflow: request.Workflow, Run: request.RunID, Step: request.Step, At: p.config.Now().UTC(),
	}, request.IdempotencyKey)
	if failed == nil {
		return done
	}
	failed.Action, failed.Message = request.Action, p.redactor.Redact(failed.Message)
	return runs.Answer{Failed: failed}
}

// notifyTarget finds a target, with the secret of its address put in.
func (p *Workspace) notifyTarget(ctx context.Context, name string) (notify.Target, error) {
	declared, ok := p.file.NotifyTarget(name)
	if !ok {
		err := fmt.Errorf("no notify target has the name %q", name)
		if hint := diag.DidYouMean(name, p.notifyNames()); hint.Text != "" {
			err = fmt.Errorf("%w; %s", err, hint.Text)
		}
		return notify.Target{}, err
	}
	target := notify.Target{Name: declared.Name, Webhook: declared.Webhook, Command: slices.Clone(declared.Command)}
	if declared.Secret == "" {
		return target, nil
	}
	address, err := p.secretsOf(LiveNotify+name).Reveal(ctx, declared.Secret)
	if err != nil {
		return notify.Target{}, fmt.Errorf("the webhook of %s: %w", name, err)
	}
	target.Webhook = address
	return target, nil
}

// literalField returns a text that a value holds under a name, where it is
// written out.
func literalField(v plan.Value, name string) (text string, ok bool) {
	for i := range v.Object {
		if v.Object[i].Name == name {
			return literalText(&v.Object[i].Value)
		}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(v.Literal, &fields) != nil || json.Unmarshal(fields[name], &text) != nil {
		return "", false
	}
	return text, true
}

// missingNotifySecrets reports secrets of the targets that a run would need.
func (p *Workspace) missingNotifySecrets(ctx context.Context, workflow *plan.Workflow, problems *diag.List) {
	seen := map[string]bool{}
	eachStep(workflow, func(w *plan.Workflow, _ string, step *plan.Step) bool {
		if step.Uses != runs.CoreNotify {
			return true
		}
		name, written := literalField(step.With, "to")
		target, ok := p.file.NotifyTarget(name)
		if !written || !ok || !p.Tells(name) || seen[w.Name+" "+name] {
			return true
		}
		seen[w.Name+" "+name] = true
		for _, needed := range target.Secrets() {
			p.missingSecret(ctx, LiveNotify+name, needed, "notify target `"+name+"`", target.Pos, problems)
		}
		return true
	})
}

// ownCommands are the commands of notices that run now. Safe for concurrent use.
type ownCommands struct {
	mu   sync.Mutex
	pids map[int]bool
}

func (c *ownCommands) started(pid int) (ended func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pids == nil {
		c.pids = map[int]bool{}
	}
	c.pids[pid] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pids, pid)
	}
}

// sender sends messages to notify targets.
func (p *Workspace) sender() *notify.Sender {
	return &notify.Sender{Dir: p.config.Dir, Environ: p.config.Environ, Version: p.config.Version, Started: p.commands.started}
}

// OwnCommand reports whether a process is the command of a notice that runs now: it
// is the project's own, no plugin.
func (p *Workspace) OwnCommand(pid int) bool {
	p.commands.mu.Lock()
	defer p.commands.mu.Unlock()
	return p.commands.pids[pid]
}
