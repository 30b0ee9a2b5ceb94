//go:build linux

package tokens

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
)

// provider is a server that rotates refresh tokens and ends the grant when one is
// used twice. It notes every renewal.
type provider struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string // refresh tokens that were used, in this life of the child
	refuse int      // of them
	newest string   // refresh token that it gave out last
	busy   map[net.Conn]bool
}

// rest waits until what a killed child had sent is done with: a request that is
// served while the next child lives would be nobody's.
func (p *provider) rest() error {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(p.URL + "/rest")
		if err != nil {
			return err
		}
		_ = response.Body.Close() // all that was connected before is accepted now
		p.mu.Lock()
		busy := len(p.busy)
		p.mu.Unlock()
		if busy == 0 {
			return nil
		}
	}
	return errors.New("the provider does not come to rest")
}

// connected notes which connections may still bring a request or have one served.
func (p *provider) connected(c net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if state == http.StateNew || state == http.StateActive {
		p.busy[c] = true
	} else {
		delete(p.busy, c)
	}
}

func newProvider(t *testing.T) *provider {
	p := &provider{busy: map[net.Conn]bool{}}
	sim := authsim.New(authsim.Options{Rotate: true, AutoApproveAfter: time.Nanosecond, Interval: time.Millisecond})
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a client that was killed: nothing is done
		r.Body = io.NopCloser(bytes.NewReader(body))
		form, _ := url.ParseQuery(string(body))
		answer := httptest.NewRecorder()
		p.mu.Lock()
		sim.ServeHTTP(answer, r)
		var given reply
		_ = json.Unmarshal(answer.Body.Bytes(), &given)
		if given.RefreshToken != "" {
			p.newest = short(given.RefreshToken)
		}
		if used := form.Get("refresh_token"); used != "" {
			p.asked = append(p.asked, short(used))
			if given.Error != "" {
				p.refuse++
			}
		}
		p.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	p.Config.ConnState = p.connected
	p.Start()
	t.Cleanup(p.Close)
	return p
}

// login gives the tokens of a person who has just logged in.
func (p *provider) login() (*reply, error) {
	code, err := post(p.URL, url.Values{"scope": {"openid"}})
	if err != nil {
		return nil, err
	}
	for range 50 {
		time.Sleep(5 * time.Millisecond)
		answer, err := post(p.URL, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {code.DeviceCode}})
		if err != nil {
			return nil, err
		}
		if answer.RefreshToken != "" {
			return answer, nil
		}
	}
	return nil, fmt.Errorf("the provider never approved")
}

// suite is one store under kills.
type suite struct {
	t        *testing.T
	provider *provider
	store    string
	random   *rand.Rand
	swapped  bool

	login   *reply // for the next child
	known   string // the refresh token that is stored, as far as the children's words and ends tell
	windows int    // kills between the provider's rotation and the commit
	lost    int    // logins that those cost
}

func newSuite(t *testing.T, seed uint64, swapped bool) *suite {
	s := &suite{
		t: t, provider: newProvider(t), store: filepath.Join(t.TempDir(), "flowrun.db"), random: rand.New(rand.NewPCG(seed, 11)), swapped: swapped,
	}
	var err error
	if s.login, err = s.provider.login(); err != nil {
		t.Fatal(err)
	}
	s.known = short(s.login.RefreshToken)
	return s
}

// life runs a child until it is killed or gives up, and says what is wrong.
func (s *suite) life(o order) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	o.Store, o.URL, o.Login, o.Swapped = s.store, s.provider.URL, s.login, s.swapped
	s.provider.mu.Lock()
	s.provider.asked, s.provider.refuse = nil, 0
	before, open := s.provider.newest, s.provider.newest != s.known
	s.provider.mu.Unlock()
	lines, err := s.run(o)
	if err == nil {
		err = s.provider.rest()
	}
	if err != nil {
		return []string{err.Error()}
	}
	s.provider.mu.Lock()
	asked, refused := s.provider.asked, s.provider.refuse
	s.provider.mu.Unlock()
	if len(asked) > 0 && asked[0] != before {
		switch {
		case !open:
			complain("it used %s, although %s was acknowledged", asked[0], before)
		case asked[0] != s.known:
			complain("it used %s, which is neither the one that was stored last nor the newest", asked[0])
		}
	}
	said := strings.Join(lines, "\n")
	for i, line := range lines {
		word, hash, _ := strings.Cut(line, " ")
		switch {
		case word == "acked", word == "leased", // it is stored, or was read from the store
			word == "replied" && o.Stage == "after" && i == len(lines)-1: // killed after the commit
			s.known, s.login = hash, nil
		case word == "error":
			complain("the child failed: %s", line)
		}
	}
	if refused == 0 {
		if s.provider.newestIsNot(s.known) {
			s.windows++
		}
		return problems
	}
	s.lost++
	if !open {
		complain("the grant was lost outside of the window")
	}
	if refused != 1 || asked[len(asked)-1] != asked[0] {
		complain("the provider was asked %d times and refused %d times: once is enough", len(asked), refused)
	}
	if !strings.Contains(said, "refused true") || !strings.Contains(said, "state auth_required: lost in crash") {
		// A kill may have come between the refusal and the word on it: the next life says it.
		if killedBeforeItsWord := !strings.Contains(said, "state "); !killedBeforeItsWord {
			complain("it does not say that the login was lost in a crash:\n%s", said)
		}
	}
	if s.login, err = s.provider.login(); err != nil {
		complain("%v", err)
	}
	s.known = short(s.login.RefreshToken)
	return problems
}

