package mail

import (
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// Config is a connection: a server that takes mail, and what may be sent by it.
type Config struct {
	Host     string `json:"host" min:"1" doc:"The server that takes the mail" example:"smtp.example.com"`
	Port     int    `json:"port,omitempty" min:"1" max:"65535" doc:"Its port; 587 where nothing is said, with security tls 465, with none 25"`
	Security string `json:"security" enum:"starttls,tls,none" default:"starttls" doc:"starttls: begin in clear, and go on in TLS or not at all. tls: TLS from the first byte. none: no TLS, for servers of a private network or of this machine"`

	Auth     string `json:"auth" enum:"auto,none,plain,login,cram-md5,scram-sha-1,scram-sha-256,xoauth2" default:"auto" doc:"How to log in. auto: the best way that the server offers, where there is a user; xoauth2 where there is a token"`
	Username string `json:"username,omitempty" doc:"User to log in as; with a token whose token it is"`
	Password string `json:"password,omitempty" secret:"true" doc:"Password of the user"`
	sdk.TokenSettings

	From         string   `json:"from" min:"3" doc:"Sender of a message that names none: an address, with or without a name" example:"Reports <reports@example.com>"`
	Senders      []string `json:"senders,omitempty" doc:"Other senders that steps may name: addresses, * stands for anything within one side of the @"`
	EnvelopeFrom string   `json:"envelope_from,omitempty" doc:"Address that failures of delivery go to, instead of the sender's"`
	ReplyTo      string   `json:"reply_to,omitempty" doc:"Where answers go, unless the step says it"`
	To           []string `json:"to,omitempty" max:"100" doc:"Recipients of a message that names none, and of outputs that are delivered here"`
	Recipients   []string `json:"recipients,omitempty" doc:"The only recipients that messages may go to: addresses, * stands for anything within one side of the @; without it anybody"`

	CAFile string `json:"ca_file,omitempty" doc:"PEM file with certificates to trust besides the system's"`
	sdk.ClientCertificate
	sdk.NetworkSettings
	Helo     string `json:"helo,omitempty" doc:"Name to greet the server with; the address of this end where it is not said" example:"flowrun.example.com"`
	Timeout  string `json:"timeout" default:"1m" doc:"How long the server may take for one answer, at most 10m"`
	MaxBytes int64  `json:"max_bytes" default:"26214400" min:"1" max:"67108864" doc:"Most bytes of a message as it is sent; attachments grow by a third"`
}

// The ways to secure a connection.
const (
	securityTLS  = "tls"
	securityNone = "none"
)

// mostTimeout bounds how long one answer may take.
const mostTimeout = 10 * time.Minute

// port is where the server is.
func (c Config) port() int {
	switch {
	case c.Port != 0:
		return c.Port
	case c.Security == securityTLS:
		return 465
	case c.Security == securityNone:
		return 25
	}
	return 587
}

// timeout is how long one answer may take; the setting was checked.
func (c Config) timeout() time.Duration {
	if d, err := time.ParseDuration(c.Timeout); err == nil && d > 0 {
		return d
	}
	return time.Minute
}

// hasToken reports whether the connection logs in with a token.
func (c Config) hasToken() bool { return c.Token != "" || c.TokenFrom != nil }

// checkConfig finds what the tags can't say.
func checkConfig(c Config) []sdk.Problem {
	var problems []sdk.Problem
	say := func(pointer, detail, format string, args ...any) {
		problems = append(problems, sdk.Problemf(pointer, format, args...).WithDetail("%s", detail))
	}
	problems = append(problems, c.checkLogin()...)
	if c.Security == securityNone && !c.Private && len(c.Networks) == 0 {
		say("/security", "set private: true as well where the server is in a private network or on this machine; else use starttls or tls", "none is for servers of a private network")
	}
	if d, err := time.ParseDuration(c.Timeout); err != nil || d < time.Second || d > mostTimeout {
		say("/timeout", "", "must be a duration from 1s to %s", mostTimeout)
	}
	if c.Helo != "" && !isHelo(c.Helo) {
		say("/helo", "write a name such as flowrun.example.com, or an address such as [192.0.2.1]", "is no name of a host")
	}
	for _, one := range []struct{ name, text string }{{"from", c.From}, {"reply_to", c.ReplyTo}} {
		if _, wrong := parseMailbox(one.text); one.text != "" && wrong != "" {
			say("/"+one.name, "write ann@example.com or Ann <ann@example.com>", "%s", wrong)
		}
	}
	if _, wrong := parseAddress(c.EnvelopeFrom); c.EnvelopeFrom != "" && wrong != "" {
		say("/envelope_from", "write an address without a name", "%s", wrong)
	}
	for i, text := range c.To {
		m, wrong := parseMailbox(text)
		if wrong == "" && len(c.Recipients) > 0 && !takes(c.Recipients, m) {
			wrong = "is none of the recipients of the connection"
		}
		if wrong != "" {
			say(sdk.Pointer("to", i), "", "%s", wrong)
		}
	}
	for _, list := range []struct {
		name     string
		patterns []string
	}{{"senders", c.Senders}, {"recipients", c.Recipients}} {
		for i, text := range list.patterns {
			if _, wrong := parsePattern(text); wrong != "" {
				say(sdk.Pointer(list.name, i), "write ann@example.com, *@example.com or *@*.example.com", "%s", wrong)
			}
		}
	}
	return problems
}

// checkLogin says what of the ways to log in does not go together.
func (c Config) checkLogin() (problems []sdk.Problem) {
	say := func(pointer, format string, args ...any) {
		problems = append(problems, sdk.Problemf(pointer, format, args...))
	}
	isToken := c.Auth == authXOAuth2
	switch {
	case c.Auth == authNone:
		if c.Username != "" || c.Password != "" || c.hasToken() {
			say("/auth", "is none, and there is something to log in with")
		}
		return problems
	case c.Password != "" && c.hasToken():
		say("/password", "must not be set beside a token")
	case isToken && !c.hasToken():
		say("/auth", "xoauth2 needs token or token_from")
	case c.Auth != authAuto && !isToken && c.hasToken():
		say("/auth", "with a token it is xoauth2")
	case c.Auth != authAuto && !isToken && c.Password == "":
		say("/password", "is needed to log in")
	}
	if c.Username == "" && (c.Password != "" || c.hasToken() || c.Auth != authAuto) {
		say("/username", "is needed to log in")
	}
	if c.Username != "" && c.Password == "" && !c.hasToken() && c.Auth == authAuto {
		say("/password", "is needed beside username, or a token")
	}
	if hasControl(c.Username) || hasControl(c.Password) || hasControl(c.Token) {
		say("", "user, password and token must not hold line breaks or control characters")
	}
	return problems
}
