// Command things is a plugin of a service that flowrun has no simulator of: with
// reads, writes, a login and a list to poll. It names things-sim, beside it, as what
// stands for the service where THINGS_SIMULATOR was set when it was built.
package main

import (
	"net/url"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// simulator is set by the linker.
var (
	simulator string
	baseURL   string
	name      = "things"
)

type config struct {
	sdk.HTTPSettings
	Token     string         `json:"token,omitempty" doc:"Bearer token" secret:"true"`
	TokenFrom *sdk.TokenFrom `json:"token_from,omitempty" doc:"Connection that gives the token"`
}

type none struct{}

type thing struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type thingIn struct {
	Name string `json:"name" min:"1"`
}

type listOut struct {
	Things []thing `json:"things"`
}

type tokenOut struct {
	Token string `json:"token" secret:"true"`
}

type keyOut struct {
	Key string `json:"key" secret:"true"`
}

type keyIn struct {
	Key string `json:"key" secret:"true"`
}

type flow struct {
	FlowID          string    `json:"flow_id"`
	UserCode        string    `json:"user_code"`
	VerificationURL string    `json:"verification_url"`
	ExpiresAt       time.Time `json:"expires_at"`
}

type flowIn struct {
	FlowID string `json:"flow_id"`
}

type startIn struct {
	Scopes []string `json:"scopes,omitempty"`
}

type stateOut struct {
	State string `json:"state"`
}

type revokeOut struct {
	Revoked bool `json:"revoked"`
}

// client has the connection's token, or the one of its owner.
func client(c *sdk.Call[config]) (*sdk.HTTPClient, error) {
	if c.Config.TokenFrom != nil {
		token, err := c.Token(sdk.TokenRequest{})
		if err != nil {
			return nil, err
		}
		return c.HTTP().WithBearer(token.AccessToken), nil
	}
	return c.HTTP().WithBearer(c.Config.Token), nil
}

func do(c *sdk.Call[config], request *sdk.Request, into any) error {
	http, err := client(c)
	if err != nil {
		return err
	}
	response, err := http.Do(request)
	if err != nil {
		return err
	}
	return response.JSON(into)
}

func list(c *sdk.Call[config], _ none) (out listOut, err error) {
	err = do(c, &sdk.Request{Path: "/things"}, &out)
	return out, err
}

func create(c *sdk.Call[config], in thingIn) (out thing, err error) {
	err = do(c, &sdk.Request{Method: "POST", Path: "/things", JSON: in}, &out)
	return out, err
}

func find(c *sdk.Call[config], in thingIn) (answer sdk.Reconciled[thing], err error) {
	err = do(c, &sdk.Request{Path: "/things", Query: url.Values{"name": {in.Name}}}, &listOut{})
	return sdk.Reconciled[thing]{Applied: sdk.NotApplied}, err
}

func token(c *sdk.Call[config], _ none) (out tokenOut, err error) {
	err = do(c, &sdk.Request{Method: "POST", Path: "/token"}, &out)
	return out, err
}

func makeKey(c *sdk.Call[config], _ none) (out keyOut, err error) {
	err = do(c, &sdk.Request{Method: "POST", Path: "/keys"}, &out)
	return out, err
}

func useKey(c *sdk.Call[config], in keyIn) (out thing, err error) {
	err = do(c, &sdk.Request{Method: "POST", Path: "/use", JSON: map[string]string{"key": in.Key}}, &out)
	return out, err
}

func start(c *sdk.Call[config], _ startIn) (out flow, err error) {
	err = do(c, &sdk.Request{Method: "POST", Path: "/device"}, &out)
	return out, err
}

func wait(c *sdk.Call[config], in flowIn) (out stateOut, err error) {
	err = do(c, &sdk.Request{Method: "POST", Path: "/wait", JSON: in}, &out)
	return out, err
}

func revoke(c *sdk.Call[config], _ none) (out revokeOut, err error) {
	err = do(c, &sdk.Request{Method: "POST", Path: "/revoke"}, &out)
	return out, err
}

func plugin() *sdk.Plugin {
	parts := []sdk.Part{
		sdk.TokenAction("token"),
		sdk.Login{Start: "device_start", Wait: "device_wait", Revoke: "revoke"},
		sdk.CheckConnection(func(c *sdk.Call[config]) (string, error) {
			_, err := list(c, none{})
			return "somebody", err
		}),
		sdk.Read("list", "List things", list, sdk.Timeout(5*time.Second)),
		sdk.Once("create", "Make a thing", create, sdk.ReconcileWith(find), sdk.Timeout(5*time.Second)),
		sdk.Read("token", "Give an access token", token, sdk.Timeout(5*time.Second)),
		sdk.Once("make_key", "Make a key", makeKey),
		sdk.Once("use_key", "Use a key", useKey),
		sdk.Once("device_start", "Begin a login", start),
		sdk.Read("device_wait", "Wait for a login", wait),
		sdk.Idempotent("revoke", "Withdraw the token", revoke),
	}
	if simulator != "" {
		parts = append(parts, sdk.Simulator(simulator))
	}
	if baseURL != "" {
		parts = append(parts, sdk.BaseURL(baseURL))
	}
	return sdk.New(name, "1.0.0", "Things of a service without a simulator", parts...)
}

func main() { plugin().Serve() }
