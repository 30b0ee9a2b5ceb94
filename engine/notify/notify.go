// Package notify sends messages to the targets of a project: a webhook that is
// posted to, or a command that is run.
package notify

import (
	"context"
	"net/http"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// Target is where a message goes: exactly one of Webhook and Command is set.
// Webhook is the clear URL; it may be a secret and stands in no error.
type Target struct {
	Name    string
	Webhook string
	Command []string // the program and its arguments; no shell
	Request *Request // of a webhook: what is sent in place of the message; nil = the message as JSON
}

// Request is what a webhook is sent, in the words of its service. It holds clear secrets:
// it stands in no error and no log.
type Request struct {
	Method string // POST or PUT
	Header http.Header
	Body   []byte
}

// Message is what a target gets, as JSON, where it says nothing of its own. Text comes
// first, so that the webhooks of chat services take it as it is.
type Message struct {
	Text     string    `json:"text"`
	To       string    `json:"to"`
	Event    string    `json:"event,omitempty"` // of a notice: failed, paused, recovered, delivery_failed
	Workflow string    `json:"workflow,omitempty"`
	Run      string    `json:"run,omitempty"`
	Step     string    `json:"step,omitempty"`
	At       time.Time `json:"at"`
	Link     string    `json:"link,omitempty"` // to the run's page, where the project says how people reach it
}

// Sender sends messages. Safe for concurrent use.
type Sender struct {
	Dir     string   // of commands: the project's root
	Environ []string // of commands: what is passed on of the engine's own
	Version string   // of flowrun, for the User-Agent

	// Started, where it is set, is told of each command that was started; what it
	// returns is called when the command has ended.
	Started func(pid int) (ended func())
}

// Send sends one message within ctx. key is the idempotency key: the same for
// every attempt. The error is nil when the target took the message; a failure
// says whether it was certainly not taken.
func (s *Sender) Send(ctx context.Context, target Target, message Message, key string) *runs.Error {
	if len(target.Command) > 0 {
		return s.run(ctx, target, message, key)
	}
	return s.post(ctx, target, message, key)
}
