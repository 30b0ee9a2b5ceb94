package pluginhost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

const nameRule = "lower-case letters, digits, _ and -, at most 63, a letter first"

// The letters of names, and how many a name has at most.
const (
	nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789_"
	maxLetters  = 63
)

func validName(plugin string) bool { return isName(plugin, nameLetters+"-") && plugin != "core" }

func validAction(action string) bool { return isName(action, nameLetters) }

// isName reports whether a text is a name of letters, a small letter first. Names are matched without an
// expression: to compile one takes longer than a command's few names.
func isName(text, letters string) bool {
	return text != "" && len(text) <= maxLetters && 'a' <= text[0] && text[0] <= 'z' && strings.Trim(text, letters) == ""
}

// contract is a description that was checked, with its actions by name.
type contract struct {
	*Description
	config *schema.Type

	mu      sync.Mutex
	actions map[string]*actionContract // guarded by mu: those of an index are put in when they are used
}

// action returns what is known of an action, nil where there is none.
func (c *contract) action(name string) *actionContract {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.actions[name]
}

// Describe returns what a plugin says of itself: its revision in force, or, where none is
// yet, the file as it is now, which comes into force by that. It is kept under the sha256
// of the executable, so that the process starts only when the file is new. The result is
// shared: do not change it. The error is a *PluginError, or the context's.
func (h *Host) Describe(ctx context.Context, plugin string) (*Description, error) {
	return h.Revision(ctx, plugin, "")
}

// describe returns the contract of the revision. One that was read is not read again.
func (u *unit) describe(ctx context.Context) (*contract, error) {
	if c := u.known(); c != nil {
		return c, nil
	}
	u.describing.Lock()
	defer u.describing.Unlock()
	if c := u.known(); c != nil {
		return c, nil
	}
	place := u.plugin.recordPath(u.exe)
	if !u.isAttached() { // what it says of itself is of this process alone
		if d := readRecord(place, u.exe.revision()); d != nil {
			if c, err := u.trusted(d); err == nil {
				return u.keep(c), nil
			}
		}
	}
	d, err := u.ask(ctx)
	if err != nil {
		return nil, err
	}
	said, err := encodeRecord(d)
	if err != nil {
		return nil, u.wrongDescription(err)
	}
	c, err := u.check(ctx, d)
	if err != nil {
		return nil, err
	}
	if !u.isAttached() {
		if err := u.confirm(ctx, d, said); err != nil {
			return nil, err
		}
		u.remember(place, d)
	}
	u.tellIgnored(d)
	if tell := u.host.options.Told; tell != nil && len(d.warnings) > 0 {
		tell(u.source.Name, d.warnings)
	}
	return u.keep(c), nil
}

// tellIgnored says which words of the plugin's schemas are not read: once, since a
// description that is known is not asked for again.
func (u *unit) tellIgnored(d *Description) {
	words := schema.Ignored(d.ConfigSchema)
	for _, action := range d.Actions {
		words = slices.Concat(words, schema.Ignored(action.Input), schema.Ignored(action.Output))
	}
	if len(words) == 0 {
		return
	}
	slices.Sort(words)
	words = slices.Compact(words)
	if tell := u.host.options.Ignored; tell != nil {
		tell(u.source.Name, words)
		return
	}
	u.host.options.Log.Warn("words of the plugin's schemas are not read: what they exclude is not noticed", "plugin", u.source.Name, "words", words)
}

func (u *unit) wrongDescription(err error) *PluginError {
	failure := &PluginError{
		Plugin: u.source.Name, Reason: ReasonDescribe, Message: "what it says of itself is wrong: " + u.host.gate.Text(err.Error()),
		Hint: diag.Say("this is for the author of the plugin"),
	}
	if fault := faultIn(err); fault != nil && fault.Secret {
		failure.Hint = diag.Say("a description is the same for everybody; where the secret is a common word, take a longer one")
	}
	return failure
}

func (u *unit) known() *contract {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.contract
}

func (u *unit) keep(c *contract) *contract {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.contract = c
	return c
}

