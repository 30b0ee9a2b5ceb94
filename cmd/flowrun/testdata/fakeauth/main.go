// Command fakeauth is a plugin with a device login whose service is a folder: a
// person decides by writing granted or denied into the file decision, and every
// request is a line of the file requests.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type config struct {
	BaseURL      string         `json:"base_url" doc:"Name of the service" default:"https://login.example"`
	Folder       string         `json:"folder" doc:"Stands for the service"`
	ClientSecret string         `json:"client_secret,omitempty" secret:"true"`
	Scopes       []string       `json:"scopes,omitempty"`
	Code         string         `json:"code" default:"WDJB-MJHT"`
	URL          string         `json:"url" default:"https://login.example/device"`
	LifeS        int            `json:"life_s" default:"600"`
	TokenFrom    *sdk.TokenFrom `json:"token_from,omitempty"`
}

type call = sdk.Call[config]

type none struct{}

type startIn struct {
	Scopes []string `json:"scopes"`
}

type flow struct {
	FlowID          string    `json:"flow_id"`
	UserCode        string    `json:"user_code"`
	VerificationURL string    `json:"verification_url"`
	ExpiresAt       time.Time `json:"expires_at"`
	Scopes          []string  `json:"scopes,omitempty"`
}

type waitIn struct {
	FlowID string `json:"flow_id"`
}

type waitOut struct {
	State         string    `json:"state"`
	Scopes        []string  `json:"scopes"`
	MissingScopes []string  `json:"missing_scopes"`
	ExpiresAt     time.Time `json:"expires_at"`
}

type revokeIn struct {
	Which  string `json:"which" default:"access"`
	Forget bool   `json:"forget" default:"false"`
}

type revokeOut struct {
	Revoked bool `json:"revoked"`
}

type status struct {
	State     string     `json:"state"`
	ExpiresAt *time.Time `json:"expires_at"`
	Scopes    []string   `json:"scopes"`
}

type tokenOut struct {
	Token string `json:"token" secret:"true"`
}

func main() {
	sdk.New("fakeauth", "1.0.0", "A login without a service",
		sdk.UsesState(), sdk.TokenAction("token"),
		sdk.Login{Start: "begin", Wait: "confirm", Status: "known", Revoke: "leave", Scopes: []string{"openid", "email", "profile"}},
		sdk.CheckConnection(func(c *call) (string, error) {
			ask(c, "check")
			if read(c, "decision") == "broken" {
				return "", sdk.Errorf(sdk.CodeUnavailable, "the service is down")
			}
			if read(c, "token") == "" {
				return "", sdk.AuthRequired("nobody has logged in to %s", c.Connection())
			}
			return "ann@example.com", nil
		}),
		sdk.Idempotent("begin", "Begin a login", start),
		sdk.Idempotent("confirm", "Wait for the person", wait),
		sdk.Idempotent("leave", "Log out", revoke),
		sdk.Read("known", "What is known of the token", func(c *call, _ none) (status, error) {
			if read(c, "token") == "" {
				return status{State: "none"}, nil
			}
			until := time.Date(2031, 5, 4, 3, 2, 1, 0, time.UTC)
			return status{State: "valid", ExpiresAt: &until, Scopes: strings.Fields(read(c, "token"))}, nil
		}),
		sdk.Read("token", "The token", func(c *call, _ none) (tokenOut, error) { return tokenOut{"fake-access-token-4711"}, nil }),
	).Serve()
}

func path(c *call, name string) string { return filepath.Join(c.Config.Folder, name) }

func read(c *call, name string) string {
	data, err := os.ReadFile(path(c, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// ask counts a request of the service.
func ask(c *call, what string) {
	file, err := os.OpenFile(path(c, "requests"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(file, what)
		err = file.Close()
	}
	if err != nil {
		panic(err)
	}
}

func start(c *call, in startIn) (flow, error) {
	sum := sha256.Sum256([]byte(c.Run.IdempotencyKey))
	id := hex.EncodeToString(sum[:8])
	entry, err := c.State().Get(id)
	if err != nil {
		return flow{}, err
	}
	var f flow
	if entry.Version > 0 && json.Unmarshal(entry.Value, &f) == nil && f.ExpiresAt.After(time.Now()) {
		return f, nil
	}
	ask(c, "start "+strings.Join(in.Scopes, " "))
	f = flow{
		FlowID: id, UserCode: c.Config.Code, VerificationURL: c.Config.URL, Scopes: in.Scopes,
		ExpiresAt: time.Now().Add(time.Duration(c.Config.LifeS) * time.Second).UTC(),
	}
	encoded, err := json.Marshal(f)
	if err == nil {
		_, err = c.State().Put(id, encoded, entry.Version, 0)
	}
	return f, err
}

func wait(c *call, in waitIn) (waitOut, error) {
	entry, err := c.State().Get(in.FlowID)
	var f flow
	if err == nil {
		err = json.Unmarshal(entry.Value, &f)
	}
	if err != nil {
		return waitOut{}, err
	}
	if time.Now().After(f.ExpiresAt) {
		return waitOut{}, sdk.Errorf(sdk.CodeExpired, "the code has run out")
	}
	ask(c, "poll")
	switch decision := read(c, "decision"); decision {
	case "denied":
		return waitOut{}, sdk.Errorf(sdk.CodeDenied, "the person said no")
	case "granted":
		err := errors.Join(os.WriteFile(path(c, "token"), []byte(strings.Join(f.Scopes, " ")), 0o600), c.State().Delete(in.FlowID, entry.Version))
		return waitOut{State: "granted", Scopes: f.Scopes, MissingScopes: []string{}, ExpiresAt: time.Now().Add(time.Hour)}, err
	}
	return waitOut{}, sdk.Pending{
		RetryAfter: 200 * time.Millisecond, Message: "waiting for the person",
		Prompt: &sdk.Prompt{Title: "Log in", URL: f.VerificationURL, UserCode: f.UserCode, ExpiresAt: f.ExpiresAt},
	}
}

func revoke(c *call, in revokeIn) (revokeOut, error) {
	ask(c, "revoke "+in.Which)
	if in.Forget {
		if err := os.Remove(path(c, "token")); err != nil {
			return revokeOut{}, err
		}
	}
	if read(c, "decision") == "broken" {
		return revokeOut{}, sdk.Errorf(sdk.CodeUnavailable, "the service is down")
	}
	return revokeOut{Revoked: true}, nil
}
