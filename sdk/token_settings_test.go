package sdk_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type tokenConfig struct {
	sdk.HTTPSettings
	sdk.TokenSettings
}

// tokenUser shows the token that its connection has, and what the host knows of
// the stored one.
func tokenUser() *sdk.Plugin {
	type in struct {
		Force   bool   `json:"force,omitempty"`
		Replace bool   `json:"replace,omitempty"`
		Fresh   string `json:"fresh,omitempty"`
		Fail    string `json:"fail,omitempty"`
	}
	type out struct {
		Text string `json:"text"`
	}
	return sdk.New("p", "1", "",
		sdk.Read("access", "", func(c *sdk.Call[tokenConfig], _ in) (out, error) {
			token, err := c.AccessToken(c.Config.TokenSettings)
			return out{strings.ToUpper(token)}, err // in another form, or it would be masked
		}),
		sdk.Read("token", "", func(c *sdk.Call[tokenConfig], in in) (out, error) {
			token, err := c.Token(sdk.TokenRequest{Force: in.Force, Replace: in.Replace, Refresh: func(context.Context, *sdk.Token) (*sdk.Token, error) {
				if in.Fail != "" {
					return nil, sdk.AuthRequired("the grant is gone").WithReason(in.Fail)
				}
				return &sdk.Token{AccessToken: in.Fresh, ExpiresAt: time.Now().Add(time.Hour)}, nil
			}})
			if err != nil {
				return out{}, err
			}
			return out{token.RefreshToken}, nil
		}),
		sdk.Read("stored", "", func(c *sdk.Call[tokenConfig], _ in) (out, error) {
			stored, err := c.StoredToken()
			return out{stored.State + " " + stored.Reason}, err
		}))
}

func text(t *testing.T, r sdktest.Result) string {
	t.Helper()
	var out struct {
		Text string `json:"text"`
	}
	r.Decode(t, &out)
	return strings.TrimSpace(out.Text)
}

func TestAccessTokenComesFromTheSettingOrFromTheHost(t *testing.T) {
	config := map[string]any{"base_url": "https://example.com", "token": "own-token"}
	if got := text(t, sdktest.Open(t, tokenUser(), config).Call("access", nil)); got != "OWN-TOKEN" {
		t.Errorf("own token: %q", got)
	}
	config = map[string]any{"base_url": "https://example.com", "token_from": map[string]any{"connection": "login"}}
	p := sdktest.Open(t, tokenUser(), config)
	p.Host().SetToken(sdktest.Connection, "", sdk.Token{ID: "1", AccessToken: "from-host"})
	if got := text(t, p.Call("access", nil)); got != "FROM-HOST" {
		t.Errorf("token_from: %q", got)
	}
	config = map[string]any{"base_url": "https://example.com"}
	if got := text(t, sdktest.Open(t, tokenUser(), config).Call("access", nil)); got != "" {
		t.Errorf("none: %q", got)
	}
	config["token"], config["token_from"] = "own-token", map[string]any{"connection": "login"}
	problems := sdktest.Serve(t, tokenUser()).Connect("c", config)
	if len(problems) != 1 || problems[0].Pointer != "/token_from" {
		t.Errorf("both: %v", problems)
	}
}

func TestForcedTokenReplacesOneThatIsValid(t *testing.T) {
	p := sdktest.Open(t, tokenUser(), map[string]any{"base_url": "https://example.com"})
	stored := func(want string) {
		t.Helper()
		if got := text(t, p.Call("stored", nil)); got != want {
			t.Errorf("stored: %q, want %q", got, want)
		}
	}
	stored("none")
	for _, expires := range []time.Time{{}, time.Now().Add(time.Hour)} {
		p.Host().SetToken(sdktest.Connection, "", sdk.Token{ID: "1", AccessToken: "first-token", RefreshToken: "refresh-one", ExpiresAt: expires})
		text(t, p.Call("token", map[string]any{"fresh": "unused-token"}))
		if got := p.Host().Token(sdktest.Connection, "").AccessToken; got != "first-token" {
			t.Errorf("a valid token was replaced by %q", got)
		}
		text(t, p.Call("token", map[string]any{"fresh": "second-token", "force": true}))
		if got := p.Host().Token(sdktest.Connection, ""); got.AccessToken != "second-token" || got.RefreshToken != "refresh-one" {
			t.Errorf("after a forced refresh: %v", got)
		}
		text(t, p.Call("token", map[string]any{"fresh": "third-token", "force": true, "replace": true}))
		if got := p.Host().Token(sdktest.Connection, ""); got.AccessToken != "third-token" || got.RefreshToken != "" {
			t.Errorf("after a login: %v", got)
		}
	}
	stored("valid")
	if err := p.Call("token", map[string]any{"force": true, "fail": "invalid_grant"}).Err; err == nil || err.Code != sdk.CodeAuthRequired {
		t.Errorf("lost grant: %v", err)
	}
	stored("auth_required invalid_grant")
}

func TestHTTPAbsoluteURLAndSecretQuery(t *testing.T) {
	var seen url.URL
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = *r.URL
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte(`{"message":"no canary-99 for you"}`))
	})
	request := sdk.Request{
		URL: base + "/a%2Fb?x=1#part", Query: url.Values{"access_token": {"canary-99"}}, SecretQuery: []string{"access_token"},
	}
	err := openFetcher(t, base, request).Call("read", nil).Err
	if err == nil || err.HTTPStatus != http.StatusTeapot || strings.Contains(err.Message, "canary") {
		t.Fatalf("got %v", err)
	}
	if shown, _ := err.Details["url"].(string); strings.Contains(shown, "canary") || !strings.Contains(shown, "/a%2Fb?") {
		t.Errorf("details show %q", shown)
	}
	if seen.EscapedPath() != "/a%2Fb" || seen.RawQuery != "x=1&access_token=canary-99" {
		t.Errorf("sent to %s?%s", seen.EscapedPath(), seen.RawQuery)
	}
	for _, wrong := range []string{"/relative", "ftp://example.com/", "https://user:canary-99@example.com/"} {
		err := openFetcher(t, "https://elsewhere.example", sdk.Request{URL: wrong}).Call("read", nil).Err
		if err == nil || err.Code != sdk.CodeInvalid || err.Applied != sdk.NotApplied || strings.Contains(err.Message, "canary") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestHTTPWithBaseSendsToAnotherRoot(t *testing.T) {
	var path string
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { path = r.URL.Path })
	open := func(root string) *sdktest.Plugin {
		plugin := fetcher(sdk.Request{Path: "/token"}, func(c *sdk.HTTPClient) *sdk.HTTPClient { return c.WithPath("/api").WithBase(root) })
		return sdktest.Open(t, plugin, map[string]any{"base_url": "https://elsewhere.example"})
	}
	if err := open(base+"/oauth/").Call("read", nil).Err; err != nil || path != "/oauth/token" {
		t.Errorf("sent to %q: %v", path, err)
	}
	if err := open("nowhere").Call("read", nil).Err; err == nil || err.Code != sdk.CodeInvalid {
		t.Errorf("a root that is no URL: %v", err)
	}
}