// ask has the plugin describe itself, by what it is told where it is told something.
func (u *unit) ask(ctx context.Context) (*Description, error) {
	request := &pluginv1.DescribeRequest{}
	settings := ""
	if u.isTold() {
		told, err := u.sameSettings(ctx)
		if err != nil {
			return nil, err
		}
		request.Name, request.Settings, settings = u.source.Name, told.wire(), told.digest()
	}
	d, err := u.askFor(ctx, request)
	if err != nil || settings == "" {
		return d, err
	}
	d.Settings = settings
	if refused := slices.IndexFunc(d.warnings, func(w Diagnostic) bool { return w.Error }); refused >= 0 {
		return nil, &PluginError{
			Plugin: u.source.Name, Reason: ReasonSettings, Message: "it refuses what flowrun.yaml tells it: " + d.warnings[refused].text(), Refused: d.warnings,
		}
	}
	if !bytes.Equal(d.SettingsSchema, u.base.SettingsSchema) {
		return nil, u.wrongDescription(errors.New("its settings schema is another one when it is told something"))
	}
	return d, nil
}

// askFor starts the plugin and asks it to describe itself.
func (u *unit) askFor(ctx context.Context, request *pluginv1.DescribeRequest) (*Description, error) {
	request.HostVersion, request.ProtocolMinor = u.host.options.Version, handshake.ProtocolMinor
	request.Host = &pluginv1.Capabilities{Features: handshake.HostFeatures()}
	var response *pluginv1.DescribeResponse
	err := u.question(ctx, "it did not describe itself", func(ctx context.Context, p *process) (err error) {
		response, err = p.rpc.Describe(ctx, request, sendSettings())
		return err
	})
	if err != nil {
		return nil, err
	}
	return descriptionOf(response, u.exe), nil
}

