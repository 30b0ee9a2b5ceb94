package pluginhost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Validate asks a plugin about one input of an action, "plugin.name". unknown
// lists the JSON Pointers of the values that are not known before the run and
// are left out of input. The second result is the output schema where the input
// narrows it, else nil. digest names the revision that is asked, "" the one in force. Secret references need not be known: they are left out
// and listed as unknown. Identical questions are asked once, also by later hosts on
// the same folder where the plugin had nothing against the input. The error is a
// *PluginError, a *runs.Error or the context's.
func (h *Host) Validate(ctx context.Context, action, digest string, input json.RawMessage, unknown []string) ([]Diagnostic, json.RawMessage, error) {
	u, c, a, err := h.asked(ctx, action, digest)
	if err != nil {
		return nil, nil, err
	}
	v, err := h.askAbout(ctx, u, c, a, Connection{}, input, unknown)
	return v.Diagnostics, v.Output, err
}

// ValidateOn is Validate for an input that was held against the action's schema, and a call
// whose connection is known. An action whose schemas decide everything is not asked. A plugin
// that looks at configs (handshake.FeatureValidateConfig) gets that of the connection, without
// its secrets; the zero Connection is one that is not known.
func (h *Host) ValidateOn(ctx context.Context, action, digest string, conn Connection, input json.RawMessage, unknown []string) (Validation, error) {
	u, c, a, err := h.asked(ctx, action, digest)
	if err != nil || a.decided {
		return Validation{}, err
	}
	return h.askAbout(ctx, u, c, a, conn, input, unknown)
}

// Asks reports whether ValidateOn asks the plugin about inputs of an action: false where the
// schemas decide, and where there is no such action.
func (h *Host) Asks(ctx context.Context, action, digest string) bool {
	_, _, a, err := h.asked(ctx, action, digest)
	return err == nil && !a.decided
}

// asked finds the action of a question.
func (h *Host) asked(ctx context.Context, action, digest string) (*unit, *contract, *actionContract, error) {
	plugin, name := splitAction(action)
	u, c, err := h.contract(ctx, plugin, digest)
	if err != nil {
		return nil, nil, nil, err
	}
	a, failure := u.action(ctx, c, name)
	if failure != nil {
		return nil, nil, nil, failure
	}
	return u, c, a, nil
}

// askAbout asks the plugin, unless it was asked the same before.
func (h *Host) askAbout(ctx context.Context, u *unit, c *contract, a *actionContract, conn Connection, input json.RawMessage, unknown []string) (Validation, error) {
	action := a.FullName()
	var err error
	if input, unknown, err = withoutSecrets(input, unknown); err != nil {
		return Validation{}, fmt.Errorf("validate %s: %w", action, err)
	}
	request := &pluginv1.ValidateRequest{Action: a.Name, Input: &pluginv1.Value{Json: input}, Unknown: unknown, Recipe: a.recipe}
	if err := configure(request, c, conn); err != nil {
		return Validation{}, fmt.Errorf("validate %s: %w", action, err)
	}
	question := questionKey(c.Digest, request)
	if v, ok := u.plugin.answers.get(h.dir, u.source.Name, question); ok && !u.isAttached() {
		return v, nil
	}
	v, err := u.validate(ctx, request)
	if err != nil {
		return Validation{}, err
	}
	if !u.isAttached() { // the next process may answer otherwise
		u.plugin.answers.put(question, v)
	}
	return v, nil
}

// configure puts the config of a connection into a question to a plugin that looks at it.
func configure(request *pluginv1.ValidateRequest, c *contract, conn Connection) error {
	if conn.Name == "" || len(conn.Config) == 0 || !c.LooksAtConfig() {
		return nil
	}
	config, left, err := withoutSecrets(conn.Config, nil)
	if err != nil {
		return fmt.Errorf("config of connection %q: %w", conn.Name, err)
	}
	request.Connection, request.Config, request.ConfigUnknown = conn.Name, &pluginv1.Value{Json: config}, left
	return nil
}

// keptForm tells answers in the form of keptAnswer from those that were kept before.
const keptForm = "2"

