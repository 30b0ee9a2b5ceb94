package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// WaitInput is the input of device_wait.
type WaitInput struct {
	FlowID  string `json:"flow_id" min:"1" doc:"From device_start."`
	Restart int64  `json:"restart" min:"0" max:"100" default:"0" doc:"How many new codes to ask for, one after the other, when the codes run out."`
}

// WaitOutput is the output of device_wait, which ends well only when the login
// was granted.
type WaitOutput struct {
	State         string     `json:"state" enum:"granted"`
	Scopes        []string   `json:"scopes" doc:"What was granted."`
	MissingScopes []string   `json:"missing_scopes" doc:"What was asked for and not granted."`
	ExpiresAt     *time.Time `json:"expires_at" doc:"When the access token ends; null when the service does not say."`
}

// progress is the checkpoint of device_wait. No secrets.
type progress struct {
	Flow     string `json:"flow"`
	Restarts int64  `json:"restarts"`
	Because  string `json:"because,omitempty"` // why there are new codes
}

// deviceWait is action auth.device_wait: one poll, or one new start, for each
// call of the engine, pending until the person has decided.
func (p *plugin) deviceWait(c *sdk.Call[Config], in WaitInput) (WaitOutput, error) {
	at := progress{Flow: in.FlowID}
	if raw := c.Checkpoint(); len(raw) > 0 {
		if err := json.Unmarshal(raw, &at); err != nil || at.Flow == "" {
			return WaitOutput{}, sdk.Errorf(sdk.CodeInternal, "the checkpoint of the login can't be read")
		}
	}
	f, err := p.poll(c, at.Flow)
	if err != nil {
		if f != nil && f.State == statePending && mayPass(f, err) {
			return WaitOutput{}, p.pending(c, f, at, max(f.wait(p.now()), f.interval()), "the last poll failed, the next one follows: "+messageOf(err))
		}
		return WaitOutput{}, err
	}
	switch f.State {
	case stateGranted:
		return WaitOutput{State: stateGranted, Scopes: f.Scopes, MissingScopes: missingScopes(f.Asked, f.Scopes), ExpiresAt: f.ExpiresAt}, nil
	case statePending:
		return WaitOutput{}, p.pending(c, f, at, f.wait(p.now()), "waiting for the person to decide")
	case stateDenied:
		return WaitOutput{}, &sdk.Error{Code: sdk.CodeDenied, Reason: "access_denied", Applied: sdk.NotApplied, Message: "the login was refused"}
	}
	return p.again(c, in, f, at)
}

// again asks for new codes when the old ones are of no use any more and the step
// wants it: at their end, and when the code turned out to be claimed.
func (p *plugin) again(c *sdk.Call[Config], in WaitInput, f *flow, at progress) (WaitOutput, error) {
	ended := codesEnded()
	if f.Failure != nil {
		ended = f.Failure.error()
	}
	restartable := f.State == stateExpired || ended.Reason == "invalid_grant"
	if !restartable || at.Restarts >= in.Restart {
		return WaitOutput{}, ended
	}
	key := ""
	if c.Run.IdempotencyKey != "" {
		key = fmt.Sprintf("%s restart %d", c.Run.IdempotencyKey, at.Restarts+1)
	}
	fresh, err := p.start(c, f.Asked, key)
	if err != nil {
		return WaitOutput{}, err
	}
	at = progress{Flow: fresh.ID, Restarts: at.Restarts + 1, Because: ended.Message}
	return WaitOutput{}, p.pending(c, fresh, at, fresh.wait(p.now()), "new codes, since "+ended.Message)
}

// codesEnded is the end of a login whose codes ran out.
func codesEnded() *sdk.Error {
	return &sdk.Error{
		Code: sdk.CodeExpired, Reason: "expired_token", Applied: sdk.NotApplied,
		Message: "the codes ran out before anybody decided", Hint: "start the login again, or give device_wait a restart",
	}
}

// pending is the answer while nobody has decided, with what to show (A-08, A-10:
// code and address unaltered).
func (p *plugin) pending(c *sdk.Call[Config], f *flow, at progress, wait time.Duration, message string) error {
	checkpoint, err := json.Marshal(at)
	if err != nil {
		return sdk.Errorf(sdk.CodeInternal, "encode the checkpoint: %w", err)
	}
	words := "Open the address on any device and type the code."
	if at.Because != "" {
		words = "This is a new code, the one before is of no use: " + at.Because + ". " + words
	}
	return sdk.Pending{
		RetryAfter: wait, Checkpoint: checkpoint, Message: message,
		Prompt: &sdk.Prompt{
			Title: "Log in to connection " + c.ConnectionName(), URL: f.VerificationURL, UserCode: f.UserCode, ExpiresAt: f.Deadline,
			Message: words,
		},
	}
}

// maxForeign is how many answers in a row device_wait takes from a proxy before
// it says so. The login itself stays: another wait goes on with it.
const maxForeign = 5

// mayPass reports an error after which polling goes on: the network, the
// service's own trouble, a few pages of a proxy, and one answer that got lost on
// its way; the next poll then tells whether the code was claimed with it.
func mayPass(f *flow, err error) bool {
	switch codeOf(err) {
	case sdk.CodeUnavailable, sdk.CodeTimeout, sdk.CodeRateLimited:
		return true
	case sdk.CodeUnexpectedResponse:
		return f.Garbled && !f.garbledBefore || f.Foreign > 0 && f.Foreign <= maxForeign
	}
	return false
}

func messageOf(err error) string {
	if failure, ok := errors.AsType[*sdk.Error](err); ok {
		return failure.Message
	}
	return "it was not done"
}
