package plugins

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/analytics/analyticssim"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/plugins/dictionary/dictionarysim"
	"github.com/flowrun/flowrun/plugins/http/httpsim"
	"github.com/flowrun/flowrun/plugins/netinfo/netinfosim"
	"github.com/flowrun/flowrun/plugins/tasks/taskssim"
)

// line is a connection with a simulator of its own.
type line struct {
	name, plugin string
	config       map[string]any
	url          string
	kit          *simkit.Kit
	auth         *authsim.Sim                     // plugin auth only
	tasks        *taskssim.Sim                    // plugin tasks only
	keepPending  bool                             // plugin auth: nobody approves the login
	shortFirst   atomic.Bool                      // plugin auth: the next token that is given ends after a second
	front        atomic.Pointer[http.HandlerFunc] // answers instead of the simulator
}

// Credentials of the lines; none may be seen anywhere.
const (
	tasksToken     = "tok/tasks+5b1f7c2e90=="
	analyticsToken = "tok/analytics+77d0a1c3f4~~"
	clientSecret   = "cs/auth+19ab4e6d02&x=y"
	apiKey         = "ak/auth+c7735f0be1==?"
	scimToken      = "st/auth+0f46d2a88b==!"
	personalToken  = "pt/tasks+e2c19d7705==\"quoted\""
	publicKey      = "pk/tasks+40be77aa13==&z"
	headerValue    = "hv/dictionary+9c01e5d2==;q"
)

// pollInterval is what the authorization servers of lines want between two polls.
const pollInterval = time.Second

// lineSecrets are the values of FLOWRUN_SECRET_*.
func lineSecrets() map[string]string {
	return map[string]string{
		"TASKS_TOKEN": tasksToken, "ANALYTICS_TOKEN": analyticsToken, "CLIENT_SECRET": clientSecret, "API_KEY": apiKey,
		"SCIM_TOKEN": scimToken, "PERSONAL_TOKEN": personalToken, "INVITE_CODE": taskssim.QuarryCode,
		"PUBLIC_KEY": publicKey, "HEADER_VALUE": headerValue,
	}
}

func secretRef(name string) string { return "${{ secrets." + name + " }}" }

// newLine starts the simulator of a plugin. authOptions counts for auth alone.
func newLine(t *testing.T, name, plugin string, authOptions authsim.Options) *line {
	t.Helper()
	l := &line{name: name, plugin: plugin, config: map[string]any{}}
	switch plugin {
	case "auth":
		l.startAuth(t, authOptions)
		return l
	case "tasks":
		l.tasks = taskssim.New(taskssim.Options{Token: tasksToken, PublicKey: publicKey})
		l.kit = l.tasks.Kit()
		l.serve(t, l.tasks)
		l.config["token"] = secretRef("TASKS_TOKEN")
	case "analytics":
		sim := analyticssim.New(analyticssim.Options{Token: analyticsToken})
		l.kit = sim.Kit()
		l.serve(t, sim)
		l.config["token"] = secretRef("ANALYTICS_TOKEN")
	case "netinfo":
		sim := netinfosim.New(netinfosim.Options{})
		l.kit = sim.Kit()
		l.serve(t, sim)
	case "dictionary":
		sim := dictionarysim.New(dictionarysim.Options{})
		l.kit = sim.Kit()
		l.serve(t, sim)
	case "http":
		sim := httpsim.New(httpsim.Options{})
		l.kit = sim.Kit()
		l.serve(t, sim)
		l.config["private"] = true
	case "careless":
		l.kit = simkit.New(simkit.Options{})
		l.serve(t, l.kit.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			simkit.WriteJSON(w, http.StatusOK, map[string]bool{"done": true})
		})))
	}
	return l
}

func (l *line) serve(t *testing.T, handler http.Handler) {
	server := httptest.NewServer(l.bodyFirst(handler))
	t.Cleanup(server.Close)
	l.url = server.URL
	l.config["base_url"] = server.URL
}

// bodyFirst reads a request's body before it is handled: only then the server
// notices that a client has left, and a delay ends with it.
func (l *line) bodyFirst(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if front := l.front.Load(); front != nil {
			(*front)(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// startAuth serves the authorization server, management and SCIM over TLS.
func (l *line) startAuth(t *testing.T, o authsim.Options) {
	o.ClientSecret, o.APIKey, o.SCIMToken = clientSecret, apiKey, scimToken
	if o.Interval == 0 {
		o.Interval = pollInterval
	}
	l.auth = authsim.New(o)
	l.kit = l.auth.Kit()
	server := httptest.NewUnstartedServer(l.bodyFirst(http.HandlerFunc(l.serveAuth)))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
	server.StartTLS()
	t.Cleanup(server.Close)
	l.url = server.URL
	authority := filepath.Join(t.TempDir(), "ca.pem")
	encoded := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authority, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	l.config = map[string]any{
		"auth_url": server.URL, "client_id": authsim.DefaultClientID, "client_secret": secretRef("CLIENT_SECRET"),
		"management_url": server.URL, "api_key": secretRef("API_KEY"), "scim_token": secretRef("SCIM_TOKEN"),
		"allow_hosts": []string{strings.TrimPrefix(server.URL, "https://")}, "ca_file": authority,
	}
}

// newCertificate makes the certificate of all authorization servers, of a kind that
// takes less of a processor than httptest's own.
var newCertificate = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{encoded}, PrivateKey: key}, err
})

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	made, err := newCertificate()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// serveAuth is the authorization server, whose next token may be a short one.
func (l *line) serveAuth(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/token" || !l.shortFirst.Load() {
		l.auth.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	l.auth.ServeHTTP(answer, r)
	body := answer.Body.String()
	if answer.Code == http.StatusOK {
		l.shortFirst.Store(false)
		body = regexp.MustCompile(`"expires_in":[0-9]+`).ReplaceAllString(body, `"expires_in":2`) // used for half of it
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = io.WriteString(w, body) // a client that went away notices it itself
}

// since returns the requests of the journal after the first n.
func (l *line) since(n int) []simkit.Request {
	all := l.kit.Requests()
	return all[min(n, len(all)):]
}

// actionNames are the 40 actions in the order of their plugins.
func actionNames() []string {
	var names []string
	for _, row := range documented() {
		names = append(names, row.action)
	}
	return names
}

// goodInput is the input with which an action works against the simulators,
// where the action's own example names things that they do not know. nil means
// that the example does.
func goodInput(action string, l *line, flow string) map[string]any {
	switch action {
	case "tasks.invitation_delete":
		return map[string]any{"body": map[string]any{"email": "ana@example.com"}}
	case "tasks.invitation_accept", "tasks.invitation_reject":
		return map[string]any{"invite_code": secretRef("INVITE_CODE")}
	case "tasks.users_invite":
		return map[string]any{"workspace_id": taskssim.Brightwater, "body": map[string]any{"emails": []string{"new@example.com"}}}
	case "tasks.label_remove":
		return map[string]any{"body": map[string]any{"name": "client-x"}}
	case "tasks.label_rename":
		return map[string]any{"body": map[string]any{"name": "wating", "new_name": "on-hold"}}
	case "tasks.migrate_personal_token":
		return map[string]any{"body": map[string]any{"personal_token": secretRef("PERSONAL_TOKEN")}, "store_as": "main"}
	case "auth.device_poll", "auth.device_wait":
		return map[string]any{"flow_id": flow}
	case "auth.resource_get":
		return map[string]any{"url": l.url + "/resource/me"}
	case "http.delete": // with an answer that has a body
		return map[string]any{"path": "/echo/7", "as": "json"}
	}
	return nil
}
