package pluginhost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// callTokens is which token one Execute has used, and which it must not get.
// Two calls of one connection may have different ones while a token is renewed.
type callTokens struct {
	number uint64     // names the call, once for the process
	blobs  *callBlobs // nil = it has none

	mu       sync.Mutex
	given    string  // id of the token that it has got last
	rejected string  // id of the token that the service refused to the attempt before
	over     *excess // the first quota of the state that it broke
}

func (c *callTokens) gave(id string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given = id
}

func (c *callTokens) state() (given, rejected string) {
	if c == nil {
		return "", ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.given, c.rejected
}

// beginCall gives a call a name until endCall.
func (p *process) beginCall(rejected string, blobs *callBlobs) *callTokens {
	p.linking.Lock()
	defer p.linking.Unlock()
	p.callCount++
	c := &callTokens{number: p.callCount, rejected: rejected, blobs: blobs}
	p.calls[c.number] = c
	return c
}

// name names the call to the plugin in the metadata of a call by Execute.
func (c *callTokens) name(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, handshake.CallKey, strconv.FormatUint(c.number, 10))
}

func (p *process) endCall(c *callTokens) {
	p.linking.Lock()
	defer p.linking.Unlock()
	delete(p.calls, c.number)
}

// callOf finds the call that a plugin names in its metadata; nil when it names
// none, as an SDK may.
func (p *process) callOf(ctx context.Context) *callTokens {
	named := metadata.ValueFromIncomingContext(ctx, handshake.CallKey)
	if len(named) != 1 {
		return nil
	}
	number, err := strconv.ParseUint(named[0], 10, 64)
	if err != nil {
		return nil
	}
	p.linking.Lock()
	defer p.linking.Unlock()
	return p.calls[number]
}

// refusedToken returns the id of the token that the service has just refused to
// a call; "" when its token is none of the host's, so that there is nothing to
// renew.
func (p *process) refusedToken(c *callTokens, connection string) string {
	if given, _ := c.state(); given != "" {
		return given
	}
	return p.link(connection).reject()
}

// defaultOwnerTimeout bounds the call of a token action that names no timeout.
const defaultOwnerTimeout = time.Minute

// ownerToken asks the plugin of another connection for an access token, by its
// token action (token_from). The token does not touch the disk here: it is the
// owner's to keep.
func (h *Host) ownerToken(ctx context.Context, owner Connection, r TokenRequest) (*secret.Token, *runs.Error) {
	u, c, err := h.contract(ctx, owner.Plugin, "")
	if err != nil {
		return nil, h.failureOf(ctx, err)
	}
	if c.TokenAction == "" {
		return nil, invalid("", "connection %q can't give a token: plugin %s has no token action", owner.Name, owner.Plugin)
	}
	a, failure := u.action(ctx, c, c.TokenAction)
	if failure != nil {
		return nil, failure
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.DefaultTimeout, defaultOwnerTimeout))
	defer cancel()
	e := &execution{
		unit: u, contract: c, action: a, clear: true, rejected: r.Reject, input: ownerInput(a, r.MinTTL),
		req: runs.Request{Action: a.FullName(), Connection: owner.Name, Step: "token_from", Operation: "token_from", Attempt: 1},
	}
	answer, used, _ := u.callOnce(ctx, e, owner)
	if answer.Failed != nil {
		return nil, h.dress(answer.Failed, e.req)
	}
	if answer.Completed == nil {
		return nil, runs.Failure(plan.KindUnexpectedResponse, runs.NotApplied, "%s is not done: a token action must answer at once", a.FullName())
	}
	return ownerAnswer(a, answer.Completed.Output, used)
}

// ownerInput asks for a time that the token must be good for, where the action
// can be asked so.
func ownerInput(a *actionContract, minTTL time.Duration) clearDocument {
	field, ok := a.input.Field("min_ttl_s")
	if minTTL <= 0 || !ok || field.Kind != schema.Int {
		return clearDocument{json: json.RawMessage("{}")}
	}
	seconds := min(int64(math.Ceil(minTTL.Seconds())), math.MaxInt32)
	return clearDocument{json: json.RawMessage(fmt.Sprintf(`{"min_ttl_s":%d}`, seconds))}
}

// ownerAnswer reads the output of a token action: `token` or `access_token`,
// and `token_type` and `expires_at` where they are known.
func ownerAnswer(a *actionContract, output json.RawMessage, used string) (*secret.Token, *runs.Error) {
	var fields struct {
		Token       string    `json:"token"`
		AccessToken string    `json:"access_token"`
		TokenType   string    `json:"token_type"`
		ExpiresAt   time.Time `json:"expires_at"`
	}
	err := json.Unmarshal(output, &fields)
	fields.Token = cmp.Or(fields.Token, fields.AccessToken)
	if err != nil || fields.Token == "" {
		return nil, runs.Failure(plan.KindUnexpectedResponse, runs.NotApplied, "the output of %s has no token in `token` or `access_token`", a.FullName())
	}
	if used == "" {
		sum := sha256.Sum256([]byte(fields.Token))
		used = hex.EncodeToString(sum[:8])
	}
	return &secret.Token{ID: used, AccessToken: fields.Token, TokenType: fields.TokenType, ExpiresAt: fields.ExpiresAt}, nil
}

// failed answers a plugin: a failure that it should pass on travels whole, of
// all others it hears only what failed.
func (s *services) failed(doing string, err error) error {
	var failure *runs.Error
	if !errors.As(err, &failure) {
		return s.internal(doing, err)
	}
	state, detailErr := status.New(codes.FailedPrecondition, failure.Message).WithDetails(wireError(failure))
	if detailErr != nil {
		return s.internal(doing, detailErr)
	}
	return state.Err()
}

// peek tells what is known of a token without using it.
func (s *services) peek(ctx context.Context, request TokenRequest) (*pluginv1.AcquireTokenResponse, error) {
	stored, err := s.process.unit.host.options.Tokens.Stored(ctx, request)
	if err != nil {
		return nil, s.failed("look at the token", err)
	}
	return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Stored{Stored: wireStored(stored)}}, nil
}
