package auth

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"

	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// in is shorthand for an input or a config.
type in = map[string]any

// clock is a clock that a test moves. It starts at the real time, by which the
// host of the tests judges tokens.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// sent is one request with its body, which the simulator's journal leaves out.
type sent struct {
	method, path, query, body string
	header                    http.Header
	close                     bool
}

func (s sent) form(t *testing.T) url.Values {
	t.Helper()
	form, err := url.ParseQuery(s.body)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// world is a plugin with a connection to a simulator over TLS.
type world struct {
	*sdktest.Plugin
	t      *testing.T
	sim    *authsim.Sim
	clock  *clock
	url    string
	config in

	mu       sync.Mutex
	requests []sent
	override http.HandlerFunc // answers instead of the simulator
}

// open makes a world. Settings in changes replace the usual ones; nil removes one.
func open(t *testing.T, o authsim.Options, changes in) *world {
	t.Helper()
	w := &world{t: t, clock: &clock{at: time.Now().Truncate(time.Second)}}
	o.Now = w.clock.now
	w.sim = authsim.New(o)
	certificate, ca, err := authsim.Certificate(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	w.url = srv.URL
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	w.config = in{
		"auth_url": srv.URL, "client_id": authsim.DefaultClientID, "client_secret": authsim.DefaultClientSecret,
		"management_url": srv.URL, "api_key": authsim.DefaultAPIKey, "scim_token": authsim.DefaultSCIMToken,
		"allow_hosts": []string{"127.0.0.1"}, "ca_file": file,
	}
	w.set(changes)
	w.Plugin = sdktest.Open(t, NewWith(Options{Now: w.clock.now}), w.config)
	return w
}

func (w *world) set(changes in) {
	for name, value := range changes {
		if text, ok := value.(string); ok {
			value = strings.ReplaceAll(text, "{url}", w.url)
		}
		if value == nil {
			delete(w.config, name)
			continue
		}
		w.config[name] = value
	}
}

// reconnect replaces the connection with changed settings.
func (w *world) reconnect(changes in) {
	w.t.Helper()
	w.set(changes)
	if problems := w.Connect(sdktest.Connection, w.config); len(problems) > 0 && !problems[0].Warning {
		w.t.Fatalf("reconnect: %+v", problems)
	}
}

func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.mu.Lock()
	w.requests = append(w.requests, sent{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(body), r.Header.Clone(), r.Close})
	override := w.override
	w.mu.Unlock()
	if override != nil {
		override(rw, r)
		return
	}
	w.sim.ServeHTTP(rw, r)
}

// answer makes every further request be answered with this status and body; ""
// and 0 give it back to the simulator.
func (w *world) answer(status int, body string, header ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if status == 0 {
		w.override = nil
		return
	}
	w.override = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			rw.Header().Set(header[i], header[i+1])
		}
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, body)
	}
}

func (w *world) fault(f simkit.Fault) {
	w.t.Helper()
	if err := w.sim.Kit().Add(f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) all() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]sent{}, w.requests...)
}

// last returns the last request.
func (w *world) last() sent {
	w.t.Helper()
	all := w.all()
	if len(all) == 0 {
		w.t.Fatal("nothing was sent")
	}
	return all[len(all)-1]
}

// count returns how often a path was asked for; "" is every path.
func (w *world) count(path string) int {
	n := 0
	for _, r := range w.all() {
		if path == "" || r.path == path {
			n++
		}
	}
	return n
}

// output returns the output of a call that must succeed.
func output(t *testing.T, r sdktest.Result) in {
	t.Helper()
	if r.Pending != nil {
		t.Fatalf("the call is pending: %+v", r.Pending)
	}
	var out in
	r.Decode(t, &out)
	return out
}

// fails checks the code and reason of a failed call and returns the error.
func fails(t *testing.T, r sdktest.Result, code sdk.Code, reason string) *sdk.Error {
	t.Helper()
	if r.Err == nil {
		t.Fatalf("the call did not fail: output %s, pending %+v", r.Output, r.Pending)
	}
	if r.Err.Code != code || r.Err.Reason != reason {
		t.Fatalf("the call failed with %v, reason %q; want %v, %q", r.Err, r.Err.Reason, code, reason)
	}
	return r.Err
}

// refuses makes a call that must be refused before anything is sent.
func (w *world) refuses(pointer, text, action string, input any, options ...sdktest.Option) {
	w.t.Helper()
	before := w.count("")
	r := w.Call(action, input, options...)
	e := r.Err
	if e == nil || e.Code != sdk.CodeInvalid || e.Applied != sdk.NotApplied || e.Pointer != pointer {
		w.t.Fatalf("got %+v and %s, want invalid at %q, not applied", e, r.Output, pointer)
	}
	if !strings.Contains(e.Message+" "+e.Hint, text) {
		w.t.Errorf("%q, hint %q: want %q in it", e.Message, e.Hint, text)
	}
	if before != w.count("") {
		w.t.Error("something was sent")
	}
}

var scopes = []string{"openid", "Email", "app.files"}

// start begins a login and returns the output of device_start.
func (w *world) start(options ...sdktest.Option) in {
	w.t.Helper()
	return output(w.t, w.Call("device_start", in{"scopes": scopes}, options...))
}

func (w *world) poll(flow in) sdktest.Result {
	w.t.Helper()
	return w.Call("device_poll", in{"flow_id": flow["flow_id"]})
}

// login goes through a whole device grant.
func (w *world) login() in {
	w.t.Helper()
	flow := w.start()
	if err := w.sim.Approve(flow["user_code"].(string)); err != nil {
		w.t.Fatal(err)
	}
	w.clock.pass(5 * time.Second)
	out := output(w.t, w.poll(flow))
	if out["state"] != "granted" {
		w.t.Fatalf("the login ended %v", out)
	}
	return out
}

func (w *world) stored() sdk.Token { return w.Host().Token(sdktest.Connection, "") }

func (w *world) hasToken() bool { return w.stored().AccessToken != "" }

// expire makes the stored access token look run out.
func (w *world) expire() {
	w.t.Helper()
	token := w.stored()
	token.ExpiresAt = time.Now().Add(-time.Minute)
	w.Host().SetToken(sdktest.Connection, "", token)
}

// age makes the stored access token look received a while ago.
func (w *world) age(d time.Duration) {
	w.t.Helper()
	w.Host().Age(sdktest.Connection, "", d)
}

// texts is everything that a call says, for looking for what it must not say.
func texts(r sdktest.Result) string {
	encoded, err := json.Marshal(r.Logs)
	text := fmt.Sprint(string(encoded), err, r.Meta)
	if r.Err != nil {
		details, _ := json.Marshal(r.Err.Details)
		text += r.Err.Message + r.Err.Hint + r.Err.Reason + string(details)
	}
	if r.Pending != nil {
		text += string(r.Pending.Checkpoint) + r.Pending.Message + fmt.Sprint(r.Pending.Prompt)
	}
	return text
}
