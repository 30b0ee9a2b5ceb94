package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// The states of a flow.
const (
	statePending = "pending"
	stateGranted = "granted"
	stateDenied  = "denied"
	stateExpired = "expired"
	stateFailed  = "failed" // ended by an error, which is kept in it
)

// keepFlow is how long a flow is remembered after its codes ran out, so that a
// late poll learns how it ended.
const keepFlow = 24 * time.Hour

// flow is a login on its way, as it is stored in the host, sealed.
type flow struct {
	ID              string    `json:"id"`
	State           string    `json:"state"`
	DeviceCode      string    `json:"device_code,omitempty"` // secret; gone when the flow has ended
	UserCode        string    `json:"user_code"`
	VerificationURL string    `json:"verification_url"`
	IntervalS       int64     `json:"interval_s"`
	Deadline        time.Time `json:"deadline"`
	Ends            time.Time `json:"ends,omitzero"` // the codes' end at the earliest: counted from before they were asked for
	NextPoll        time.Time `json:"next_poll"`
	Asked           []string  `json:"asked"`
	Key             string    `json:"key,omitempty"` // of the call that started it

	InDoubt bool `json:"in_doubt,omitempty"` // a poll was sent whose answer is not known
	Garbled bool `json:"garbled,omitempty"`  // the last answer could not be read
	Foreign int  `json:"foreign,omitempty"`  // how many answers in a row were no authorization server's

	Scopes    []string   `json:"scopes,omitempty"`     // granted
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // of the access token, when granted
	Failure   *failure   `json:"failure,omitempty"`    // why it failed or expired

	version       uint64 // in the host's state
	garbledBefore bool   // the answer before the last one was unreadable too
}

// failure is how a flow ended, to say it again.
type failure struct {
	Code    sdk.Code `json:"code"`
	Reason  string   `json:"reason,omitempty"`
	Message string   `json:"message"`
	Hint    string   `json:"hint,omitempty"`
	Status  int      `json:"status,omitempty"`
}

// interval is the least time between two polls.
func (f *flow) interval() time.Duration { return time.Duration(f.IntervalS) * time.Second }

// mayHaveEnded reports that the service's own clock may say that the codes' time
// is over.
func (f *flow) mayHaveEnded(now time.Time) bool {
	return !now.Before(f.Deadline) || !f.Ends.IsZero() && !now.Before(f.Ends)
}

func (f *failure) error() *sdk.Error {
	return &sdk.Error{Code: f.Code, Reason: f.Reason, Message: f.Message, Hint: f.Hint, HTTPStatus: f.Status, Applied: sdk.NotApplied}
}

func failureOf(e *sdk.Error) *failure {
	return &failure{Code: e.Code, Reason: e.Reason, Message: e.Message, Hint: e.Hint, Status: e.HTTPStatus}
}

func flowKey(id string) string { return "flow/" + id }

// startKey is where the flow of one start is found again: the same step of the
// same run with the same scopes.
func startKey(idempotencyKey string, scopes []string) string {
	sum := sha256.Sum256([]byte(idempotencyKey + "\x00" + strings.Join(scopes, " ")))
	return "start/" + hex.EncodeToString(sum[:16])
}

// newFlowID makes the name of a flow, which tells nothing about its codes.
func (p *plugin) newFlowID() (string, error) {
	var random [16]byte
	if _, err := io.ReadFull(p.random, random[:]); err != nil {
		return "", fmt.Errorf("make the name of a login: %w", err)
	}
	return hex.EncodeToString(random[:]), nil
}

// loadFlow reads a flow; nil when there is none of this name.
func loadFlow(c *sdk.Call[Config], id string) (*flow, error) {
	entry, err := c.State().Get(flowKey(id))
	if err != nil || entry.Version == 0 {
		return nil, err
	}
	var f flow
	if err := json.Unmarshal(entry.Value, &f); err != nil {
		return nil, sdk.Errorf(sdk.CodeInternal, "the stored login %s can't be read", id)
	}
	f.version = entry.Version
	return &f, nil
}

// save writes the flow over the version that was read. sdk.ErrStateChanged says
// that another call was faster.
func (p *plugin) save(c *sdk.Call[Config], f *flow) error {
	if f.State != statePending {
		f.DeviceCode = "" // of no use any more
	}
	encoded, err := json.Marshal(f)
	if err != nil {
		return sdk.Errorf(sdk.CodeInternal, "encode the login: %w", err)
	}
	version, err := c.State().Put(flowKey(f.ID), encoded, f.version, max(f.Deadline.Sub(p.now()), 0)+keepFlow)
	if err != nil {
		return err
	}
	f.version = version
	return nil
}
