// Package auth is the plugin of an authorization server's device grant: a login
// on a second device, its tokens, their renewal and revocation, and reads with
// them: any allowed resource, the deployments of the management API and the users
// of the SCIM API.
//
// Row ids (A-01 ...) are those of the requirements, see docs/services/coverage.md.
// What the service's document leaves open and is decided here is listed in
// docs/services/auth.md.
package auth

import (
	"crypto/rand"
	"io"
	"sync"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// Options are what the plugin takes from outside.
type Options struct {
	Now    func() time.Time // clock of deadlines and expiry times; nil = the real one
	Random io.Reader        // names of flows; nil = crypto/rand. Read by concurrent calls
}

// plugin is what all actions share. Safe for concurrent use.
type plugin struct {
	now    func() time.Time
	random io.Reader

	// for as long as the process lives
	issuers sync.Map // issuer -> *issuerMetadata, what it says of itself
	methods sync.Map // rememberedKey -> the way to authenticate that the endpoint took
}

// New returns the plugin with the real clock.
func New() *sdk.Plugin { return NewWith(Options{}) }

// NewWith returns the plugin with what a test passes in.
func NewWith(o Options) *sdk.Plugin {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	p := &plugin{now: o.Now, random: o.Random}
	parts := []sdk.Part{
		sdk.ValidateConfig(checkConfig),
		sdk.HostsFrom(func(c Config) []string {
			return []string{c.AuthURL, c.ManagementURL, c.DeviceAuthorizationEndpoint, c.TokenEndpoint, c.RevocationEndpoint}
		}),
		sdk.CheckConnection(p.checkConnection),
		sdk.TokenAction("token"),
		sdk.Login{Start: "device_start", Wait: "device_wait", Status: "status", Revoke: "revoke", Scopes: []string{"openid", "email", "profile"}},
		sdk.UsesState(),
	}
	parts = append(parts, p.deviceActions()...)
	parts = append(parts, p.tokenActions()...)
	parts = append(parts, p.readActions()...)
	return sdk.New("auth", Version, "Device login, tokens, and reads with them: any allowed resource, deployments and SCIM users.", parts...)
}

// deviceActions are the login (A1 and A2).
func (p *plugin) deviceActions() []sdk.Part {
	flow := map[string]any{"flow_id": "5f0c3b1e9a7d48c26b1f0e8d7c6a5b43"}
	return []sdk.Part{
		sdk.Idempotent("device_start", "Begin a login: a code and an address for a person with a second device.", p.deviceStart,
			options(sdk.ValidateWith(startProblems),
				sdk.Fault(sdk.CodeRateLimited, "rate_limit_exceeded", "The quota of the client is used up (403); back off."),
				sdk.Fault(sdk.CodeInvalid, "invalid_client", "The client is not known, or of the wrong type."),
				sdk.Example("a login", map[string]any{"scopes": []string{"openid", "email"}}, sdk.Value(startOutput)))...),
		sdk.Idempotent("device_poll", "Ask once whether the person has decided. Too early, it answers pending and sends nothing.", p.devicePoll,
			options(append(pollFaults(), sdk.Example("one poll", flow, sdk.Value(pollOutput)))...)...),
		sdk.Idempotent("device_wait", "Wait until the person has decided; the token is then stored for the connection.", p.deviceWait,
			options(append(pollFaults(),
				sdk.Timeout(24*time.Hour), // the flow has its own end; the step's timeout bounds all of it
				sdk.Fault(sdk.CodeDenied, "access_denied", "The person refused."),
				sdk.Fault(sdk.CodeExpired, "", "The codes ran out, and no restart is left."),
				sdk.Example("wait", flow, sdk.Value(waitOutput)),
				sdk.Example("with up to two new codes", map[string]any{"flow_id": flow["flow_id"], "restart": 2}, sdk.Value(waitOutput)))...)...),
	}
}

func pollFaults() []sdk.ActionOption {
	return []sdk.ActionOption{
		sdk.Fault(sdk.CodeForbidden, "admin_policy_enforced", "The account's administrator does not allow a scope."),
		sdk.Fault(sdk.CodeForbidden, "org_internal", "The client is for accounts of one organization."),
		sdk.Fault(sdk.CodeInvalid, "invalid_client", "The client is not known, of the wrong type, or its secret is wrong."),
		sdk.Fault(sdk.CodeInvalid, "invalid_grant", "The code is not valid or was claimed already: start the login again."),
	}
}

// tokenActions work with the stored token (A3 and A4).
func (p *plugin) tokenActions() []sdk.Part {
	login := sdk.Fault(sdk.CodeAuthRequired, "", "Nobody has logged in, or the grant is gone.")
	return []sdk.Part{
		sdk.Read("token", "A valid access token of the connection, renewed where it must be.", p.token,
			options(login, sdk.Example("a token for the next minute", map[string]any{}, sdk.Value(storedTokenOutput)),
				sdk.Example("a token for an hour", map[string]any{"min_ttl_s": 3600}, sdk.Value(renewedTokenOutput)))...),
		sdk.Idempotent("refresh", "Renew the access token now.", p.refresh, options(login, sdk.Example("renew", sdk.NoInput{}, sdk.Value(refreshOutput)))...),
		sdk.Idempotent("revoke", "Give the login back: the service and the store forget it.", p.revoke,
			options(sdk.Fault(sdk.CodeInvalid, "", "The service does not revoke it (400); it may be revoked already."),
				sdk.Example("log out", map[string]any{}, sdk.Value(revokeOutput)),
				sdk.Example("log out, and forget whatever the service says", map[string]any{"which": "refresh", "forget": true}, sdk.Value(revokeOutput)))...),
		sdk.Read("status", "What is known of the stored token. Sends nothing.", p.status, options(sdk.Example("look", sdk.NoInput{}, sdk.Value(statusOutput)))...),
	}
}

// readActions are reads with a credential (resources, M1 and M2).
func (p *plugin) readActions() []sdk.Part {
	refused := sdk.Fault(sdk.CodeUnauthorized, "", "The credential is missing, malformed or expired (401).")
	return []sdk.Part{
		sdk.Read("resource_get", "Read any resource of an allowed host with the access token.", p.resourceGet,
			options(refused, sdk.ValidateWith(resourceProblems),
				sdk.Fault(sdk.CodeAuthRequired, "", "Nobody has logged in, or the grant is gone."),
				sdk.Example("a profile", map[string]any{"url": "https://api.example.com/me"}, sdk.Value(resourceOutput)))...),
		sdk.Read("deployments_list", "Deployments of the management API.", p.deploymentsList,
			options(refused, sdk.Example("with the API key", map[string]any{"credential": "api_key"}, sdk.Value(deploymentsOutput)),
				sdk.Example("with the login", map[string]any{"credential": "oauth"}, sdk.Value(deploymentsOutput)))...),
		sdk.Read("scim_users_list", "Users of the SCIM API, one page.", p.scimUsersList,
			options(refused, sdk.Paged("start_index", "users", "next_cursor"), sdk.ItemsNamedBy("id"),
				sdk.Example("the first page", map[string]any{}, sdk.Value(firstUsersOutput)),
				sdk.Example("fifty from the hundredth on", map[string]any{"count": 50, "start_index": 101}, sdk.Value(laterUsersOutput)))...),
	}
}

// options adds to an action's options what all of them have.
func options(own ...sdk.ActionOption) []sdk.ActionOption {
	common := []sdk.ActionOption{
		sdk.Timeout(30 * time.Second),
		sdk.Fault(sdk.CodeInvalid, "", "An input or a setting is wrong or missing; found before anything is sent."),
		sdk.Fault(sdk.CodeUnavailable, "", "No connection, or the service failed (5xx)."),
		sdk.Fault(sdk.CodeUnexpectedResponse, "", "The answer is no JSON, cut short or of another shape."),
	}
	return append(common, own...)
}
