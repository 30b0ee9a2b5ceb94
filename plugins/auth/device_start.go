package auth

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// StartInput is the input of device_start.
type StartInput struct {
	Scopes []string `json:"scopes" min:"1" doc:"What to ask for, in this order; case counts."`
}

// StartOutput is what the person with the second device needs.
type StartOutput struct {
	FlowID                 string    `json:"flow_id" doc:"Names the login in device_poll and device_wait; not a secret."`
	UserCode               string    `json:"user_code" doc:"To be typed exactly as it stands."`
	VerificationURL        string    `json:"verification_url" doc:"Where to type it, as the service gives it."`
	VerificationURLDisplay string    `json:"verification_url_display" doc:"The same without its scheme, for small displays."`
	ExpiresAt              time.Time `json:"expires_at" doc:"When code and address end."`
	IntervalS              int64     `json:"interval_s" doc:"Seconds between two polls."`
}

func startProblems(in StartInput, unknown []string) []sdk.Problem {
	var problems []sdk.Problem
	for i, scope := range in.Scopes {
		pointer := sdk.Pointer("scopes", i)
		if problem := scopeProblem(scope); problem != "" && !sdk.IsUnknown(unknown, pointer) {
			problems = append(problems, sdk.Problemf(pointer, "a scope %s", problem))
		}
	}
	return problems
}

// deviceStart is action auth.device_start (A1). The flow is stored before anybody
// sees its code; the same call again finds it, so that a crash makes no
// second prompt.
func (p *plugin) deviceStart(c *sdk.Call[Config], in StartInput) (StartOutput, error) {
	f, err := p.start(c, in.Scopes, c.Run.IdempotencyKey)
	if err != nil {
		return StartOutput{}, err
	}
	return StartOutput{
		FlowID: f.ID, UserCode: f.UserCode, VerificationURL: f.VerificationURL, VerificationURLDisplay: withoutScheme(f.VerificationURL),
		ExpiresAt: f.Deadline, IntervalS: f.IntervalS,
	}, nil
}

// start returns the pending flow of a key, or a new one. An empty key is never
// found again.
func (p *plugin) start(c *sdk.Call[Config], scopes []string, key string) (*flow, error) {
	if err := startable(c); err != nil {
		return nil, err
	}
	known, version, err := p.findStart(c, key, scopes)
	if err != nil || known != nil {
		return known, err
	}
	p.warnOfLogin(c, scopes)
	asked := p.now()
	answer, err := p.authorize(c, scopes)
	if err != nil {
		return nil, err
	}
	f, err := p.newFlow(answer, asked, scopes, key)
	if err != nil {
		return nil, err
	}
	if err := p.save(c, f); err != nil {
		return nil, err
	}
	if key != "" {
		// the flow stands already; without this entry the next call only makes a new one
		_, err = c.State().Put(startKey(key, scopes), []byte(f.ID), version, f.Deadline.Sub(p.now())+keepFlow)
	}
	if err != nil && !errors.Is(err, sdk.ErrStateChanged) {
		return nil, err
	}
	return f, nil
}

// startable refuses a login that could not be finished: A1 needs the client's id
// and the polls that follow its secret.
func startable(c *sdk.Call[Config]) error {
	switch {
	case c.Config.ClientID == "":
		return lacks(c, "client_id", "the device grant needs a client")
	case c.Config.ClientSecret == "" && c.Config.ClientAuth != "none":
		return lacks(c, "client_secret", "the device grant needs it; for a client without one set client_auth to none")
	}
	return nil
}

// findStart looks for the pending flow of an earlier call; version is that of
// its entry.
func (p *plugin) findStart(c *sdk.Call[Config], key string, scopes []string) (*flow, uint64, error) {
	if key == "" {
		return nil, 0, nil
	}
	entry, err := c.State().Get(startKey(key, scopes))
	if err != nil || entry.Version == 0 {
		return nil, 0, err
	}
	f, err := loadFlow(c, string(entry.Value))
	if err != nil || f == nil || f.State != statePending || !p.now().Before(f.Deadline) {
		return nil, entry.Version, err
	}
	return f, entry.Version, nil
}

// warnOfLogin says that there is a login already: each new one counts in the
// service's limit, beyond which older ones silently stop working.
func (p *plugin) warnOfLogin(c *sdk.Call[Config], scopes []string) {
	stored, err := c.StoredToken()
	if err != nil || !stored.Renewable || len(missingScopes(scopes, grantOf(stored.Extra).Scopes)) > 0 {
		return
	}
	c.Log().Warn("the connection has a login with these scopes; each new one counts in the service's limit of refresh tokens")
}

// authorize sends A1.
func (p *plugin) authorize(c *sdk.Call[Config], scopes []string) (oauthAnswer, error) {
	door, err := p.doorOf(c, deviceEndpoint)
	if err != nil {
		return oauthAnswer{}, err
	}
	form := url.Values{"client_id": {c.Config.ClientID}, "scope": {strings.Join(scopes, " ")}} // the id is required in each case
	answer, err := p.post(c, door, form)
	if err != nil {
		return oauthAnswer{}, err
	}
	if !answer.fine() {
		return oauthAnswer{}, answer.refusal(c)
	}
	if problem := answer.deviceProblem(); problem != "" {
		return oauthAnswer{}, answer.fail(sdk.CodeUnexpectedResponse, "the answer is no device authorization: %s", problem)
	}
	return answer.oauthAnswer, nil
}

// newFlow makes the flow of an answer that was received just now.
func (p *plugin) newFlow(a oauthAnswer, asked time.Time, scopes []string, key string) (*flow, error) {
	id, err := p.newFlowID()
	if err != nil {
		return nil, err
	}
	now, interval := p.now().UTC(), a.interval()
	return &flow{
		ID: id, State: statePending, DeviceCode: a.DeviceCode, UserCode: a.UserCode, VerificationURL: a.VerificationURL,
		IntervalS: int64(interval / time.Second), Deadline: now.Add(a.codeTTL()).Truncate(time.Second), Ends: asked.Add(a.codeTTL()).UTC(), NextPoll: now.Add(interval), Asked: scopes, Key: key,
	}, nil
}