// question asks the plugin's process, which is started where none runs, about what it
// is. The error is a *PluginError, or the context's.
func (u *unit) question(ctx context.Context, broken string, ask func(context.Context, *process) error) error {
	p, err := u.acquire(ctx, "")
	if err != nil {
		return err
	}
	defer u.release(p, "")
	bounded, cancel := u.patient(ctx)
	defer cancel()
	err = ask(bounded, p)
	if err == nil {
		return nil
	}
	if fault := faultIn(err); fault != nil {
		return u.wrongDescription(fault)
	}
	failure := p.brokenCall(bounded, err)
	switch {
	case u.host.isClosed():
		return u.closedError()
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &PluginError{Plugin: u.source.Name, Reason: ReasonDescribe, Message: broken + ": " + failure.Message, Stderr: p.output.last()}
}

// check judges a description and reads its schemas. The error is a *PluginError, or the
// context's.
func (u *unit) check(ctx context.Context, d *Description) (*contract, error) {
	c, err := u.checked(d)
	if err != nil {
		return nil, u.wrongDescription(err)
	}
	var needed []string // their shape is checked
	if l := d.Login; l != nil {
		needed = []string{l.Start, l.Wait, l.Status, l.Revoke}
	}
	if d.Delivery != nil {
		needed = append(needed, d.Delivery.Action)
	}
	needed = slices.DeleteFunc(needed, func(name string) bool { a := c.actions[name]; return a == nil || Whole(a.Action) })
	if err := u.demand(ctx, c, needed); err != nil {
		return nil, err
	}
	if err := c.checkLogin(); err != nil {
		return nil, u.wrongDescription(fmt.Errorf("its login: %w", err))
	}
	if err := c.checkDelivery(); err != nil {
		return nil, u.wrongDescription(fmt.Errorf("its delivery: %w", err))
	}
	return c, nil
}

// checked judges a description but for what its login needs.
func (u *unit) checked(d *Description) (*contract, error) {
	if d.Name != u.source.Name {
		return nil, fmt.Errorf("its name is %q, not %q", d.Name, u.source.Name)
	}
	c := &contract{Description: d, actions: map[string]*actionContract{}}
	var err error
	if c.config, err = schemaOf(d.ConfigSchema); err != nil {
		return nil, fmt.Errorf("config schema: %w", err)
	}
	limiters := map[string]bool{}
	for _, limiter := range d.Limiters {
		if err := checkLimiter(limiter, limiters); err != nil {
			return nil, err
		}
		limiters[limiter.Name] = true
	}
	if len(d.Actions) == 0 && !d.Bare() {
		return nil, errors.New("it has no actions")
	}
	if len(d.Recipe) > maxRecipe {
		return nil, fmt.Errorf("its recipe has %d bytes, at most %d are kept", len(d.Recipe), maxRecipe)
	}
	for _, action := range d.Actions {
		if c.actions[action.Name] != nil {
			return nil, fmt.Errorf("action %s stands there twice", action.Name)
		}
		action.Reconcile = action.Effect == plan.EffectOnce && d.Supports(featureReconcile)
		if c.actions[action.Name], err = checkAction(action, d, limiters); err != nil {
			return nil, fmt.Errorf("action %q: %w", action.Name, err)
		}
	}
	if d.TokenAction != "" && c.actions[d.TokenAction] == nil {
		return nil, fmt.Errorf("its token action %q does not exist", d.TokenAction)
	}
	return c, nil
}

func checkLimiter(l plan.Limiter, set map[string]bool) error {
	switch {
	case !validAction(l.Name):
		return fmt.Errorf("limiter %q: %s", clipped(l.Name), wrongName(l.Name))
	case set[l.Name]:
		return fmt.Errorf("limiter %s stands there twice", l.Name)
	case l.Requests > 0 && l.Window <= 0:
		return fmt.Errorf("limiter %s has no window", l.Name)
	case l.Requests == 0 && l.MaxConcurrent == 0:
		return fmt.Errorf("limiter %s limits nothing", l.Name)
	}
	return nil
}

func checkAction(a *plan.Action, d *Description, limiters map[string]bool) (*actionContract, error) {
	if !validAction(a.Name) {
		return nil, errors.New(wrongName(a.Name))
	}
	if a.Effect == "" {
		return nil, errors.New("it does not say its effect")
	}
	for _, limiter := range a.Limiters {
		if !limiters[limiter.Name] {
			return nil, fmt.Errorf("limiter %q is not declared", limiter.Name)
		}
	}
	c := &actionContract{Action: a, recipe: d.recipes[a.Name], said: d.decided[a.Name]}
	if !Whole(a) {
		return c, nil // the rest is judged when it is asked for
	}
	if len(c.recipe) > maxRecipe {
		return nil, fmt.Errorf("its recipe has %d bytes, at most %d are kept", len(c.recipe), maxRecipe)
	}
	if err := c.read(); err != nil {
		return nil, err
	}
	if err := checkFields(c); err != nil {
		return nil, err
	}
	for _, example := range a.Examples {
		fault := gate.DocumentFault(example.Input)
		if fault == "" && len(example.Output) > 0 {
			fault = gate.DocumentFault(example.Output)
		}
		if fault != "" {
			return nil, fmt.Errorf("example %q: %s", example.Name, fault)
		}
	}
	return c, nil
}

// checkFields looks up the fields that paging and range name.
func checkFields(c *actionContract) error {
	has := func(t *schema.Type, name, what string) error {
		if _, ok := t.Field(name); !ok {
			return fmt.Errorf("%s names the field %q, which does not exist", what, name)
		}
		return nil
	}
	var problems []error
	if p := c.Paging; p != nil {
		if p.CursorField != "" {
			problems = append(problems, has(c.input, p.CursorField, "paging"))
		}
		for _, name := range []string{p.ItemsField, p.NextField} {
			if name != "" {
				problems = append(problems, has(c.output, name, "paging"))
			}
		}
	}
	if r := c.Range; r != nil {
		problems = append(problems, has(c.input, r.FromField, "range"), has(c.input, r.ToField, "range"))
		if r.Max <= 0 {
			problems = append(problems, errors.New("range has no maximum"))
		}
	}
	return errors.Join(problems...)
}

// action finds an action by its short name, with its schemas read. One of an index is
// asked for.
func (u *unit) action(ctx context.Context, c *contract, name string) (*actionContract, *runs.Error) {
	if a := c.action(name); a != nil {
		if !Whole(a.Action) {
			if err := u.demandOf(ctx, c, []string{name}); err != nil {
				return nil, u.host.failureOf(ctx, err)
			}
			a = c.action(name)
		}
		if err := a.read(); err != nil {
			return nil, invalid("", "what plugin %s says of its action %s is wrong: %v", c.Name, name, err)
		}
		return a, nil
	}
	var names []string
	for _, a := range c.Actions {
		names = append(names, a.Name)
	}
	failure := invalid("", "plugin %s has no action %q", c.Name, name)
	failure.Hint = diag.DidYouMean(name, names)
	return nil, failure
}
