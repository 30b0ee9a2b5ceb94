package pluginhost

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

func kindOf(code pluginv1.Code) plan.ErrorKind {
	kind := plan.ErrorKind(strings.ToLower(strings.TrimPrefix(code.String(), "CODE_")))
	if !slices.Contains(plan.ErrorKinds(), kind) {
		return plan.KindInternal // a code of a later minor version
	}
	return kind
}

// The words of the protocol in ours.
var (
	appliedWords = map[pluginv1.Error_Applied]runs.Applied{
		pluginv1.Error_APPLIED_NOT_APPLIED: runs.NotApplied, pluginv1.Error_APPLIED_APPLIED: runs.AppliedFully, pluginv1.Error_APPLIED_PARTLY: runs.AppliedPartly,
	}
	effectWords = map[pluginv1.Effect]plan.Effect{
		pluginv1.Effect_EFFECT_READ: plan.EffectRead, pluginv1.Effect_EFFECT_IDEMPOTENT: plan.EffectIdempotent,
		pluginv1.Effect_EFFECT_KEYED: plan.EffectKeyed, pluginv1.Effect_EFFECT_ONCE: plan.EffectOnce,
	}
	levelWords = map[pluginv1.Log_Level]string{pluginv1.Log_LEVEL_DEBUG: "debug", pluginv1.Log_LEVEL_WARN: "warn", pluginv1.Log_LEVEL_ERROR: "error"}
)

func appliedOf(applied pluginv1.Error_Applied) runs.Applied {
	return cmp.Or(appliedWords[applied], runs.AppliedUnknown)
}

// errorOf turns a plugin's error into ours. A hint inside the details, as older
// plugins have it, becomes the error's hint where that is empty. A limiter is named that is one of these, or none.
func errorOf(e *pluginv1.Error, limiters []plan.Limiter) *runs.Error {
	failure := &runs.Error{
		Kind:       kindOf(e.GetCode()),
		Message:    cmp.Or(e.GetMessage(), "the plugin gave no message"),
		Reason:     e.GetReason(),
		HTTPStatus: int(e.GetHttpStatus()),
		Applied:    appliedOf(e.GetApplied()),
		Hint:       diag.Say(e.GetHint()),
	}
	if slices.ContainsFunc(limiters, func(l plan.Limiter) bool { return l.Name == e.GetLimiter() }) {
		failure.Limiter = e.GetLimiter()
	}
	if pointer := e.GetPointer(); strings.HasPrefix(pointer, "/") {
		failure.Pointer = pointer
	}
	if wait := durationOf(e.GetRetryAfter()); wait > 0 {
		failure.RetryAfterS = wait.Seconds()
	}
	failure.Details = e.GetDetails()
	var fields map[string]json.RawMessage
	if json.Unmarshal(failure.Details, &fields) != nil {
		return failure
	}
	var hint string
	if json.Unmarshal(fields["hint"], &hint) == nil && hint != "" {
		failure.Hint = failure.Hint.Or(diag.Say(hint))
		delete(fields, "hint")
		failure.Details = nil
		if len(fields) > 0 {
			failure.Details, _ = json.Marshal(fields) // came from JSON
		}
	}
	return failure
}

func completedOf(c *pluginv1.Completed) *runs.Completed {
	return &runs.Completed{
		Output:     json.RawMessage(c.GetOutput().GetJson()),
		NextCursor: c.GetNextCursor(),
		Watermark:  c.GetWatermark(),
		Meta:       c.GetMeta(),
		PageNote:   c.GetPageNote(),
	}
}

func pendingOf(p *pluginv1.Pending) *runs.Pending {
	pending := &runs.Pending{
		RetryAfter: durationOf(p.GetRetryAfter()), Checkpoint: p.GetCheckpoint(), Message: p.GetMessage(),
	}
	if prompt := p.GetPrompt(); prompt != nil {
		pending.Prompt = &runs.Prompt{
			Title: prompt.GetTitle(), URL: prompt.GetUrl(), UserCode: prompt.GetUserCode(),
			ExpiresAt: timeOf(prompt.GetExpiresAt()), Message: prompt.GetMessage(),
		}
	}
	return pending
}

func logOf(l *pluginv1.Log, step string, now time.Time) runs.Log {
	return runs.Log{
		At: cmp.Or(timeOf(l.GetTime()), now), Level: cmp.Or(levelWords[l.GetLevel()], "info"), Step: step, Message: l.GetMessage(), Fields: l.GetFields(),
	}
}

func progressOf(p *pluginv1.Progress) runs.Progress {
	fraction := p.GetFraction()
	if math.IsNaN(fraction) {
		fraction = 0
	}
	return runs.Progress{Fraction: min(max(fraction, 0), 1), Message: p.GetMessage()}
}

