package authsim

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// The decisions of a person on a code.
const (
	undecided = ""
	approved  = "approved"
	denied    = "denied"
)

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// flow is a device authorization on its way.
type flow struct {
	deviceCode, userCode string
	scopes               []string
	created, expires     time.Time
	interval             time.Duration
	lastPoll             time.Time
	decision             string
	claimed              *grant // what the code was used for
}

// random returns n random bytes.
func (s *Sim) random(n int) []byte {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.o.Random, b); err != nil {
		panic(fmt.Sprintf("authsim: read randomness: %v", err)) // a simulator without it is of no use
	}
	return b
}

// Letters of user codes: no vowels, so that no words arise.
const (
	capitals  = "BCDFGHJKLMNPQRSTVWXZ"
	mixedCase = capitals + "bcdfghjkmnpqrstvwxz"
)

// newUserCode returns a code such as GQVQ-JKEC. The form is ours; documented is
// that it is case-sensitive and printable.
func (s *Sim) newUserCode() string {
	letters := capitals
	if s.o.Quirks.MixedCaseCodes {
		letters = mixedCase
	}
	b := s.random(8)
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b[:4]) + "-" + string(b[4:])
}

// form reads the parameters of a request to the authorization server, which takes
// forms only.
func form(w http.ResponseWriter, r *http.Request) bool {
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(mediaType) != "application/x-www-form-urlencoded" {
		refuse(w, http.StatusBadRequest, "invalid_request", "The body must be application/x-www-form-urlencoded.")
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", "The form can't be read.")
		return false
	}
	return true
}

// deviceCode answers A1.
func (s *Sim) deviceCode(w http.ResponseWriter, r *http.Request) {
	if !form(w, r) {
		return
	}
	client, scope := r.PostForm.Get("client_id"), r.PostForm.Get("scope")
	switch {
	case s.o.Quirks.ClientAlways && !s.isClient(r, true):
		refuse(w, http.StatusUnauthorized, "invalid_client", "The client must authenticate.")
		return
	case client != s.o.ClientID:
		refuse(w, http.StatusUnauthorized, "invalid_client", "The OAuth client was not found.")
		return
	case strings.TrimSpace(scope) == "":
		refuse(w, http.StatusBadRequest, "invalid_request", "Missing required parameter: scope")
		return
	case !s.quota.Take(client).OK:
		simkit.WriteJSON(w, http.StatusForbidden, map[string]string{"error_code": "rate_limit_exceeded"})
		return
	}
	f := s.begin(strings.Fields(scope))
	address := "verification_url"
	if s.o.Quirks.VerificationURI {
		address = "verification_uri"
	}
	body := map[string]any{
		"device_code": f.deviceCode, "user_code": f.userCode, address: cmp.Or(s.o.VerificationURL, root(r)+"/device"), "expires_in": int(s.o.ExpiresIn / time.Second),
	}
	if !s.o.Quirks.NoInterval {
		body["interval"] = int(s.o.Interval / time.Second)
	}
	simkit.WriteJSON(w, http.StatusOK, body)
}

// begin makes a pending flow.
func (s *Sim) begin(scopes []string) *flow {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	f := &flow{userCode: s.newUserCode(), scopes: scopes, created: now, expires: now.Add(s.o.ExpiresIn), interval: s.o.Interval}
	f.deviceCode = s.seal(sealed{Kind: "dc", Scopes: scopes, End: f.expires, UserCode: f.userCode})
	s.flows = append(s.flows, f)
	return f
}

// settled applies what happens without a person: an automatic approval.
func (s *Sim) settled(f *flow) string {
	if f.decision == undecided && s.o.AutoApproveAfter > 0 && s.now().Sub(f.created) >= s.o.AutoApproveAfter {
		f.decision = approved
	}
	return f.decision
}

// Approve decides a pending code as a person would who allows it. The error says
// that there is no such code.
func (s *Sim) Approve(userCode string) error { return s.decide(userCode, approved) }

// Deny decides a pending code as a person would who refuses.
func (s *Sim) Deny(userCode string) error { return s.decide(userCode, denied) }

func (s *Sim) decide(userCode, decision string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.pending(userCode)
	if f == nil {
		return fmt.Errorf("no pending login has the code %q", userCode)
	}
	f.decision = decision
	return nil
}

// pending returns the undecided flow of a code; case counts.
func (s *Sim) pending(userCode string) *flow {
	for _, f := range s.flows {
		if f.userCode == userCode && s.settled(f) == undecided && s.now().Before(f.expires) {
			return f
		}
	}
	return nil
}

// Codes returns the user codes that wait for a decision, oldest first.
func (s *Sim) Codes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var codes []string
	for _, f := range s.flows {
		if s.pending(f.userCode) == f {
			codes = append(codes, f.userCode)
		}
	}
	return codes
}

// poll answers A2. The document does not show what an expired code is answered;
// the simulator says expired_token.
func (s *Sim) poll(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flowOf(r.PostForm.Get("device_code"))
	if f == nil {
		refuse(w, http.StatusBadRequest, "invalid_grant", "Malformed device code.")
		return
	}
	now, quirks := s.now(), s.o.Quirks
	tooFast := !f.lastPoll.IsZero() && now.Sub(f.lastPoll) < f.interval
	f.lastPoll = now
	if tooFast {
		f.interval += 5 * time.Second // as RFC 8628 has it
	}
	decision := s.settled(f)
	switch {
	case f.claimed != nil:
		if quirks.CodeReuseRevokes {
			f.claimed.revoked = true
		}
		refuse(w, http.StatusBadRequest, "invalid_grant", "The code was already claimed.")
	case !now.Before(f.expires):
		refuse(w, http.StatusBadRequest, "expired_token", "The code has expired.")
	case tooFast:
		refuse(w, quirks.SlowDownStatus, "slow_down", "Polling too frequently.")
	case decision == denied && !quirks.DenialIsSilent:
		refuse(w, http.StatusForbidden, "access_denied", "The user refused.")
	case decision != approved:
		refuse(w, s.o.PendingStatus, "authorization_pending", "The user has not completed authorization.")
	case quirks.AdminPolicy:
		refuse(w, http.StatusBadRequest, "admin_policy_enforced", "")
	case quirks.OrgInternal:
		refuse(w, http.StatusForbidden, "org_internal", "")
	case quirks.LateClientCheck && !s.isClient(r, true):
		refuse(w, http.StatusUnauthorized, "invalid_client", "The client must authenticate with a Basic header.")
	default:
		f.claimed = s.newGrant(s.granted(f.scopes))
		simkit.WriteJSON(w, http.StatusOK, s.tokens(f.claimed, true))
	}
}

// flowOf returns the flow of a device code, nil for none. One of an earlier life
// of the simulator is pending again.
func (s *Sim) flowOf(deviceCode string) *flow {
	for _, f := range s.flows {
		if f.deviceCode == deviceCode {
			return f
		}
	}
	content, ok := s.open("dc", deviceCode)
	if !ok || s.wasCleared {
		return nil
	}
	f := &flow{
		deviceCode: deviceCode, userCode: content.UserCode, scopes: content.Scopes,
		created: content.End.Add(-s.o.ExpiresIn), expires: content.End, interval: s.o.Interval,
	}
	s.flows = append(s.flows, f)
	return f
}
