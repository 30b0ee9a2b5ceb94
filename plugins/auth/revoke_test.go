package auth

import (
	"net/http"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// revocations answers at a revocation endpoint by the kind of the token, and notes
// the kinds.
type revocations struct {
	access, refresh given
	asked           []string
}

type given struct {
	status int
	body   string
}

// TestIssue12_08_ALogoutEndsBothTokens at a server of RFC 7009, which may know the
// access token alone by it.
func TestIssue12_08_ALogoutEndsBothTokens(t *testing.T) {
	fine := given{200, ""}
	unsupported := given{400, `{"error":"unsupported_token_type"}`}
	gone := given{400, `{"error":"invalid_token"}`}
	for name, tt := range map[string]struct {
		access, refresh given
		which           string
		asked           string
		fails           sdk.Code // 0 = revoked
		warns           string
	}{
		"both":                                {fine, fine, "access", "access_token refresh_token", 0, ""},
		"the refresh token first":             {fine, fine, "refresh", "refresh_token access_token", 0, ""},
		"refresh tokens alone":                {unsupported, fine, "access", "access_token refresh_token", 0, "access token"},
		"refresh tokens alone, by name":       {unsupported, fine, "refresh", "refresh_token access_token", 0, "access token"},
		"access tokens alone":                 {fine, unsupported, "access", "access_token refresh_token", 0, "refresh token"},
		"neither":                             {unsupported, unsupported, "access", "access_token refresh_token", sdk.CodeInvalid, ""},
		"one takes the other with it":         {fine, gone, "access", "access_token refresh_token", 0, ""},
		"refused":                             {gone, fine, "access", "access_token", sdk.CodeInvalid, ""},
		"the second is refused by a proxy":    {fine, given{403, "<html>no</html>"}, "access", "access_token refresh_token", sdk.CodeUnexpectedResponse, ""},
		"the second meets the server's fault": {fine, given{503, ""}, "access", "access_token refresh_token", sdk.CodeUnavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, authsim.Options{Metadata: in{}, Quirks: authsim.Quirks{BasicAuth: true}}, in{"issuer": "{url}"})
			w.login()
			other := &revocations{access: tt.access, refresh: tt.refresh}
			w.mu.Lock()
			w.override = other.ServeHTTP
			w.mu.Unlock()
			r := w.Call("revoke", in{"which": tt.which})
			if asked := strings.Join(other.asked, " "); asked != tt.asked {
				t.Errorf("asked for %s, want %s", asked, tt.asked)
			}
			if tt.fails != 0 {
				if r.Err == nil || r.Err.Code != tt.fails || !w.hasToken() {
					t.Errorf("got %+v, stored %v", r.Err, w.stored())
				}
				return
			}
			if out := output(t, r); out["revoked"] != true || w.hasToken() {
				t.Errorf("got %v, stored %v", out, w.stored())
			}
			if said := logged(r); (tt.warns != "") != strings.Contains(said, "can't revoke") || !strings.Contains(said, tt.warns) {
				t.Errorf("logged %q", said)
			}
		})
	}
}

func (s *revocations) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := r.PostFormValue("token_type_hint")
	s.asked = append(s.asked, kind)
	answer := map[string]given{"access_token": s.access, "refresh_token": s.refresh}[kind]
	w.WriteHeader(answer.status)
	_, _ = w.Write([]byte(answer.body))
}

func logged(r sdktest.Result) string {
	var lines []string
	for _, line := range r.Logs {
		lines = append(lines, line.Message)
	}
	return strings.Join(lines, "\n")
}
