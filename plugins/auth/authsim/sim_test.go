package authsim

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// place is a simulator over TLS with a client that trusts it.
type place struct {
	*Sim
	t      *testing.T
	url    string
	client *http.Client

	mu sync.Mutex
	at time.Time
}

func (p *place) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

func (p *place) pass(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = p.at.Add(d)
}

func start(t *testing.T, o Options) *place {
	t.Helper()
	p := &place{t: t, at: time.Date(2031, 5, 7, 12, 0, 0, 0, time.UTC)}
	o.Now = p.now
	p.Sim = New(o)
	certificate, ca, err := Certificate(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(p.Sim)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("the authority is no PEM")
	}
	p.url = srv.URL
	p.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(p.client.CloseIdleConnections)
	return p
}

// send returns status and body of an exchange; a form makes it a POST.
func (p *place) send(path string, form url.Values, header ...string) (int, string) {
	p.t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	request, err := http.NewRequest(method, p.url+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := p.client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// object returns the body of an answer of this status.
func (p *place) object(want int, path string, form url.Values, header ...string) map[string]any {
	p.t.Helper()
	status, text := p.send(path, form, header...)
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil || status != want {
		p.t.Fatalf("%s: %d %s, want %d: %v", path, status, text, want, err)
	}
	return object
}

func client() url.Values {
	return url.Values{"client_id": {DefaultClientID}, "client_secret": {DefaultClientSecret}}
}

func (p *place) begin() map[string]any {
	p.t.Helper()
	return p.object(200, "/device/code", url.Values{"client_id": {DefaultClientID}, "scope": {"openid email"}})
}

func (p *place) pollForm(flow map[string]any) url.Values {
	form := client()
	form.Set("grant_type", deviceGrant)
	form.Set("device_code", flow["device_code"].(string))
	return form
}

// login returns the answer of a granted poll.
func (p *place) login() map[string]any {
	p.t.Helper()
	flow := p.begin()
	if err := p.Approve(flow["user_code"].(string)); err != nil {
		p.t.Fatal(err)
	}
	return p.object(200, "/token", p.pollForm(flow))
}

func refreshForm(token any) url.Values {
	return url.Values{"client_id": {DefaultClientID}, "grant_type": {"refresh_token"}, "refresh_token": {token.(string)}}
}

func TestDeviceGrant(t *testing.T) {
	p := start(t, Options{})
	flow := p.begin()
	if !regexp.MustCompile(`^[A-Z]{4}-[A-Z]{4}$`).MatchString(flow["user_code"].(string)) || flow["verification_url"] != p.url+"/device" ||
		flow["interval"] != 5.0 || flow["expires_in"] != 1800.0 {
		t.Errorf("flow %v", flow)
	}
	steps := []struct {
		pass   time.Duration
		status int
		word   string
	}{
		{0, 428, "authorization_pending"}, {time.Second, 403, "slow_down"}, {9 * time.Second, 403, "slow_down"}, {15 * time.Second, 428, "authorization_pending"},
	}
	for i, step := range steps {
		p.pass(step.pass)
		if got := p.object(step.status, "/token", p.pollForm(flow)); got["error"] != step.word {
			t.Errorf("step %d: %v", i, got)
		}
	}
	if err := p.Approve(strings.ToLower(flow["user_code"].(string))); err == nil {
		t.Error("the case of a code does not count")
	}
	if err := p.Approve(flow["user_code"].(string)); err != nil {
		t.Fatal(err)
	}
	p.pass(15 * time.Second)
	got := p.object(200, "/token", p.pollForm(flow))
	if got["token_type"] != "Bearer" || got["scope"] != "openid email" || got["refresh_token"] == "" || got["expires_in"] != 3600.0 {
		t.Errorf("tokens %v", got)
	}
	p.pass(15 * time.Second)
	if got := p.object(400, "/token", p.pollForm(flow)); got["error"] != "invalid_grant" {
		t.Errorf("a second claim: %v", got)
	}
}

func TestEndsOfAFlow(t *testing.T) {
	p := start(t, Options{ExpiresIn: time.Minute})
	denied, expired := p.begin(), p.begin()
	if err := p.Deny(denied["user_code"].(string)); err != nil {
		t.Fatal(err)
	}
	if got := p.object(403, "/token", p.pollForm(denied)); got["error"] != "access_denied" {
		t.Errorf("got %v", got)
	}
	p.pass(time.Minute)
	if got := p.object(400, "/token", p.pollForm(expired)); got["error"] != "expired_token" {
		t.Errorf("got %v", got)
	}
	if err := p.Approve(expired["user_code"].(string)); err == nil || len(p.Codes()) != 0 {
		t.Error("a code that ran out waits")
	}
	p = start(t, Options{AutoApproveAfter: 20 * time.Second})
	flow := p.begin()
	p.object(428, "/token", p.pollForm(flow))
	p.pass(20 * time.Second)
	p.object(200, "/token", p.pollForm(flow))
}

func TestErrorsOfTheAuthorizationServer(t *testing.T) {
	p := start(t, Options{Requests: 1})
	for name, tt := range map[string]struct {
		path   string
		form   url.Values
		status int
		word   string
	}{
		"an unknown client":  {"/device/code", url.Values{"client_id": {"x"}, "scope": {"a"}}, 401, "invalid_client"},
		"no scope":           {"/device/code", url.Values{"client_id": {DefaultClientID}}, 400, "invalid_request"},
		"no secret":          {"/token", url.Values{"client_id": {DefaultClientID}, "grant_type": {deviceGrant}}, 401, "invalid_client"},
		"another grant type": {"/token", url.Values{"client_id": {DefaultClientID}, "grant_type": {"password"}}, 400, "unsupported_grant_type"},
		"an unknown code":    {"/token", p.pollForm(map[string]any{"device_code": "x"}), 400, "invalid_grant"},
		"an unknown token":   {"/revoke?token=x", url.Values{}, 400, "invalid_token"},
	} {
		if got := p.object(tt.status, tt.path, tt.form); got["error"] != tt.word {
			t.Errorf("%s: %v", name, got)
		}
	}
	p.begin()
	if got := p.object(403, "/device/code", url.Values{"client_id": {DefaultClientID}, "scope": {"a"}}); got["error_code"] != "rate_limit_exceeded" || got["error"] != nil {
		t.Errorf("the quota: %v", got)
	}
	response, err := p.client.Post(p.url+"/token", "application/json", bytes.NewReader([]byte(`{}`)))
	if err != nil || response.StatusCode != 400 {
		t.Errorf("JSON is taken: %v %v", response, err)
	}
	response.Body.Close()
}

func TestTokensEnd(t *testing.T) {
	p := start(t, Options{RefreshTTL: 48 * time.Hour})
	tokens := p.login()
	if tokens["refresh_token_expires_in"] != 172800.0 {
		t.Errorf("tokens %v", tokens)
	}
	bearer := func(token any) []string { return []string{"Authorization", "Bearer " + token.(string)} }
	p.object(200, "/resource/me", nil, bearer(tokens["access_token"])...)
	p.object(200, "/resource/me?access_token="+tokens["access_token"].(string), nil)
	p.object(400, "/resource/me?access_token="+tokens["access_token"].(string), nil, bearer(tokens["access_token"])...)
	p.pass(time.Hour)
	p.object(401, "/resource/me", nil, bearer(tokens["access_token"])...)
	fresh := p.object(200, "/token", refreshForm(tokens["refresh_token"]))
	if fresh["refresh_token"] != nil {
		t.Errorf("a refresh gives a refresh token: %v", fresh)
	}
	p.object(200, "/resource/me", nil, bearer(fresh["access_token"])...)
	if status, body := p.send("/revoke?token="+fresh["access_token"].(string), url.Values{}); status != 200 || body != "" {
		t.Errorf("revoke: %d %q", status, body)
	}
	p.object(401, "/resource/me", nil, bearer(fresh["access_token"])...)
	p.object(400, "/token", refreshForm(tokens["refresh_token"]))
	other := p.login()
	p.pass(48 * time.Hour)
	p.object(400, "/token", refreshForm(other["refresh_token"]))
}

func TestRotationEndsTheFamily(t *testing.T) {
	p := start(t, Options{Rotate: true})
	first := p.login()["refresh_token"]
	second := p.object(200, "/token", refreshForm(first))["refresh_token"]
	if second == nil || second == first || p.Live() != 1 {
		t.Fatalf("rotated to %v", second)
	}
	p.object(400, "/token", refreshForm(first))
	p.object(400, "/token", refreshForm(second))
	if p.Live() != 0 {
		t.Error("the family lives")
	}
}

func TestManagementSide(t *testing.T) {
	p := start(t, Options{})
	tokens := p.login()
	for header, want := range map[string]int{
		"Api-Key " + DefaultAPIKey: 200, "Bearer " + DefaultAPIKey: 401, "Bearer " + tokens["access_token"].(string): 200,
		"Api-Key " + tokens["access_token"].(string): 401, "": 401, "Basic x": 401,
	} {
		status, body := p.send("/api/v1/deployments", nil, "Authorization", header)
		if status != want || status == 401 && body != "" {
			t.Errorf("%q: %d %q", header, status, body)
		}
	}
	for header, want := range map[string]int{"Bearer " + DefaultSCIMToken: 200, "Api-Key " + DefaultSCIMToken: 200, "Api-Key " + DefaultAPIKey: 401} {
		if status, _ := p.send("/api/scim/v2/Users", nil, "Authorization", header); status != want {
			t.Errorf("SCIM %q: %d", header, status)
		}
	}
	seen := map[any]bool{}
	for start := 1; start <= 120; start += 50 {
		page := p.object(200, "/api/scim/v2/Users?count=50&startIndex="+json.Number([]string{"1", "51", "101"}[start/50]).String(), nil, "Authorization", "Bearer "+DefaultSCIMToken)
		for _, user := range page["Resources"].([]any) {
			seen[user.(map[string]any)["id"]] = true
		}
	}
	if len(seen) != 120 {
		t.Errorf("%d different users", len(seen))
	}
	if status, _ := p.send("/api/scim/v2/Users?count=x", nil, "Authorization", "Bearer "+DefaultSCIMToken); status != 400 {
		t.Errorf("a count that is none: %d", status)
	}
	plain := httptest.NewServer(p.Sim)
	defer plain.Close()
	response, err := http.Get(plain.URL + "/api/v1/deployments")
	if err != nil || response.StatusCode != 403 {
		t.Errorf("without TLS: %v %v", response, err)
	}
	response.Body.Close()
}

func TestPageWhereAPersonDecides(t *testing.T) {
	p := start(t, Options{})
	flow := p.begin()
	code := flow["user_code"].(string)
	for path, want := range map[string]string{
		"/device":                     `<label for="user_code">`,
		"/device?user_code=" + code:   "<li>email</li>",
		"/device?user_code=%3Cscript": "No device waits with this code",
	} {
		if _, body := p.send(path, nil); !strings.Contains(body, want) || strings.Contains(body, "<script") {
			t.Errorf("%s shows %s", path, body)
		}
	}
	if _, body := p.send("/device", nil); !strings.Contains(body, code) {
		t.Error("the code is not on the list")
	}
	decide := func(decision string, header ...string) int {
		status, _ := p.send("/device", url.Values{"user_code": {code}, "decision": {decision}}, header...)
		return status
	}
	if status := decide("approve", "Origin", "https://evil.example"); status != 403 {
		t.Errorf("another site decides: %d", status)
	}
	if status := decide("perhaps"); status != 400 {
		t.Errorf("no decision: %d", status)
	}
	if status := decide("approve"); status != 200 {
		t.Errorf("approve: %d", status)
	}
	if status := decide("deny"); status != 404 {
		t.Errorf("a second decision: %d", status)
	}
	p.object(200, "/token", p.pollForm(flow))
	other := p.begin()
	code = other["user_code"].(string)
	if status := decide("deny"); status != 200 {
		t.Errorf("deny: %d", status)
	}
	p.object(403, "/token", p.pollForm(other))
}

func TestDiscoveryAndReset(t *testing.T) {
	p := start(t, Options{})
	for _, path := range []string{"/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"} {
		if got := p.object(200, path, nil); got["issuer"] != p.url || got["token_endpoint"] != p.url+"/token" {
			t.Errorf("%s: %v", path, got)
		}
	}
	p.login()
	p.begin()
	p.Kit().Reset()
	if p.Live() != 0 || len(p.Codes()) != 0 {
		t.Error("something is left after a reset")
	}
	p.object(404, "/nowhere", nil)
}

func TestASimulatorThatIsStartedAgainKnowsItsTokens(t *testing.T) {
	before := start(t, Options{Rotate: true})
	flow, tokens := before.begin(), before.login()
	p := start(t, Options{Rotate: true})
	p.object(200, "/resource/me", nil, "Authorization", "Bearer "+tokens["access_token"].(string))
	fresh := p.object(200, "/token", refreshForm(tokens["refresh_token"]))
	p.object(200, "/token", refreshForm(fresh["refresh_token"]))
	p.object(428, "/token", p.pollForm(flow))
	if err := p.Approve(flow["user_code"].(string)); err != nil {
		t.Error(err)
	}
	p.pass(5 * time.Second)
	p.object(200, "/token", p.pollForm(flow))
	p.Kit().Reset()
	p.object(401, "/resource/me", nil, "Authorization", "Bearer "+tokens["access_token"].(string))
	p.object(400, "/token", p.pollForm(flow))
	other := start(t, Options{ClientSecret: "another"})
	other.object(401, "/resource/me", nil, "Authorization", "Bearer "+tokens["access_token"].(string))
}

func TestQuirks(t *testing.T) {
	p := start(t, Options{PendingStatus: 400, Quirks: Quirks{VerificationURI: true, NoInterval: true, MixedCaseCodes: true, DenialIsSilent: true, CodeReuseRevokes: true}})
	flow := p.begin()
	if flow["verification_uri"] == nil || flow["verification_url"] != nil || flow["interval"] != nil {
		t.Errorf("flow %v", flow)
	}
	_ = p.Deny(flow["user_code"].(string))
	p.object(400, "/token", p.pollForm(flow))
	other := p.begin()
	_ = p.Approve(other["user_code"].(string))
	p.object(200, "/token", p.pollForm(other))
	p.object(400, "/token", p.pollForm(other))
	if p.Live() != 0 {
		t.Error("a code that is used twice leaves the grant")
	}
	for word, quirks := range map[string]Quirks{"admin_policy_enforced": {AdminPolicy: true}, "org_internal": {OrgInternal: true}, "invalid_client": {LateClientCheck: true}} {
		p := start(t, Options{Quirks: quirks})
		flow := p.begin()
		p.object(428, "/token", p.pollForm(flow))
		_ = p.Approve(flow["user_code"].(string))
		p.pass(5 * time.Second)
		if _, body := p.send("/token", p.pollForm(flow)); !strings.Contains(body, word) {
			t.Errorf("want %s, got %s", word, body)
		}
	}
}
