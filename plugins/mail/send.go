package mail

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strings"

	"github.com/wneessen/go-mail/smtp"

	"github.com/flowrun/flowrun/sdk"
)

// send composes a message and hands it to the server.
func (p *plugin) send(c *call, in sendInput) (sent, error) {
	key, err := p.key(c.Run.IdempotencyKey)
	if err != nil {
		return sent{}, err
	}
	m, err := p.compose(c.Config, in, key, p.now())
	if err != nil {
		return sent{}, err
	}
	s, err := p.open(c)
	if err != nil {
		return sent{}, err
	}
	defer s.end()
	output := sent{MessageID: m.id, Accepted: []string{}, Refused: []refusal{}, Size: m.size}
	if err := s.envelope(m, in.OnRefused, &output); err != nil {
		return output, err
	}
	if output.Response, err = s.data(m); err != nil {
		return output, err
	}
	if len(output.Refused) > 0 && in.OnRefused != refusedReports {
		return output, s.partly(m, output)
	}
	return output, nil
}

// key is what the Message-ID is made of: the call's idempotency key, and for a call of no run,
// which nobody repeats, a number of its own.
func (p *plugin) key(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	number := make([]byte, 16)
	if _, err := io.ReadFull(p.random, number); err != nil {
		return "", sdk.Refused(sdk.CodeInternal, "make a Message-ID: %v", err)
	}
	return hex.EncodeToString(number), nil
}

// envelope names sender and recipients. Where it fails nobody gets the message.
func (s *session) envelope(m *message, onRefused string, output *sent) error {
	if most := s.extension("SIZE"); most > 0 && m.size > most {
		return sdk.Invalid("", "the message has %d bytes, and the server %s takes at most %d", m.size, s.where(), most).WithReason("too_large")
	}
	if m.utf8 {
		if offered, _ := s.client.Extension("SMTPUTF8"); !offered {
			return sdk.Refused(sdk.CodeUnsupported, "the server %s takes no addresses with letters beyond ASCII before the @ (SMTPUTF8)", s.where()).WithReason("5.6.7")
		}
		s.client.SkipSMTPUTF8(false)
	}
	s.stage = "MAIL from " + m.envelopeFrom
	if err := s.client.Mail("<" + m.envelopeFrom + ">"); err != nil {
		return s.failed(err)
	}
	var refusals []*sdk.Error
	for _, to := range m.recipients {
		s.stage = "RCPT " + to.address
		err := s.client.Rcpt("<" + to.address + ">")
		if err == nil {
			output.Accepted = append(output.Accepted, to.address)
			continue
		}
		said, is := errors.AsType[*textproto.Error](err)
		failure := s.failed(err)
		failure.Pointer = to.pointer
		if !is || said.Code == codeClosing {
			return failure
		}
		refusals = append(refusals, failure)
		output.Refused = append(output.Refused, refusalOf(to.address, said))
	}
	return s.refused(onRefused, refusals, output)
}

// refused decides what refused recipients mean for the message, before it is sent.
func (s *session) refused(onRefused string, refusals []*sdk.Error, output *sent) error {
	if len(refusals) == 0 {
		return nil
	}
	first := *refusals[0]
	for _, other := range refusals { // one that may be taken later is tried again with all
		if isForNow(other) {
			first = *other
			break
		}
	}
	noOne := len(output.Accepted) == 0
	if !noOne && (onRefused == refusedReports || onRefused == refusedFails && !isForNow(&first)) {
		return nil
	}
	if len(refusals) > 1 || !noOne {
		first.Message = fmt.Sprintf("the server refuses %d of %d recipients, and the message was sent to none: %s", len(refusals), len(refusals)+len(output.Accepted), first.Message)
	}
	if first.Details == nil {
		first.Details = map[string]any{}
	}
	first.Details["refused"] = output.Refused
	return &first
}

// isForNow reports a refusal that may be none later.
func isForNow(e *sdk.Error) bool {
	return e.Code == sdk.CodeUnavailable || e.Code == sdk.CodeRateLimited
}

// data sends the message. Until its last dot the server has not taken it; from there on
// only an answer says what became of it.
func (s *session) data(m *message) (response string, err error) {
	s.stage = "DATA"
	writer, err := s.client.Data()
	if err != nil {
		return "", s.failed(err)
	}
	s.stage = "the message"
	for _, part := range m.segments {
		if err := part.send(s.call, writer); err != nil {
			return "", s.unsent(err)
		}
	}
	if err := writer.Close(); err != nil {
		failure := s.failed(err)
		if _, answered := errors.AsType[*textproto.Error](err); !answered {
			failure.Applied = sdk.AppliedUnknown
			failure.Message = "the server was sent the whole message and did not say whether it took it: " + failure.Message
			failure.Details = map[string]any{"message_id": m.id}
		}
		return "", failure
	}
	if closer, is := writer.(*smtp.DataCloser); is {
		response = sdk.Shown(closer.ServerResponse(), 500)
	}
	return response, nil
}

// unsent is the failure of a message that did not reach its last dot: the connection is cut
// within it, and the server drops what it has.
func (s *session) unsent(err error) error {
	source, is := errors.AsType[sourceError](err)
	if !is {
		return s.failed(err)
	}
	s.broken = true
	if _, known := errors.AsType[*sdk.Error](source); known {
		return sdk.NotSent(source.error)
	}
	return sdk.Refused(sdk.CodeUnavailable, "read an attached file: %v", source.error)
}

// partly is the failure of a message that some recipients get, and others never will.
func (s *session) partly(m *message, output sent) error {
	var who []string
	for _, one := range output.Refused {
		who = append(who, one.Address)
	}
	first := output.Refused[0]
	said := &textproto.Error{Code: first.Code, Msg: strings.TrimSpace(first.Status + " " + first.Message)}
	failure := s.refusalError(said)
	failure.Applied = sdk.AppliedPartly
	failure.Message = sdk.Shown(fmt.Sprintf("the message was sent to %d of %d recipients; the server refuses %s: %d %s", len(output.Accepted), len(output.Accepted)+len(output.Refused), strings.Join(who, ", "), first.Code, said.Msg), 700)
	failure.Hint = "mend the addresses and send to these alone, or set on_refused: report where that is no failure"
	failure.Details = map[string]any{"message_id": m.id, "accepted": output.Accepted, "refused": output.Refused}
	for _, to := range m.recipients {
		if to.address == first.Address {
			failure.Pointer = to.pointer
		}
	}
	return failure
}
