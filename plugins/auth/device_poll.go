package auth

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// PollInput is the input of device_poll.
type PollInput struct {
	FlowID string `json:"flow_id" min:"1" doc:"From device_start."`
}

// PollOutput is the output of device_poll.
type PollOutput struct {
	State         string    `json:"state" enum:"pending,granted,denied,expired"`
	WaitS         int64     `json:"wait_s" doc:"Seconds to wait before the next poll; 0 when there is nothing to wait for."`
	Scopes        *[]string `json:"scopes,omitempty" doc:"What was granted."`
	MissingScopes *[]string `json:"missing_scopes,omitempty" doc:"What was asked for and not granted."`
}

// devicePoll is action auth.device_poll (A2, one poll).
func (p *plugin) devicePoll(c *sdk.Call[Config], in PollInput) (PollOutput, error) {
	f, err := p.poll(c, in.FlowID)
	if err != nil {
		return PollOutput{}, err
	}
	if f.State == stateFailed {
		return PollOutput{}, f.Failure.error()
	}
	out := PollOutput{State: f.State}
	if f.State == statePending {
		out.WaitS = wholeSeconds(f.wait(p.now()))
	}
	if f.State == stateGranted {
		missing := missingScopes(f.Asked, f.Scopes)
		out.Scopes, out.MissingScopes = &f.Scopes, &missing
	}
	return out, nil
}

// poll asks once, if it is time to, and returns how the flow stands. An error
// leaves the flow as it was, so that it can be polled again; what ends it is in
// the flow.
func (p *plugin) poll(c *sdk.Call[Config], id string) (*flow, error) {
	for {
		f, err := loadFlow(c, id)
		if err != nil {
			return nil, err
		}
		if f == nil {
			return nil, sdk.Invalid("/flow_id", "connection %s knows no login %q", c.ConnectionName(), sdk.Shown(id, 64)).
				WithHint("start one with device_start on this connection; a login is forgotten a day after it ended")
		}
		asked, err := p.pollFlow(c, f)
		if errors.Is(err, sdk.ErrStateChanged) && !asked {
			continue // another call claimed this poll, or ended the flow
		}
		return f, err
	}
}

// pollFlow takes one step with a flow. asked tells whether a request was sent.
func (p *plugin) pollFlow(c *sdk.Call[Config], f *flow) (asked bool, err error) {
	now := p.now()
	switch {
	case f.State != statePending:
		return false, nil
	case f.InDoubt && p.adopt(c, f):
		return false, p.save(c, f)
	case !now.Before(f.Deadline): // without a request
		f.State = stateExpired
		return false, p.save(c, f)
	case now.Before(f.NextPoll): // too early
		return false, nil
	}
	door, err := p.doorOf(c, tokenEndpoint)
	if err != nil {
		return false, err
	}
	if err := startable(c); err != nil { // the settings may have changed
		return false, err
	}
	wasInDoubt := f.InDoubt
	// This poll is claimed before it is sent: of two callers one sends, none sends
	// while an answer is due, and after a crash the pace is kept.
	f.NextPoll, f.InDoubt = now.Add(max(f.interval(), requestTimeout)), true
	if err := p.save(c, f); err != nil {
		return false, err
	}
	answer, err := p.post(c, door, url.Values{"grant_type": {grantDevice}, "device_code": {f.DeviceCode}}, f.DeviceCode)
	if err == nil {
		err = p.judge(c, f, answer, wasInDoubt)
	} else {
		f.garbledBefore, f.Garbled = f.Garbled, codeOf(err) == sdk.CodeUnexpectedResponse
	}
	return true, p.settle(c, f, err)
}

// judge takes an answer into the flow. Its error is one after which the flow can
// be polled again.
func (p *plugin) judge(c *sdk.Call[Config], f *flow, answer exchange, wasInDoubt bool) error {
	foreign := f.Foreign
	f.InDoubt, f.Garbled, f.Foreign = false, false, 0
	switch {
	case answer.fine() && answer.AccessToken == "": // nobody's token; were the code claimed, the next poll says so
		f.InDoubt, f.Foreign = true, foreign+1
		return answer.fail(sdk.CodeUnexpectedResponse, "the answer is no token: %s", answer.tokenProblem())
	case answer.fine():
		return p.granted(c, f, answer)
	case answer.Error == "authorization_pending",
		answer.Error == "" && answer.status == http.StatusPreconditionRequired: // its documented status, the body lost
		return nil
	case answer.Error == "slow_down":
		f.IntervalS = min(f.IntervalS+int64(slowDownStep/time.Second), int64(maxInterval/time.Second))
		return nil
	case answer.isRateLimited(), answer.isServerTrouble():
		f.InDoubt = wasInDoubt || answer.isServerTrouble()
		return answer.refusal(c)
	case answer.Error == "access_denied":
		f.State = stateDenied
		return nil
	case answer.Error == "expired_token":
		f.State = stateExpired
		return nil
	case answer.isForeign(): // a proxy, a wrong address: nobody has decided about the codes
		f.InDoubt, f.Foreign = wasInDoubt, foreign+1
		return answer.refusal(c)
	}
	refused := answer.refusal(c)
	if refused.Code == sdk.CodeUnexpectedResponse { // a word of its own ends the login too (RFC 8628 3.5)
		refused.Code, refused.Applied = codeOfUnknownWord(answer.status), sdk.NotApplied
	}
	if answer.Error == "invalid_grant" {
		if p.adopt(c, f) { // the poll before this one was answered after all
			return nil
		}
		if f.mayHaveEnded(p.now()) { // some servers forget a code with its end
			f.expire(wasInDoubt)
			return nil
		}
		explainGrant(c, refused, wasInDoubt)
	}
	f.State, f.Failure = stateFailed, failureOf(refused)
	return nil
}