func questionKey(digest string, request *pluginv1.ValidateRequest) string {
	sum := sha256.New()
	for _, part := range append([]string{keptForm, digest, request.GetAction(), string(request.GetInput().GetJson())}, request.GetUnknown()...) {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	if request.GetConfig() != nil {
		for _, part := range append([]string{"config", request.GetConnection(), string(request.GetConfig().GetJson())}, request.GetConfigUnknown()...) {
			fmt.Fprintf(sum, "%d:%s", len(part), part)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (u *unit) validate(ctx context.Context, request *pluginv1.ValidateRequest) (Validation, error) {
	p, err := u.acquire(ctx, "")
	if err != nil {
		return Validation{}, err
	}
	defer u.release(p, "")
	ctx, cancel := u.patient(ctx)
	defer cancel()
	response, err := p.rpc.Validate(ctx, request)
	if err != nil {
		return Validation{}, p.brokenCall(ctx, err)
	}
	v := Validation{Diagnostics: diagnosticsOf(response.GetDiagnostics()), Identity: response.GetPagingIdentity()}
	if narrowed := response.GetOutputSchema(); len(narrowed) > 0 {
		if _, err := schemaOf(narrowed); err != nil {
			return Validation{}, runs.Failure(plan.KindUnexpectedResponse, runs.NotApplied, "plugin %s narrowed the output to a wrong schema: %v", u.source.Name, err)
		}
		v.Output = narrowed
	}
	return v, nil
}

// withoutSecrets leaves secret references out of an input and adds their places
// to unknown.
func withoutSecrets(input json.RawMessage, unknown []string) (json.RawMessage, []string, error) {
	if len(input) == 0 {
		return json.RawMessage("{}"), unknown, nil
	}
	if !strings.Contains(string(input), `"$secret"`) {
		return input, unknown, nil
	}
	tree, err := gate.Tree(input)
	if err != nil {
		return nil, nil, err
	}
	unknown = slices.Clone(unknown)
	tree = dropSecrets(tree, "", &unknown)
	doc, err := schema.Encode(tree)
	return doc, unknown, err
}

func dropSecrets(v any, pointer string, dropped *[]string) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := pointer + diag.Pointer(name)
			if schema.IsSecretRef(v[name]) {
				*dropped = append(*dropped, at)
				delete(v, name)
				continue
			}
			v[name] = dropSecrets(v[name], at, dropped)
		}
	case []any:
		for i := range v {
			at := fmt.Sprintf("%s/%d", pointer, i)
			if schema.IsSecretRef(v[i]) {
				*dropped = append(*dropped, at)
				v[i] = nil // the places of the others must stay
				continue
			}
			v[i] = dropSecrets(v[i], at, dropped)
		}
	}
	return v
}

func (p *process) checkConnection(ctx context.Context, name string) (Test, *runs.Error) {
	response, err := p.rpc.CheckConnection(ctx, &pluginv1.CheckConnectionRequest{Connection: name})
	if err != nil {
		return Test{}, p.brokenCall(ctx, err)
	}
	if response.GetError() != nil {
		return Test{}, errorOf(response.GetError(), nil)
	}
	test := Test{Account: response.GetAccount(), NotTried: response.GetNotTried()}
	if test.NotTried {
		test.Note = cmp.Or(response.GetNote(), "the plugin has no test")
	}
	return test, nil
}

func (h *Host) reconcile(ctx context.Context, req runs.Request, conn Connection) (runs.Outcome, *runs.Error) {
	plugin, name := splitAction(req.Action)
	u, c, err := h.contract(ctx, plugin, req.PluginDigest)
	if err != nil {
		return runs.Outcome{}, h.failureOf(ctx, err)
	}
	a, failure := u.action(ctx, c, name)
	if failure != nil {
		return runs.Outcome{}, failure
	}
	if !c.Supports(featureReconcile) {
		return runs.Outcome{Applied: runs.AppliedUnknown, Note: "the plugin can't tell"}, nil
	}
	input, failure := h.reveal(ctx, req.Input, a.input, conn.Secrets)
	if failure != nil {
		return runs.Outcome{}, failure
	}
	p, open, release, failure := u.reach(ctx, c, conn, "")
	if failure != nil {
		return runs.Outcome{}, failure
	}
	defer release()
	if req, failure = h.openRequest(plugin, open.name, req); failure != nil {
		return runs.Outcome{}, failure
	}
	if input, failure = h.openInput(a, open.name, input); failure != nil {
		return runs.Outcome{}, failure
	}
	response, err := p.rpc.Reconcile(ctx, &pluginv1.ReconcileRequest{
		Action: name, Connection: open.name, Input: &pluginv1.Value{Json: input.json, Sensitive: input.sensitive},
		Run: runContextOf(req), Checkpoint: req.Checkpoint, Recipe: a.recipe,
	})
	if err != nil {
		return runs.Outcome{}, p.brokenAnswer(ctx, a, err)
	}
	outcome := runs.Outcome{Applied: appliedOf(response.GetApplied()), Note: response.GetNote()}
	if output := response.GetOutput(); len(output.GetJson()) > 0 {
		if outcome.Output, failure = h.checkOutput(ctx, a, open.name, req, output); failure != nil {
			return runs.Outcome{}, failure
		}
	}
	return outcome, nil
}