func (p *provider) newestIsNot(token string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newest != token
}

// run starts a child and kills it at the moment that the order, or chance, says.
func (s *suite) run(o order) (lines []string, err error) {
	encoded, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), orderVariable+"="+string(encoded))
	output, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	limit := time.AfterFunc(20*time.Second, func() { _ = c.Process.Kill() })
	for scanner := bufio.NewScanner(output); scanner.Scan(); {
		lines = append(lines, scanner.Text())
		if scanner.Text() == "start" && o.Stage == "" {
			time.AfterFunc(time.Duration(s.random.IntN(20_000))*time.Microsecond, func() { _ = c.Process.Kill() })
		}
	}
	_ = c.Wait() // killed
	if !limit.Stop() {
		return lines, fmt.Errorf("the child did not end: %v", lines)
	}
	return lines, nil
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv("FLOWRUN_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatalf("FLOWRUN_SEED=%s: %v", text, err)
		}
	}
	t.Logf("seed %d", seed)
	return seed
}

// orders are the moments of the kills: each of the first commits from both sides,
// then chance.
func (s *suite) orders(n int) []order {
	var all []order
	for i := range n {
		o := order{Stage: []string{"before", "after"}[i%2], Commit: 1 + i/2%6}
		if i%4 >= 2 && i > 24 {
			o = order{}
		}
		all = append(all, o)
	}
	return all
}

// TestP11TokensUnderKills: a login is lost only where the provider's answer was not
// stored yet, and that is said. FLOWRUN_TOKEN_KILLS=1000 is the full size.
func TestP11TokensUnderKills(t *testing.T) {
	kills := suitesize.Of(t, "FLOWRUN_TOKEN_KILLS", 100)
	s := newSuite(t, seedOf(t), false)
	for i, o := range s.orders(kills) {
		for _, problem := range s.life(o) {
			t.Errorf("kill %d (%s commit %d): %s", i, o.Stage, o.Commit, problem)
		}
	}
	t.Logf("%d kills, %d of them after the provider had rotated and before the child said so, %d logins lost, each said so", kills, s.windows, s.lost)
	if s.lost == 0 || s.lost > s.windows {
		t.Errorf("%d logins were lost in %d windows", s.lost, s.windows)
	}
}

// TestP11ControlUsingATokenBeforeItIsStoredFails: with the two in the wrong order
// the suite must see an acknowledged token that is gone.
func TestP11ControlUsingATokenBeforeItIsStoredFails(t *testing.T) {
	s := newSuite(t, seedOf(t), true)
	for _, o := range s.orders(24) {
		problems := s.life(o)
		if len(problems) == 0 {
			continue
		}
		if !strings.Contains(problems[0], "was acknowledged") {
			t.Fatal(problems[0])
		}
		t.Logf("noticed: %s", problems[0])
		return
	}
	t.Error("a token that was used before it was stored was not noticed")
}

// TestP11AThousandCallersRenewOnce at a provider that would end the grant.
func TestP11AThousandCallersRenewOnce(t *testing.T) {
	p := newProvider(t)
	first, err := p.login()
	if err != nil {
		t.Fatal(err)
	}
	store, tokens, err := open(filepath.Join(t.TempDir(), "flowrun.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, lease, err := tokens.Acquire(t.Context(), "login", "", time.Minute, "")
	if err != nil {
		t.Fatal(err)
	}
	stale := first.token()
	stale.ID = "stale"
	if err := tokens.Commit(lease.ID, stale, nil); err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	var good atomic.Int32
	for range 1000 {
		callers.Go(func() {
			token, lease, err := tokens.Acquire(t.Context(), "login", "", time.Minute, "stale")
			if err == nil && lease != nil {
				var fresh *reply
				if fresh, err = post(p.URL, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {lease.Stale.RefreshToken}}); err == nil {
					err = tokens.Commit(lease.ID, fresh.token(), nil)
				}
				token = &secret.Token{ID: "fresh"}
			}
			switch {
			case err != nil:
				t.Error(err)
			case token.ID != "stale":
				good.Add(1)
			}
		})
	}
	callers.Wait()
	if len(p.asked) != 1 || good.Load() != 1000 {
		t.Errorf("%d renewals, %d callers with a new token, want 1 and 1000", len(p.asked), good.Load())
	}
}