// codeOfUnknownWord is the class of an OAuth error whose word nobody knows. A 401
// is about the client here, not about a token that could be renewed.
func codeOfUnknownWord(status int) sdk.Code {
	if status < http.StatusBadRequest || status == http.StatusUnauthorized {
		return sdk.CodeInvalid
	}
	return sdk.CodeOfStatus(status)
}

// expire ends a flow whose codes ran out. A code that was in doubt may have been
// claimed as well; nobody can say which.
func (f *flow) expire(inDoubt bool) {
	f.State = stateExpired
	if inDoubt {
		ended := failureOf(codesEnded())
		ended.Message += ", or a poll whose answer was lost had claimed them"
		f.Failure = ended
	}
}

// explainGrant says what an invalid_grant means for a person: the code is
// claimed once, so after a lost answer this is how the loss shows.
func explainGrant(c *sdk.Call[Config], refused *sdk.Error, wasInDoubt bool) {
	if wasInDoubt {
		refused.Message += " (the code was already claimed, by an earlier poll whose answer was lost)"
	} else {
		refused.Message += " (the code is not valid, or was already claimed)"
	}
	refused.Hint = "start the login again: device_start, device_wait with restart, or flowrun connections login " + c.ConnectionName()
}

// granted stores the token before anything else, since the code is claimed now
// and then notes it in the flow.
func (p *plugin) granted(c *sdk.Call[Config], f *flow, answer exchange) error {
	received := p.now()
	if problem := answer.tokenProblem(); problem != "" {
		failed := answer.fail(sdk.CodeUnexpectedResponse, "the answer is no token: %s", problem)
		f.State, f.Failure = stateFailed, failureOf(failed)
		return nil
	}
	// without `scope` the server granted what was asked for (RFC 6749 5.1)
	token := answer.tokenOf(received, grant{Asked: f.Asked, Scopes: f.Asked, Flow: f.ID})
	f.InDoubt = true // until the token is stored
	if err := storeToken(c, token); err != nil {
		return err
	}
	f.take(token)
	if answer.RefreshToken == "" {
		c.Log().Warn("the service gave no refresh token: when the access token ends, somebody has to log in again")
	}
	return nil
}

// storeToken hands a new login's token to the host, in the place of any other. A
// failed renewal that it had to wait for is none of its own, so it tries again:
// the code is claimed, and the token must not get lost.
func storeToken(c *sdk.Call[Config], token *sdk.Token) error {
	var err error
	for range 5 {
		ours := false
		_, err = c.Token(sdk.TokenRequest{Force: true, Replace: true, Refresh: func(context.Context, *sdk.Token) (*sdk.Token, error) {
			ours = true
			return token, nil
		}})
		if err == nil || ours || c.Err() != nil {
			break
		}
	}
	return err
}

// take notes a stored token in the flow.
func (f *flow) take(token *sdk.Token) {
	f.State, f.InDoubt = stateGranted, false
	f.Scopes, f.ExpiresAt = grantOf(token.Extra).Scopes, timeOrNil(token.ExpiresAt)
}

// adopt finishes a flow whose token was stored before a crash: the code must not
// be used again.
func (p *plugin) adopt(c *sdk.Call[Config], f *flow) bool {
	stored, err := c.StoredToken()
	if err != nil || grantOf(stored.Extra).Flow != f.ID {
		return false
	}
	f.take(&sdk.Token{Extra: stored.Extra, ExpiresAt: stored.ExpiresAt})
	return true
}

// settle writes what a poll has brought, and when the next is due: the interval
// counts from the answer on.
func (p *plugin) settle(c *sdk.Call[Config], f *flow, problem error) error {
	var failure *sdk.Error
	wait := f.interval()
	if errors.As(problem, &failure) {
		wait = max(wait, failure.RetryAfter)
		if failure.Code == sdk.CodeUnavailable || failure.Code == sdk.CodeRateLimited {
			failure.RetryAfter = wait
		}
	}
	f.NextPoll = p.now().Add(wait)
	if err := p.save(c, f); err != nil && problem == nil && !errors.Is(err, sdk.ErrStateChanged) {
		return err
	}
	return problem
}

// wait is how long until the next poll is due, or the end when that is sooner.
func (f *flow) wait(now time.Time) time.Duration {
	return max(min(f.NextPoll.Sub(now), f.Deadline.Sub(now)), 0)
}

func wholeSeconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

func codeOf(err error) sdk.Code {
	if failure, ok := errors.AsType[*sdk.Error](err); ok {
		return failure.Code
	}
	return sdk.CodeInternal
}

// isUnreadable reports that an answer of success came and could not be read.
func isUnreadable(err error) bool {
	var failure *sdk.Error
	return errors.As(err, &failure) && failure.Code == sdk.CodeUnexpectedResponse && failure.HTTPStatus >= 200 && failure.HTTPStatus < 300
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
