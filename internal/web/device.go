package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// How long a token of a login is good: by default, and at most.
const (
	LoginLife    = 90 * 24 * time.Hour
	maxLoginLife = 366 * 24 * time.Hour
)

// pollEvery is how often a program may ask whether it was approved.
const pollEvery = 2 * time.Second

// LoginRequest asks for a token that a person approves on the page.
type LoginRequest struct {
	Machine   string    `json:"machine"` // who asks: the token's name
	Scope     string    `json:"scope"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // zero = in LoginLife
}

// LoginBegun says what the person does meanwhile.
type LoginBegun struct {
	DeviceCode string    `json:"device_code"` // what the program asks with, and shows nobody
	UserCode   string    `json:"user_code"`   // what the page shows as well
	Path       string    `json:"path"`        // of the page
	ExpiresAt  time.Time `json:"expires_at"`  // of the codes
	Interval   int       `json:"interval"`    // seconds between two questions
}

// loginPoll asks what has become of a login.
type loginPoll struct {
	DeviceCode string `json:"device_code"`
}

// States of a login.
const (
	LoginPending  = "pending"
	LoginApproved = "approved"
	LoginDenied   = "denied"
	LoginExpired  = "expired" // or it never was
)

// LoginAnswer says what has become of a login. The token is told once.
type LoginAnswer struct {
	State string       `json:"state"`
	Token *TokenAnswer `json:"token,omitempty"`
}

// loginBodyCap bounds what anybody may send.
const loginBodyCap = 4 << 10

func (s *server) beginLogin(w http.ResponseWriter, r *http.Request) error {
	if s.Devices == nil {
		return noPage()
	}
	var body LoginRequest
	if err := decodeBody(w, r, loginBodyCap, false, &body); err != nil {
		return err
	}
	request, err := s.deviceRequest(r, body)
	if err != nil {
		return err
	}
	code, begun, err := s.Devices.Begin(request)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, LoginBegun{
		DeviceCode: code, UserCode: begun.UserCode, Path: "/device?code=" + url.QueryEscape(begun.UserCode), ExpiresAt: begun.Ends.UTC(), Interval: int(pollEvery / time.Second),
	})
	return nil
}

func (s *server) deviceRequest(r *http.Request, body LoginRequest) (guard.DeviceRequest, error) {
	now := s.Devices.Now()
	request := guard.DeviceRequest{Name: machineName(body.Machine), Scope: guard.Scope(body.Scope), Until: body.ExpiresAt, Remote: r.RemoteAddr}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		request.Remote = host
	}
	if request.Until.IsZero() {
		request.Until = now.Add(LoginLife)
	}
	switch {
	case !guard.Admin.Allows(request.Scope):
		return request, wire.NewProblem(wire.CodeInvalidInput, "this is not a scope").With(diag.MeantOr(body.Scope, access.TokenScopes(), "it is one of "))
	case !request.Until.After(now):
		return request, wire.NewProblem(wire.CodeInvalidInput, "the login would have ended already")
	case request.Until.Sub(now) > maxLoginLife:
		return request, wire.NewProblem(wire.CodeInvalidInput, "a login is good for 366 days at most")
	}
	return request, nil
}

// machineName makes a name of a token of what a program says of its machine.
func machineName(text string) string {
	const most = 50
	var name []rune
	for _, r := range text {
		if len(name) == most {
			break
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._@-", r) {
			r = '-'
		}
		name = append(name, r)
	}
	cleaned := strings.TrimLeft(string(name), " ._@-")
	if cleaned == "" {
		return "login"
	}
	return cleaned
}

// pollLogin says what has become of a login, and makes the token where it was approved: no
// token lies here and waits.
func (s *server) pollLogin(w http.ResponseWriter, r *http.Request) error {
	if s.Devices == nil {
		return noPage()
	}
	var body loginPoll
	if err := decodeBody(w, r, loginBodyCap, false, &body); err != nil {
		return err
	}
	device, err := s.Devices.Take(body.DeviceCode)
	answer := LoginAnswer{State: LoginPending}
	switch {
	case errors.Is(err, guard.ErrNoDevice):
		answer.State = LoginExpired
	case err != nil:
		return err
	case device.Decided && !device.Approved:
		answer.State = LoginDenied
	case device.Decided:
		token, text, err := s.Tokens.CreateAccessToken(r.Context(), access.NewToken{
			Name: device.Name, Numbered: true, Scope: string(device.Scope), ExpiresAt: device.Until, Shorten: true, MadeWith: device.By.Grant, By: device.By.By(),
		})
		if err != nil {
			return err
		}
		answer = LoginAnswer{State: LoginApproved, Token: &TokenAnswer{TokenInfo: *token, Token: text}}
	}
	wire.WriteJSON(w, http.StatusOK, answer)
	return nil
}

func noPage() error {
	return wire.NewProblem(wire.CodeConflict, "the process that owns the store serves no web page").With(diag.Sayf("%s does", diag.Command{"serve"}))
}

// endLogin removes the token that a request came with.
func (s *server) endLogin(ctx context.Context, _ NoBody) (RemovedToken, error) {
	caller, _ := guard.CallerOf(ctx)
	if caller.ID == "" {
		return RemovedToken{}, wire.NewProblem(wire.CodeConflict, "the request came without a token: there is none to remove")
	}
	return s.removeToken(ctx, nameRequest{Name: caller.ID})
}

// BeginLogin asks a server for a login that a person approves.
func BeginLogin(ctx context.Context, r Remote, request LoginRequest) (*LoginBegun, error) {
	client := r.client()
	defer client.Close()
	return post[LoginBegun](ctx, client, "/local/login", request)
}

// PollLogin asks what has become of a login.
func PollLogin(ctx context.Context, r Remote, deviceCode string) (*LoginAnswer, error) {
	client := r.client()
	defer client.Close()
	return post[LoginAnswer](ctx, client, "/local/login/poll", loginPoll{deviceCode})
}

// EndLogin removes the token of a remote at its server.
func EndLogin(ctx context.Context, r Remote) (*RemovedToken, error) {
	client := r.client()
	defer client.Close()
	return post[RemovedToken](ctx, client, "/local/logout", NoBody{})
}