func runContextOf(req runs.Request) *pluginv1.RunContext {
	run := new(pluginv1.RunContext)
	setRunContext(run, req)
	return run
}

func setRunContext(run *pluginv1.RunContext, req runs.Request) {
	run.Workflow, run.RunId, run.StepId, run.ScheduledAt = req.Workflow, req.RunID, req.Step, wireTime(req.ScheduledAt)
	run.Attempt, run.IdempotencyKey, run.Traceparent = uint32(max(req.Attempt, 0)), req.IdempotencyKey, req.Traceparent
}

func executeRequestOf(req runs.Request, action *actionContract, connection string, input clearDocument) *pluginv1.ExecuteRequest {
	all := new(struct { // what each call has, made at once
		request pluginv1.ExecuteRequest
		input   pluginv1.Value
		run     pluginv1.RunContext
	})
	r := &all.request
	r.Action, r.Recipe, r.Connection, r.Input, r.Run = action.Name, action.recipe, connection, &all.input, &all.run
	r.Input.Json, r.Input.Sensitive = input.json, input.sensitive
	setRunContext(r.Run, req)
	r.Checkpoint, r.PageCursor, r.Watermark, r.PageNote, r.AllPages = req.Checkpoint, req.PageCursor, req.Watermark, req.PageNote, req.AllPages
	return r
}

func diagnosticsOf(list []*pluginv1.Diagnostic) []Diagnostic {
	var diagnostics []Diagnostic
	for _, d := range list {
		diagnostics = append(diagnostics, Diagnostic{
			Error:   d.GetSeverity() != pluginv1.Diagnostic_SEVERITY_WARNING,
			Summary: d.GetSummary(), Detail: d.GetDetail(), Pointer: d.GetPointer(),
		})
	}
	return diagnostics
}

// descriptionOf takes a description over as it is; checkDescription judges it.
func descriptionOf(r *pluginv1.DescribeResponse, exe executable) *Description {
	d := &Description{
		Format: describeFormat, Name: r.GetName(), Version: r.GetVersion(), SDK: r.GetSdk(), Doc: r.GetDoc(), Digest: exe.revision(),
		ProtocolMinor: r.GetProtocolMinor(), Features: r.GetPlugin().GetFeatures(),
		ConfigSchema: orEmptySchema(r.GetConfigSchema()), TokenAction: r.GetTokenAction(), Simulator: r.GetSimulator(),
		Wants: Wants{Env: r.GetWants().GetEnv(), Hosts: r.GetWants().GetHosts(), State: r.GetWants().GetState()},
	}
	if l := r.GetLogin(); l != nil {
		d.Login = &Login{Start: l.GetStart(), Wait: l.GetWait(), Status: l.GetStatus(), Revoke: l.GetRevoke(), Scopes: l.GetScopes()}
	}
	if l := r.GetDelivery(); l != nil {
		d.Delivery = &Delivery{Action: l.GetAction(), Content: l.GetContent(), Markdown: l.GetMarkdown(), Path: l.GetPath(), Title: l.GetTitle()}
	}
	if exe.told != "" {
		d.Executable = exe.digest
	}
	if d.Supports(handshake.FeatureSettings) {
		d.SettingsSchema, d.Recipe, d.warnings = orEmptySchema(r.GetSettingsSchema()), r.GetRecipe(), diagnosticsOf(r.GetDiagnostics())
	}
	limiters := map[string]plan.Limiter{}
	for _, l := range r.GetLimiters() {
		limiter := plan.Limiter{
			Name: l.GetName(), Requests: int(l.GetRequests()), Window: durationOf(l.GetWindow()),
			FixedWindow: l.GetFixedWindow(), MaxConcurrent: int(l.GetMaxConcurrent()), Scope: l.GetScope(),
		}
		limiters[limiter.Name] = limiter
		d.Limiters = append(d.Limiters, limiter)
	}
	for _, a := range r.GetActions() {
		d.addAction(a, limiters)
	}
	return d
}

// addAction takes an action over with its recipe. One without schemas is an entry where
// the plugin describes an index.
func (d *Description) addAction(a *pluginv1.Action, limiters map[string]plan.Limiter) {
	action := actionOf(a, d, limiters)
	if len(a.GetInputSchema()) == 0 && d.Supports(handshake.FeatureIndex) {
		action.Input, action.Output = nil, nil
	}
	if recipe := a.GetRecipe(); len(recipe) > 0 && d.Supports(handshake.FeatureSettings) {
		if d.recipes == nil {
			d.recipes = map[string][]byte{}
		}
		d.recipes[action.Name] = recipe
		sum := sha256.Sum256(recipe)
		action.Recipe = hex.EncodeToString(sum[:])
	}
	if a.GetSchemasDecide() {
		d.decide(action.Name)
	}
	d.Actions = append(d.Actions, action)
}

