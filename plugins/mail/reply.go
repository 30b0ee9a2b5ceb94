package mail

import (
	"errors"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// codeClosing is the reply of a server that ends the connection.
const codeClosing = 421

// mostRetryAfter bounds how long a server's words make us wait.
const mostRetryAfter = time.Hour

// failed makes the error of a step of the conversation that did not end well. Nothing of a
// message was taken, unless the caller knows better.
func (s *session) failed(err error) *sdk.Error {
	if said, is := errors.AsType[*textproto.Error](err); is && said.Code >= 400 {
		return s.refusalError(said)
	}
	if _, short := errors.AsType[textproto.ProtocolError](err); short && s.wire.broke != nil {
		err = s.wire.broke // a part of a line is no line
	}
	s.broken = true
	failure := s.call.NetworkError(err)
	failure.Applied = sdk.NotApplied
	switch {
	case failure.Code == sdk.CodeCanceled || failure.Code == sdk.CodeTimeout:
	case errors.Is(err, errTooMuch), isLogin(err):
		failure.Code = sdk.CodeUnexpectedResponse
	case isProtocol(err):
		failure.Code, failure.Message = sdk.CodeUnexpectedResponse, "what answers does not speak SMTP: "+sdk.Shown(err.Error(), 200)
	case strings.Contains(err.Error(), "does not look like a TLS handshake"):
		failure.Message = "it does not speak TLS there"
		failure.Hint = "security: tls is for ports that speak TLS from the first byte (465), starttls for the others (587, 25)"
	}
	failure.Message = s.stage + " at " + s.where() + ": " + failure.Message
	return failure
}

func isLogin(err error) bool {
	_, is := errors.AsType[loginError](err)
	return is
}

// isProtocol reports an answer that is none of SMTP.
func isProtocol(err error) bool {
	_, is := errors.AsType[textproto.ProtocolError](err)
	_, unexpected := errors.AsType[*textproto.Error](err)
	return is || unexpected || strings.Contains(err.Error(), "illegal base64")
}

// reply is what a server says: a code, an enhanced status where it has one, and words.
type reply struct {
	code   int
	status string // "5.1.1", "" for none
	words  string
}

var enhanced = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)`) })

// readReply takes a reply apart. The enhanced status is repeated on each of its lines.
func readReply(said *textproto.Error) reply {
	r := reply{code: said.Code}
	var lines []string
	for _, line := range strings.Split(said.Msg, "\n") {
		line = strings.TrimSpace(line)
		if found := enhanced().FindStringSubmatch(line); found != nil && found[1][:1] == strconv.Itoa(said.Code/100) {
			r.status, line = found[1], line[len(found[0]):]
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	r.words = sdk.Shown(strings.Join(lines, " "), 400)
	return r
}

func refusalOf(address string, said *textproto.Error) refusal {
	r := readReply(said)
	return refusal{Address: address, Code: r.code, Status: r.status, Message: r.words}
}

// refusalError makes the error of a reply that refuses.
func (s *session) refusalError(said *textproto.Error) *sdk.Error {
	r := readReply(said)
	text := strings.TrimSpace(strconv.Itoa(r.code) + " " + r.status)
	failure := sdk.Refused(r.kind(), "the server %s refuses %s: %s %s", s.where(), s.stage, text, r.words)
	failure.Message = sdk.Shown(strings.TrimSpace(failure.Message), 700)
	failure.Reason = r.status
	failure.RetryAfter = r.retryAfter()
	failure.Details = map[string]any{"code": r.code, "status": r.status, "stage": s.stage}
	failure.Hint = r.hint()
	return failure
}

// kind is what a refusal means, by its code and its enhanced status (RFC 3463, RFC 4954,
// RFC 5248).
func (r reply) kind() sdk.Code {
	switch r.code {
	case 535:
		return sdk.CodeUnauthorized
	case 530, 534, 432:
		return sdk.CodeAuthRequired
	case 538:
		return sdk.CodeForbidden // the way to log in wants TLS
	}
	if r.code < 500 {
		if r.isFlood() {
			return sdk.CodeRateLimited
		}
		return sdk.CodeUnavailable
	}
	class, detail := r.subject()
	switch {
	case r.status == "5.6.7", r.status == "5.6.9":
		return sdk.CodeUnsupported // addresses beyond ASCII
	case class == 7 && (detail == 8 || detail == 9):
		return sdk.CodeUnauthorized
	case class == 7:
		return sdk.CodeForbidden
	case class == 1 || class == 2 || class == 3 && detail == 4 || class == 6:
		return sdk.CodeInvalid
	case class == 5 && detail != 3:
		return sdk.CodeUnsupported
	case r.code >= 500 && r.code <= 504 || r.code == 555:
		return sdk.CodeUnsupported
	case r.code == 521 || r.code == 554 || r.code == 556:
		return sdk.CodeForbidden
	}
	return sdk.CodeInvalid
}

// subject is what an enhanced status is about: 5.1.1 is 1, an address, and 1, a mailbox.
func (r reply) subject() (class, detail int) {
	parts := strings.Split(r.status, ".")
	if len(parts) != 3 {
		return 0, 0
	}
	class, _ = strconv.Atoi(parts[1]) // digits
	detail, _ = strconv.Atoi(parts[2])
	return class, detail
}

// floods are how servers say that there are too many messages; one status alone says it.
func floods() []string {
	return []string{"rate limit", "ratelimit", "too many", "throttl", "sending limit", "slow down", "too fast"}
}

func (r reply) isFlood() bool {
	if r.status == "4.7.28" {
		return true
	}
	words := strings.ToLower(r.words)
	for _, flood := range floods() {
		if strings.Contains(words, flood) {
			return true
		}
	}
	return false
}

var wait = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(\d{1,6})\s*(s|sec|second|m|min|minute)s?\b`) })

// retryAfter is how long the words of a refusal for now say to wait, 0 where they don't.
func (r reply) retryAfter() time.Duration {
	if r.code >= 500 {
		return 0
	}
	found := wait().FindStringSubmatch(r.words)
	if found == nil {
		return 0
	}
	number, _ := strconv.Atoi(found[1]) // digits
	unit := time.Second
	if strings.HasPrefix(strings.ToLower(found[2]), "m") {
		unit = time.Minute
	}
	return min(time.Duration(number)*unit, mostRetryAfter)
}

// hint is what to do about a refusal.
func (r reply) hint() string {
	switch r.kind() {
	case sdk.CodeUnauthorized:
		return "check username and password of the connection; some services want a password for programs, or xoauth2"
	case sdk.CodeAuthRequired:
		return "set username and password of the connection, or do what the server says, and resume the run"
	}
	return ""
}
