package pluginhost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/grpc"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// A plugin with the feature `index` says of its actions what lists show; the schemas and
// the recipe of one are asked for when a workflow uses it, and kept beside the index
// (ADR 58).

const (
	maxRecipe   = 1 << 20 // bytes of a recipe
	demandBatch = 64      // actions of one question
)

// Actions returns actions of a plugin's revision with their schemas, in the order of the
// names; "" is the revision in force. What is known of them is not asked again. The error
// is a *PluginError, a *runs.Error for a name that it does not have, or the context's.
func (h *Host) Actions(ctx context.Context, name, digest string, names ...string) ([]*plan.Action, error) {
	u, c, err := h.contract(ctx, name, digest)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, action := range names {
		if a := c.action(action); a != nil && !Whole(a.Action) && !slices.Contains(missing, action) {
			missing = append(missing, action)
		}
	}
	if err := u.demandOf(ctx, c, missing); err != nil {
		return nil, err
	}
	actions := make([]*plan.Action, len(names))
	for i, action := range names {
		a, failure := u.action(ctx, c, action)
		if failure != nil {
			return nil, failure
		}
		actions[i] = a.Action
	}
	return actions, nil
}

// demandOf is demand for callers that do not describe the plugin at the moment.
func (u *unit) demandOf(ctx context.Context, c *contract, names []string) error {
	if len(names) == 0 {
		return nil
	}
	u.describing.Lock()
	defer u.describing.Unlock()
	return u.demand(ctx, c, names)
}

// demand gets entries of an index whole: those that are kept, and of the plugin the
// others. u.describing is held.
func (u *unit) demand(ctx context.Context, c *contract, names []string) error {
	var unknown []string
	for _, name := range names {
		if Whole(c.action(name).Action) {
			continue // somebody else has asked meanwhile
		}
		if kept := u.keptAction(c, name); kept != nil {
			c.put(kept)
			continue
		}
		unknown = append(unknown, name)
	}
	for batch := range slices.Chunk(unknown, demandBatch) {
		if err := u.demandBatch(ctx, c, batch); err != nil {
			return err
		}
	}
	return nil
}

func (c *contract) put(a *actionContract) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.actions[a.Name] = a
}

// demandBatch asks the plugin, at two starts as for its description, and keeps what it says.
func (u *unit) demandBatch(ctx context.Context, c *contract, names []string) error {
	request := &pluginv1.DescribeActionsRequest{Name: u.source.Name, Actions: names}
	if u.isTold() {
		told, err := u.sameSettings(ctx)
		if err != nil {
			return err
		}
		request.Settings = told.wire()
	}
	said, err := u.askActions(ctx, c, request)
	if err != nil {
		return err
	}
	record, err := encodeRecord(said) // before it is checked, as the second is
	if err != nil {
		return u.wrongDescription(err)
	}
	var whole []*actionContract
	for i, name := range names {
		a, err := u.checkDemanded(c, said, i, name)
		if err != nil {
			return u.wrongDescription(fmt.Errorf("action %q: %w", name, err))
		}
		whole = append(whole, a)
	}
	if !u.source.Bundled && !u.isAttached() {
		u.rest() // the second goes to another start
		second, err := u.askActions(ctx, c, request)
		if err != nil {
			return err
		}
		if err := u.same(said, second, record); err != nil {
			return err
		}
	}
	for _, a := range whole {
		if !u.isAttached() {
			u.keepAction(c, a)
		}
		c.put(a)
	}
	return nil
}

// askActions returns the answer as a description of these actions alone.
func (u *unit) askActions(ctx context.Context, c *contract, request *pluginv1.DescribeActionsRequest) (*Description, error) {
	var response *pluginv1.DescribeActionsResponse
	err := u.question(ctx, "it did not describe its actions", func(ctx context.Context, p *process) (err error) {
		response, err = p.rpc.DescribeActions(ctx, request, sendSettings())
		return err
	})
	if err != nil {
		return nil, err
	}
	part := u.partOf(c)
	limiters := map[string]plan.Limiter{}
	for _, limiter := range c.Limiters {
		limiters[limiter.Name] = limiter
	}
	for _, a := range response.GetActions() {
		part.addAction(a, limiters)
	}
	if len(part.Actions) != len(request.GetActions()) {
		return nil, u.wrongDescription(fmt.Errorf("it was asked for %s, and describes %d", diag.Count(len(request.GetActions()), "action"), len(part.Actions)))
	}
	return part, nil
}

// partOf is the description without its actions.
func (u *unit) partOf(c *contract) *Description {
	return &Description{
		Format: describeFormat, Name: c.Name, Version: c.Version, Digest: c.Digest, Executable: c.Executable, Settings: c.Settings, Features: c.Features,
	}
}

// checkDemanded judges an action that was asked for: by the rules of a whole description,
// and it says what its entry in the index says.
func (u *unit) checkDemanded(c *contract, said *Description, at int, name string) (*actionContract, error) {
	action, entry := said.Actions[at], c.action(name)
	if action.Name != name {
		return nil, fmt.Errorf("%q is described in its place", clipped(action.Name))
	}
	if !Whole(action) {
		return nil, errors.New("it has no input schema")
	}
	limiters := map[string]bool{}
	for _, limiter := range c.Limiters {
		limiters[limiter.Name] = true
	}
	action.Reconcile = action.Effect == plan.EffectOnce && c.Supports(featureReconcile)
	a, err := checkAction(action, said, limiters)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(entryOf(action), entryOf(entry.Action)) {
		return nil, errors.New("it differs from its entry in the index: text, effect, timeout, limiters, pages, range, watermark and deprecation are the same in both")
	}
	return a, nil
}

// entryOf is what an index says of an action.
func entryOf(action *plan.Action) []byte {
	entry := *action
	entry.Input, entry.Output, entry.Examples, entry.Faults, entry.Recipe = nil, nil, nil, nil, ""
	text, _ := json.Marshal(entry) // texts and numbers
	return text
}

// keptAction returns an action of the index that was asked for before, nil where none was.
func (u *unit) keptAction(c *contract, name string) *actionContract {
	if u.isAttached() {
		return nil
	}
	kept := readRecord(u.actionPath(name), c.Digest)
	if kept == nil || len(kept.Actions) != 1 || kept.Actions[0].Name != name || !Whole(kept.Actions[0]) {
		return nil
	}
	return &actionContract{Action: kept.Actions[0], recipe: kept.recipes[name], said: kept.decided[name]}
}

// keepAction keeps an action that was asked for and checked.
func (u *unit) keepAction(c *contract, a *actionContract) {
	part := u.partOf(c)
	part.Actions = []*plan.Action{a.Action}
	if len(a.recipe) > 0 {
		part.recipes = map[string][]byte{a.Name: a.recipe}
	}
	if a.said {
		part.decide(a.Name)
	}
	path := u.actionPath(a.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		u.host.options.Log.Warn("plugin description not kept", "plugin", u.source.Name, "error", err)
		return
	}
	u.remember(path, part)
}

// actionPath is the file of an action of an index.
func (u *unit) actionPath(name string) string {
	return filepath.Join(u.plugin.actionsPath(u.exe), name+describeSuffix)
}

// actionsPath is the folder of the actions of an index that were asked for.
func (p *plugin) actionsPath(exe executable) string {
	return filepath.Join(p.host.dir, exe.revision()+"."+p.source.Name+actionsSuffix)
}

// sendSettings lets a question be as large as what a project may tell a plugin: documents
// of services are larger than other messages.
func sendSettings() grpc.CallOption { return grpc.MaxCallSendMsgSize(handshake.MaxMessageLimit) }
