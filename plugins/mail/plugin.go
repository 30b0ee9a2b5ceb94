// Package mail is the plugin that sends mail over SMTP: text, and HTML made of Markdown,
// with attachments.
//
// It is a plugin like every other, on the public SDK alone. docs/services/mail.md says
// what it does, and ADR 66 why it does it so.
package mail

import (
	"crypto/rand"
	"io"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// limiter is the name of the one limiter. It has no rate of its own: the connection's
// `rate` gives it one, and a server that says "too many" closes it for all runs.
const limiter = "messages"

// mostOpen is how many messages of one connection may be on their way at a time.
const mostOpen = 8

// Options are what the plugin takes from outside.
type Options struct {
	Now    func() time.Time // clock of the date of a message, and of how long a server may take; nil = the real one
	Random io.Reader        // of the ids of messages that belong to no run; nil = the system's
}

// New returns the plugin with what a process has.
func New() *sdk.Plugin { return NewWith(Options{}) }

// NewWith returns the plugin with what a test passes in.
func NewWith(o Options) *sdk.Plugin {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	p := &plugin{now: o.Now, random: o.Random, html: newRenderer()}
	return sdk.New("mail", Version, "Sends mail over SMTP: text, HTML made of Markdown, attachments.",
		sdk.ValidateConfig(checkConfig),
		sdk.CheckConnection(p.checkConnection),
		sdk.Limit(limiter, 0, 0, sdk.MaxConcurrent(mostOpen), sdk.Scope("host", "port", "username")),
		sdk.Delivery{Action: "send", Content: "text", Markdown: "markdown", Title: "subject"},
		sdk.Keyed("send", "Send a message. Each attempt has the same Message-ID, by which servers and mailboxes may know a second one.", p.send,
			sdk.Input(inputSchema()), sdk.Limits(limiter), sdk.Timeout(5*time.Minute),
			sdk.ValidateWith(checkInput), sdk.ValidateOn(checkOnConfig),
			sdk.Example("a message", sdk.Value(exampleInput), sdk.Value(exampleOutput)),
			sdk.Example("a report with an attachment", sdk.Value(exampleReport), sdk.Value(exampleOutput)),
			sdk.Fault(sdk.CodeInvalid, "", "The input is wrong, found before anything is sent; or the server refuses an address, the size or the content for good (5xx). The reason is its enhanced status, such as 5.1.1."),
			sdk.Fault(sdk.CodeForbidden, "", "The connection may not send so, and nothing was sent; or the server refuses by its policy (5.7.x, 554), or offers no TLS."),
			sdk.Fault(sdk.CodeUnauthorized, "", "The server refuses user and password, or the token (535)."),
			sdk.Fault(sdk.CodeAuthRequired, "", "The server wants a login, or somebody to do something with the account (530, 534, 432): the run waits."),
			sdk.Fault(sdk.CodeRateLimited, "", "The server says that there are too many messages (4.7.28, or in words)."),
			sdk.Fault(sdk.CodeUnavailable, "", "No connection, or the server refuses for now (4xx), as with greylisting; what it says of how long counts."),
			sdk.Fault(sdk.CodeTimeout, "", "The server took longer for an answer than `timeout` of the connection."),
			sdk.Fault(sdk.CodeUnexpectedResponse, "", "What answers does not speak SMTP as it should, or says more than is read."),
			sdk.Fault(sdk.CodeUnsupported, "", "The server can't do what the message or the connection needs: SMTPUTF8, or a way to log in."),
		),
	)
}

// plugin is what the actions share. Safe for concurrent use.
type plugin struct {
	now    func() time.Time
	random io.Reader
	html   *htmlRenderer
}

// call is one call of an action.
type call = sdk.Call[Config]
