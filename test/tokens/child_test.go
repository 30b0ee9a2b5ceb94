//go:build linux

// Package tokens kills processes that renew tokens at a provider which detects the
// reuse of a refresh token (docs/reliability.md P11).
package tokens

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
)

// order is what a child process is told.
type order struct {
	Store   string // path of the store file
	URL     string // of the provider
	Login   *reply // tokens of a new login, which it stores first
	Stage   string // "before" or "after" its Commit-th commit it kills itself; "" = it is killed from outside
	Commit  int
	Swapped bool // it uses a new token before that is stored: the control
}

// orderVariable tells the test program that it is a child.
const orderVariable = "FLOWRUN_TOKENS_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(orderVariable); text != "" {
		var o order
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			say("error %v", err)
			os.Exit(2)
		}
		if err := child(o); err != nil {
			say("error %v", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// say writes one line, at once: what was said before a kill is known.
func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format+"\n", args...) }

// short names a token without showing it.
func short(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:6])
}

// open opens the tokens of a store.
func open(path string, onCommit func(store.CommitStage)) (*boltstore.Store, *secret.Tokens, error) {
	file, err := boltstore.Open(path, boltstore.Options{InitialMmapSize: 1 << 20, Hooks: store.Hooks{OnCommit: onCommit}})
	if err != nil {
		return nil, nil, err
	}
	sealer, err := secret.NewSealer([]byte("0123456789abcdef0123456789abcdef"), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	return file, secret.NewTokens(secret.TokensOptions{
		KV: secret.Seal(file.KV(), sealer), Now: time.Now, After: time.After, Entropy: rand.Reader,
	}), nil
}

// child renews the token until it is killed, or until the provider refuses.
func child(o order) error {
	commits := 0
	_, tokens, err := open(o.Store, func(stage store.CommitStage) {
		if stage == store.BeforeCommit {
			commits++
		}
		if string(stage) == o.Stage && commits == o.Commit {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	if err != nil {
		return err
	}
	if o.Login != nil {
		_, lease, err := tokens.Acquire(context.Background(), "login", "", secret.Renew, "")
		if err != nil {
			return fmt.Errorf("no lease for a login: %w", err)
		}
		if err := tokens.Commit(lease.ID, o.Login.token(), nil); err != nil {
			return err
		}
		say("acked %s", short(o.Login.RefreshToken))
	}
	say("start")
	for range 1000 {
		if ended, err := o.renew(tokens); ended || err != nil {
			return err
		}
	}
	return errors.New("nobody killed it")
}

// renew asks for a token that must be a new one.
func (o order) renew(tokens *secret.Tokens) (ended bool, err error) {
	_, lease, err := tokens.Acquire(context.Background(), "login", "", secret.Renew, "")
	if err != nil {
		return true, err
	}
	if lease == nil {
		return true, errors.New("it got a token that is not good for long enough")
	}
	if lease.Stale == nil { // nothing to renew: a person must log in
		if _, err := tokens.Lose(lease.ID, "no login", errors.New("nobody has logged in")); err != nil {
			return true, err
		}
		return true, o.tellState(tokens)
	}
	say("leased %s", short(lease.Stale.RefreshToken))
	fresh, err := post(o.URL, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {lease.Stale.RefreshToken}})
	if err != nil {
		return true, err
	}
	if fresh.Error != "" {
		interrupted, err := tokens.Lose(lease.ID, fresh.Error, errors.New(fresh.Error))
		say("refused %v", interrupted)
		return false, err // it asks again: nothing may be sent then
	}
	if o.Swapped {
		say("acked %s", short(fresh.RefreshToken))
	}
	say("replied %s", short(fresh.RefreshToken))
	if err := tokens.Commit(lease.ID, fresh.token(), nil); err != nil {
		return true, err
	}
	if !o.Swapped {
		say("acked %s", short(fresh.RefreshToken))
	}
	return false, nil
}

func (o order) tellState(tokens *secret.Tokens) error {
	status, err := tokens.Stored("login", "")
	say("state %s: %s", status.State, status.Reason)
	return err
}

// reply is the provider's answer.
type reply struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	ExpiresIn    int    `json:"expires_in"`
	Error        string `json:"error"`
	DeviceCode   string `json:"device_code"`
}

func (r *reply) token() *secret.Token {
	return &secret.Token{
		AccessToken: r.AccessToken, RefreshToken: r.RefreshToken, ExpiresAt: time.Now().Add(time.Duration(r.ExpiresIn) * time.Second),
	}
}

func post(address string, form url.Values) (*reply, error) {
	path := "/token"
	if form.Get("grant_type") == "" {
		path = "/device/code"
	}
	form.Set("client_id", authsim.DefaultClientID)
	form.Set("client_secret", authsim.DefaultClientSecret)
	response, err := http.Post(address+path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	answer := new(reply)
	if err := json.Unmarshal(body, answer); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", response.Status, err, body)
	}
	return answer, nil
}
