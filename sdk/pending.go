package sdk

import (
	"errors"
	"time"
)

// Pending is returned as the error of an action that is not done yet. It is no
// failure: the engine stores it and calls again after RetryAfter (0 = at once)
// with the same Checkpoint. The step's timeout bounds the whole.
type Pending struct {
	RetryAfter time.Duration
	Checkpoint []byte // opaque, given back as Call.Checkpoint; no secrets
	Message    string // what is being waited for
	Prompt     *Prompt
}

// Error makes Pending an error value.
func (p Pending) Error() string {
	if p.Message == "" {
		return "pending"
	}
	return "pending: " + p.Message
}

// asPending finds a Pending, given by value or as a pointer, in an error.
func asPending(err error) *Pending {
	if err == nil {
		return nil
	}
	if value, ok := errors.AsType[Pending](err); ok {
		return &value
	}
	if pointer, ok := errors.AsType[*Pending](err); ok {
		return pointer
	}
	return nil
}

// Prompt is something that a person must do, such as a device login: the
// terminal, the web page and notifications show it.
type Prompt struct {
	Title     string
	URL       string
	UserCode  string
	ExpiresAt time.Time // zero = never
	Message   string
}