// decide notes an action whose schemas decide everything about an input.
func (d *Description) decide(name string) {
	if d.decided == nil {
		d.decided = map[string]bool{}
	}
	d.decided[name] = true
}

func actionOf(a *pluginv1.Action, d *Description, limiters map[string]plan.Limiter) *plan.Action {
	action := &plan.Action{
		Plugin: d.Name, Name: a.GetName(), Doc: a.GetDoc(), Effect: effectWords[a.GetEffect()],
		Input: orEmptySchema(a.GetInputSchema()), Output: orEmptySchema(a.GetOutputSchema()),
		DefaultTimeout: durationOf(a.GetDefaultTimeout()), Incremental: a.GetIncremental(), Deprecated: a.GetDeprecated(),
		PluginVersion: d.Version, PluginDigest: d.Digest,
	}
	for _, name := range a.GetLimiters() {
		limiter := limiters[name]
		limiter.Name = name // kept for the check, when the plugin declares no such limiter
		action.Limiters = append(action.Limiters, limiter)
	}
	if p := a.GetPaging(); p != nil {
		action.Paging = &plan.Paging{
			CursorField: p.GetCursorField(), ItemsField: p.GetItemsField(), NextField: p.GetNextField(), Identity: p.GetIdentity(),
		}
	}
	if r := a.GetRange(); r != nil {
		action.Range = &plan.Range{FromField: r.GetFromField(), ToField: r.GetToField(), Max: durationOf(r.GetMax())}
	}
	for _, e := range a.GetExamples() {
		action.Examples = append(action.Examples, plan.Example{Name: e.GetName(), Input: e.GetInput(), Output: e.GetOutput()})
	}
	for _, f := range a.GetFaults() {
		action.Faults = append(action.Faults, plan.Fault{Kind: kindOf(f.GetCode()), Reason: f.GetReason(), Doc: f.GetDoc()})
	}
	return action
}

func orEmptySchema(schema []byte) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return schema
}

func durationOf(d *durationpb.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return max(d.AsDuration(), 0)
}

func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil || !t.IsValid() {
		return time.Time{}
	}
	return t.AsTime()
}

// wireTime is a time as the protocol has it; nil for the zero time.
func wireTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func tokenOf(t *pluginv1.Token) *secret.Token {
	if t == nil {
		return nil
	}
	return &secret.Token{
		ID: t.GetId(), AccessToken: t.GetAccessToken(), TokenType: t.GetTokenType(), ExpiresAt: timeOf(t.GetExpiresAt()),
		RefreshToken: t.GetRefreshToken(), Extra: t.GetExtra(),
	}
}

func wireToken(t *secret.Token) *pluginv1.Token {
	if t == nil {
		return nil
	}
	return &pluginv1.Token{
		Id: t.ID, AccessToken: t.AccessToken, TokenType: t.TokenType, ExpiresAt: wireTime(t.ExpiresAt), RefreshToken: t.RefreshToken, Extra: t.Extra,
	}
}

func wireStored(t secret.Status) *pluginv1.StoredToken {
	return &pluginv1.StoredToken{State: t.State, Extra: t.Extra, Reason: t.Reason, ExpiresAt: wireTime(t.ExpiresAt), Renewable: t.Renewable}
}

// wireError is the inverse of errorOf, for failures that a plugin passes on.
func wireError(e *runs.Error) *pluginv1.Error {
	failure := &pluginv1.Error{
		Code: codeOf(e.Kind), Message: e.Message, Reason: e.Reason, Applied: pluginv1.Error_APPLIED_NOT_APPLIED,
		HttpStatus: uint32(max(e.HTTPStatus, 0)), Limiter: e.Limiter, Hint: e.Hint.Text, //nolint:gosec // an HTTP status
	}
	if e.RetryAfterS > 0 {
		failure.RetryAfter = durationpb.New(time.Duration(e.RetryAfterS * float64(time.Second)))
	}
	details := map[string]any{}
	_ = json.Unmarshal(e.Details, &details) // not known, or an object
	if e.Hint.Text != "" {
		details["hint"] = e.Hint.Text // plugins of before know no field for it
	}
	if len(details) > 0 {
		failure.Details, _ = json.Marshal(details) // came from JSON
	}
	return failure
}

func codeOf(kind plan.ErrorKind) pluginv1.Code {
	if code, ok := pluginv1.Code_value["CODE_"+strings.ToUpper(string(kind))]; ok {
		return pluginv1.Code(code)
	}
	return pluginv1.Code_CODE_INTERNAL
}
