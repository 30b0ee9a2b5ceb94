package sdk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/sdk"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type stateIn struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Version uint64 `json:"version"`
	Delete  bool   `json:"delete"`
}

type stateOut struct {
	Value   string `json:"value"`
	Version uint64 `json:"version"`
	Changed bool   `json:"changed"`
}

func TestState(t *testing.T) {
	get := func(c *sdk.Call[struct{}], in stateIn) (stateOut, error) {
		entry, err := c.State().Get(in.Key)
		return stateOut{Value: string(entry.Value), Version: entry.Version}, err
	}
	put := func(c *sdk.Call[struct{}], in stateIn) (out stateOut, err error) {
		if in.Delete {
			err = c.State().Delete(in.Key, in.Version)
		} else {
			out.Version, err = c.State().Put(in.Key, []byte(in.Value), in.Version, 0)
		}
		if errors.Is(err, sdk.ErrStateChanged) {
			return stateOut{Changed: true}, nil
		}
		return out, err
	}
	p := sdktest.Open(t, sdk.New("p", "1", "", sdk.UsesState(), sdk.Read("get", "", get), sdk.Once("put", "", put)), nil)
	if !p.Describe().Wants.State {
		t.Error("the plugin does not say that it keeps state")
	}
	steps := []struct {
		action string
		in     stateIn
		want   stateOut
	}{
		{"get", stateIn{Key: "a"}, stateOut{}},
		{"put", stateIn{Key: "a", Value: "1"}, stateOut{Version: 1}},
		{"put", stateIn{Key: "a", Value: "2"}, stateOut{Changed: true}},
		{"put", stateIn{Key: "a", Value: "2", Version: 1}, stateOut{Version: 2}},
		{"get", stateIn{Key: "a"}, stateOut{Value: "2", Version: 2}},
		{"put", stateIn{Key: "a", Version: 1, Delete: true}, stateOut{Changed: true}},
		{"put", stateIn{Key: "a", Version: 2, Delete: true}, stateOut{}},
		{"get", stateIn{Key: "a"}, stateOut{}},
	}
	for i, step := range steps {
		var got stateOut
		p.Call(step.action, step.in).Decode(t, &got)
		if got != step.want {
			t.Errorf("step %d: %s %+v gave %+v, want %+v", i, step.action, step.in, got, step.want)
		}
	}
}

type tokenIn struct {
	Reject string `json:"reject,omitempty"`
	Fail   string `json:"fail,omitempty"`
}

type tokenOut struct {
	ID    string `json:"id"`
	Stale string `json:"stale"`
}

// tokenPlugin asks for a token that lives a minute at least. It logs the token,
// which must not show.
func tokenPlugin(refreshed *int) *sdk.Plugin {
	return sdk.New("p", "1", "", sdk.TokenAction("token"), sdk.Read("token", "", func(c *sdk.Call[struct{}], in tokenIn) (out tokenOut, err error) {
		token, err := c.Token(sdk.TokenRequest{MinTTL: time.Minute, Reject: in.Reject, Refresh: func(_ context.Context, stale *sdk.Token) (*sdk.Token, error) {
			*refreshed++
			if stale != nil {
				out.Stale = stale.AccessToken
			}
			switch in.Fail {
			case "login":
				return nil, sdk.AuthRequired("log in again")
			case "panic":
				panic("in Refresh")
			case "none":
				return nil, nil
			}
			return &sdk.Token{AccessToken: "canary-fresh-token", RefreshToken: "canary-refresh", ExpiresAt: time.Now().Add(time.Hour)}, nil
		}})
		if err != nil {
			return out, err
		}
		c.Log().Info("got " + token.AccessToken)
		out.ID = token.ID
		return out, nil
	}))
}

func TestTokenIsRefreshedOnceAndStoredBeforeUse(t *testing.T) {
	var refreshed int
	p := sdktest.Open(t, tokenPlugin(&refreshed), nil)
	result := p.Call("token", nil)
	var first tokenOut
	result.Decode(t, &first)
	if stored := p.Host().Token(sdktest.Connection, ""); stored.AccessToken != "canary-fresh-token" || stored.ID != first.ID || first.ID == "" {
		t.Errorf("stored %v, used %q", stored, first.ID)
	}
	if len(result.Logs) != 1 || strings.Contains(result.Logs[0].Message, "canary") {
		t.Errorf("the log shows the token: %+v", result.Logs)
	}
	var second tokenOut
	p.Call("token", nil).Decode(t, &second)
	if second.ID != first.ID || refreshed != 1 {
		t.Errorf("the second call has %q, refreshed %d times", second.ID, refreshed)
	}
	var third tokenOut
	p.Call("token", tokenIn{Reject: first.ID}).Decode(t, &third)
	if third.Stale != "canary-fresh-token" || refreshed != 2 {
		t.Errorf("a refused token: %+v, refreshed %d times", third, refreshed)
	}
}

func TestTokenFailuresEndTheLease(t *testing.T) {
	for fail, want := range map[string]sdk.Code{"login": sdk.CodeAuthRequired, "panic": sdk.CodeInternal, "none": sdk.CodeInternal} {
		t.Run(fail, func(t *testing.T) {
			var refreshed int
			p := sdktest.Open(t, tokenPlugin(&refreshed), nil)
			expired := sdk.Token{AccessToken: "canary-old-token", ExpiresAt: time.Now().Add(time.Second)}
			p.Host().SetToken(sdktest.Connection, "", expired)
			if failure := p.Call("token", tokenIn{Fail: fail}).Err; failure == nil || failure.Code != want {
				t.Errorf("got %v", failure)
			}
			if open := p.Host().OpenLeases(); open != 0 {
				t.Errorf("%d leases are open", open)
			}
			want := "canary-old-token"
			if fail == "login" {
				want = "" // the grant is gone
			}
			if stored := p.Host().Token(sdktest.Connection, ""); stored.AccessToken != want {
				t.Errorf("stored is %v, want %q", stored, want)
			}
		})
	}
}

// A host that offers nothing is no crash.
func TestNoHostServices(t *testing.T) {
	server, err := sdk.NewServer(tokenPlugin(new(int)), sdk.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	stream := &recorder{}
	if err := server.Run(t.Context(), &pluginv1.ExecuteRequest{Action: "token"}, stream.send); err != nil {
		t.Fatal(err)
	}
	failure := stream.events[0].GetFailed()
	if failure.GetCode() != pluginv1.Code_CODE_UNSUPPORTED || failure.GetApplied() != pluginv1.Error_APPLIED_NOT_APPLIED {
		t.Errorf("got %v", failure)
	}
}
