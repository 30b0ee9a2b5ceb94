package mail

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail/smtp"

	"github.com/flowrun/flowrun/sdk"
)

// The ways to log in.
const (
	authAuto    = "auto"
	authNone    = "none"
	authPlain   = "plain"
	authLogin   = "login"
	authCRAM    = "cram-md5"
	authSCRAM1  = "scram-sha-1"
	authSCRAM2  = "scram-sha-256"
	authXOAuth2 = "xoauth2"
)

// preferred are the ways with a password, the best first.
func preferred() []string { return []string{authSCRAM2, authSCRAM1, authPlain, authLogin, authCRAM} }

// mostIterations bounds what a server may ask of a password's hash: it is work of this
// machine.
const mostIterations = 1_000_000

// login proves who sends, as the connection says, in a session that is secured.
func (s *session) login() error {
	config := s.call.Config
	if config.Auth == authNone || config.Username == "" {
		return nil
	}
	if config.Security == securityNone && !s.loopback {
		return sdk.Forbidden("a password or a token goes through a network in TLS alone: the connection says security: none").
			WithHint("use starttls or tls; without TLS one is sent on this machine alone")
	}
	offered, list := s.client.Extension("AUTH")
	if !offered {
		return sdk.Refused(sdk.CodeUnsupported, "the server %s offers no login, and the connection has a user", s.where()).
			WithHint("take username and password out of the connection where its server wants none, or check host and port")
	}
	how, err := s.mechanism(strings.Fields(strings.ToLower(list)))
	if err != nil {
		return err
	}
	auth, err := s.authFor(how)
	if err != nil {
		return err
	}
	s.stage = "AUTH " + strings.ToUpper(how)
	if err := s.client.Auth(auth); err != nil {
		return s.failed(err)
	}
	return nil
}

// mechanism is the way to log in.
func (s *session) mechanism(offered []string) (string, error) {
	config := s.call.Config
	how := config.Auth
	switch {
	case how == authAuto && config.hasToken():
		how = authXOAuth2
	case how == authAuto:
		for _, way := range preferred() {
			if slices.Contains(offered, way) {
				return way, nil
			}
		}
		return "", sdk.Refused(sdk.CodeUnsupported, "the server %s offers no way to log in with a password that is known: it has %s", s.where(), sdk.Shown(strings.Join(offered, ", "), 200))
	}
	if !slices.Contains(offered, how) {
		return "", sdk.Refused(sdk.CodeUnsupported, "the server %s does not offer to log in with %s: it has %s", s.where(), how, sdk.Shown(strings.Join(offered, ", "), 200)).
			WithHint("set `auth` of the connection to one of them")
	}
	return how, nil
}

func (s *session) authFor(how string) (smtp.Auth, error) {
	config := s.call.Config
	switch how {
	case authPlain:
		return smtp.PlainAuth("", config.Username, config.Password, config.Host, true), nil // in clear only where login lets it
	case authLogin:
		return smtp.LoginAuth(config.Username, config.Password, config.Host, true), nil
	case authCRAM:
		return smtp.CRAMMD5Auth(config.Username, config.Password), nil
	case authSCRAM1:
		return &provenAuth{Auth: smtp.ScramSHA1Auth(config.Username, config.Password), cut: s.drop}, nil
	case authSCRAM2:
		return &provenAuth{Auth: smtp.ScramSHA256Auth(config.Username, config.Password), cut: s.drop}, nil
	}
	token, err := s.call.AccessToken(config.TokenSettings)
	if err != nil {
		return nil, sdk.NotSent(err)
	}
	if hasControl(token) {
		return nil, sdk.Refused(sdk.CodeInvalid, "the token holds control characters")
	}
	return smtp.XOAuth2Auth(config.Username, token), nil
}

// provenAuth is SCRAM that bounds the work which a server asks for, and ends only when the
// server has proved that it knows the password too. With a server that does not follow, the
// connection is cut: it is told nothing more.
type provenAuth struct {
	smtp.Auth
	cut    func()
	proved bool
}

// loginError is why a login was broken off: what the server said is not to be trusted.
type loginError struct{ error }

// Next answers a challenge.
func (a *provenAuth) Next(challenge []byte, more bool) ([]byte, error) {
	answer, err := a.next(challenge, more)
	if err != nil {
		a.cut()
		err = loginError{err}
	}
	return answer, err
}

func (a *provenAuth) next(challenge []byte, more bool) ([]byte, error) {
	if !more && !a.proved {
		return nil, errors.New("the server did not prove that it knows the password")
	}
	if bytes.HasPrefix(challenge, []byte("r=")) {
		for _, part := range bytes.Split(challenge, []byte(",")) {
			text, is := bytes.CutPrefix(part, []byte("i="))
			if rounds, err := strconv.Atoi(string(text)); is && (err != nil || rounds < 1 || rounds > mostIterations) {
				return nil, errors.New("the server asks for more rounds of a hash than are done")
			}
		}
	}
	answer, err := a.Auth.Next(challenge, more)
	if err == nil && more && bytes.HasPrefix(challenge, []byte("v=")) {
		a.proved = true
	}
	return answer, err
}
