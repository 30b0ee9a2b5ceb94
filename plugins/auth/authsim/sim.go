// Package authsim simulates an authorization server with the device grant, the
// management and SCIM APIs, and one protected resource: one handler for each
// documented endpoint, with the documented errors, and a page where a person
// approves or refuses a code.
//
// The management data is invented and deterministic; codes and tokens are random.
// What the service's document leaves open is decided here and marked as such in
// the comments; nothing may be learned from it about a real service. The quirks
// are those of other servers of the same standards.
package authsim

import (
	"cmp"
	"crypto/rand"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// Credentials that the simulator takes where Options name none.
const (
	DefaultClientID     = "sandbox-device"
	DefaultClientSecret = "sandbox-device-secret"
	DefaultAPIKey       = "sandbox-api-key"
	DefaultSCIMToken    = "sandbox-scim-token"
)

// Options of the simulator. The zero value is the documented service.
type Options struct {
	Now     func() time.Time // nil = the real clock
	Random  io.Reader        // codes and tokens; nil = crypto/rand
	Latency time.Duration    // added to every answer

	ClientID, ClientSecret string // "" = the defaults
	APIKey, SCIMToken      string // "" = the defaults

	Interval         time.Duration // between polls; 0 = 5 s
	ExpiresIn        time.Duration // of the codes; 0 = 30 min
	AccessTTL        time.Duration // of access tokens; 0 = 1 h
	RefreshTTL       time.Duration // time-based access; 0 = no end is named
	Grants           []string      // the most that is granted; nil = what was asked for
	AutoApproveAfter time.Duration // approves each code by itself; 0 = a person does
	VerificationURL  string        // shown to the person; "" = /device of the address that the client used
	Rotate           bool          // each refresh gives a new refresh token; one that is used twice ends the grant
	PendingStatus    int           // of authorization_pending; 0 = 428, elsewhere 400

	// Requests in a Window: device authorizations of one client (403
	// rate_limit_exceeded), and reads of one caller (429, ours). 0 = no limit.
	Requests int
	Window   time.Duration // 0 = one minute

	Metadata map[string]any // more members of the discovery documents, such as token_endpoint_auth_methods_supported

	Quirks Quirks
}

// Quirks are what other servers of the same standards do differently.
type Quirks struct {
	SlowDownStatus  int    // of slow_down; 0 = 403, elsewhere 400
	VerificationURI bool   // names the address verification_uri
	NoInterval      bool   // leaves interval out
	NoScope         bool   // leaves scope out
	NoRefreshToken  bool   // gives none
	TokenType       string // "" = Bearer; elsewhere bearer
	MixedCaseCodes  bool   // user codes of small and capital letters

	CodeReuseRevokes   bool // a device code that is used twice ends the grant
	AdminPolicy        bool // an approved code is answered with admin_policy_enforced
	OrgInternal        bool // an approved code is answered with org_internal
	DenialIsSilent     bool // a refusal never reaches the device: it stays pending
	BasicAuth          bool // wants the client's secret in a Basic header
	BodyAuth           bool // wants the client's secret in the form, and refuses a Basic header
	ClientAlways       bool // the device and the revocation endpoint authenticate the client too (RFC 8628 3.1, RFC 7009 2.1)
	LateClientCheck    bool // refuses a secret in the form only after approval
	RevokeInBodyOnly   bool // answers 200 to a token in the query and revokes nothing
	RevokeUnknownIsOK  bool // answers 200 to a token that it does not know
	SCIMIgnoresStart   bool // each page is the first one
	SCIMDropsIndex     bool // leaves startIndex out of its pages
	DiscoveryIsMissing bool // has no /.well-known/openid-configuration, only that of RFC 8414
}

// Sim is the simulator. Its methods are safe for concurrent use.
type Sim struct {
	simkit.Service
	o     Options
	now   func() time.Time
	quota *simkit.Window // of A1, by client
	reads *simkit.Window // of management and SCIM, by caller

	mu         sync.Mutex
	flows      []*flow
	grants     []*grant
	wasCleared bool // by a reset: what was given out before is not known any more
}

// New returns a simulator; it serves at the root of a host. The management and
// SCIM APIs answer only over TLS, see [Certificate].
func New(o Options) *Sim {
	o.fill()
	s := &Sim{o: o, now: simkit.Clock(o.Now)}
	s.quota = simkit.NewWindow(o.Requests, o.Window, s.now)
	s.reads = simkit.NewWindow(o.Requests, o.Window, s.now)
	s.Service = simkit.NewService(simkit.Options{Now: s.now, Latency: o.Latency, Reset: s.reset}, s.routes())
	return s
}

func (o *Options) fill() {
	o.ClientID = cmp.Or(o.ClientID, DefaultClientID)
	o.ClientSecret = cmp.Or(o.ClientSecret, DefaultClientSecret)
	o.APIKey = cmp.Or(o.APIKey, DefaultAPIKey)
	o.SCIMToken = cmp.Or(o.SCIMToken, DefaultSCIMToken)
	o.Quirks.TokenType = cmp.Or(o.Quirks.TokenType, "Bearer")
	o.Interval = cmp.Or(o.Interval, 5*time.Second)
	o.ExpiresIn = cmp.Or(o.ExpiresIn, 30*time.Minute)
	o.AccessTTL = cmp.Or(o.AccessTTL, time.Hour)
	o.Window = cmp.Or(o.Window, time.Minute)
	o.PendingStatus = cmp.Or(o.PendingStatus, http.StatusPreconditionRequired)
	o.Quirks.SlowDownStatus = cmp.Or(o.Quirks.SlowDownStatus, http.StatusForbidden)
	if o.Random == nil {
		o.Random = rand.Reader
	}
}

// reset forgets logins and tokens.
func (s *Sim) reset() {
	s.quota.Reset()
	s.reads.Reset()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flows, s.grants, s.wasCleared = nil, nil, true
}

func (s *Sim) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /device/code", s.deviceCode)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	mux.HandleFunc("GET /.well-known/openid-configuration", s.openID)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("GET /api/v1/deployments", s.managed(s.deployments))
	mux.HandleFunc("GET /api/scim/v2/Users", s.managed(s.users))
	mux.HandleFunc("GET /resource/me", s.resource)
	mux.Handle("/device", s.page())
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		simkit.WriteJSON(w, http.StatusNotFound, map[string]string{"error": "not_found"})
	})
	return mux
}

// refuse answers with the error body of the authorization server.
func refuse(w http.ResponseWriter, status int, word, description string) {
	body := map[string]string{"error": word}
	if description != "" {
		body["error_description"] = description
	}
	simkit.WriteJSON(w, status, body)
}

// root is the address that a client used for the simulator.
func root(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}
