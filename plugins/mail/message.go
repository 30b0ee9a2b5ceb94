package mail

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	mailer "github.com/wneessen/go-mail"

	"github.com/flowrun/flowrun/sdk"
)

// message is what is sent, and to whom.
type message struct {
	id           string // in angle brackets
	envelopeFrom string
	recipients   []recipient // each address once
	utf8         bool        // the server must have SMTPUTF8
	segments     []segment   // the message in CRLF lines, not yet stuffed with dots
	size         int64       // bytes of it
}

// recipient is an address with the field of the input that names it first.
type recipient struct{ address, pointer string }

// compose makes the message of an input that was checked.
func (p *plugin) compose(config Config, in sendInput, key string, now time.Time) (*message, error) {
	sender, _ := parseMailbox(config.From)
	if !sdk.IsNull(in.From) {
		sender, _ = readMailbox(in.From)
	}
	m := &message{id: messageIDOf(key, sender), envelopeFrom: sender.address}
	if config.EnvelopeFrom != "" {
		m.envelopeFrom, _ = parseAddress(config.EnvelopeFrom)
	}
	m.utf8 = sender.beyondASCII() || !isASCII(m.envelopeFrom)
	out := mailer.NewMsg(mailer.WithNoDefaultUserAgent())
	out.FromMailAddress(sender.header())
	m.address(out, config, in)
	out.SetDateWithValue(now)
	out.SetMessageIDWithValue(strings.Trim(m.id, "<>"))
	out.Subject(oneSpace(in.Subject))
	thread(out, in)
	out.SetGenHeader(autoSubmitted, "auto-generated")
	for _, name := range slices.Sorted(maps.Keys(in.Headers)) {
		out.SetGenHeader(mailer.Header(headerName(name)), oneSpace(in.Headers[name]))
	}
	if err := p.write(out, in); err != nil {
		return nil, err
	}
	places, err := p.places(len(in.Attachments))
	if err != nil {
		return nil, err
	}
	for i, file := range in.Attachments {
		attach(out, file, places[i])
	}
	raw := &bounded{most: config.MaxBytes}
	if _, err := out.WriteTo(raw); err != nil {
		return nil, sdk.Refused(sdk.CodeInternal, "write the message: %v", err)
	}
	if m.segments, err = cutAt(raw.Bytes(), places, in.Attachments); err != nil {
		return nil, err
	}
	for _, part := range m.segments {
		m.size += part.size()
	}
	if raw.over || m.size > config.MaxBytes {
		return nil, sdk.Invalid("", "the message has more than %d bytes as it is sent", config.MaxBytes).WithReason("too_large").
			WithHint("send less, or set `max_bytes` of the connection higher where its server takes more")
	}
	return m, nil
}

// messageIDOf is the id of a message: of the idempotency key, so that each attempt has the
// same, and at the sender's domain.
func messageIDOf(key string, sender mailbox) string {
	sum := sha256.Sum256([]byte("flowrun mail.send\n" + key))
	return "<" + hex.EncodeToString(sum[:16]) + "@" + sender.domain() + ">"
}

// address puts the recipients on the message and into its envelope.
func (m *message) address(out *mailer.Msg, config Config, in sendInput) {
	seen := map[string]bool{}
	if !in.namesSomebody() {
		for _, text := range config.To {
			in.To = append(in.To, sdk.Text(text))
		}
	}
	for _, list := range in.lists() {
		for i, value := range list.values {
			box, _ := readMailbox(value)
			m.utf8 = m.utf8 || box.beyondASCII() && list.name != "bcc"
			switch list.name {
			case "to":
				out.AddToMailAddress(box.header())
			case "cc":
				out.AddCcMailAddress(box.header())
			case "reply_to":
				continue
			}
			if !seen[box.key()] {
				seen[box.key()] = true
				m.recipients = append(m.recipients, recipient{box.address, sdk.Pointer(list.name, i)})
			}
		}
	}
	m.utf8 = m.utf8 || slices.ContainsFunc(m.recipients, func(r recipient) bool { return !isASCII(r.address) })
	if len(in.To) == 0 && len(in.CC) == 0 {
		out.SetGenHeader("To", "undisclosed-recipients:;")
	}
	replies := in.ReplyTo
	if len(replies) == 0 && config.ReplyTo != "" {
		replies = []sdk.Value{sdk.Text(config.ReplyTo)}
	}
	for i, value := range replies {
		box, _ := readMailbox(value)
		if i == 0 {
			out.ReplyToMailAddress(box.header())
			continue
		}
		out.ReplyToMailAddress(append(out.GetReplyTo(), box.header())...)
	}
}

// thread says which messages this one follows.
func thread(out *mailer.Msg, in sendInput) {
	references := in.References
	if in.InReplyTo != "" {
		out.SetGenHeader(mailer.HeaderInReplyTo, in.InReplyTo)
		if len(references) == 0 {
			references = []string{in.InReplyTo}
		}
	}
	if len(references) > 0 {
		out.SetGenHeader(mailer.HeaderReferences, strings.Join(references, " "))
	}
}

// write puts the parts of a message in the order in which readers prefer the last.
func (p *plugin) write(out *mailer.Msg, in sendInput) error {
	text, html := in.Text, in.HTML
	if in.Markdown != nil {
		made, err := p.html.render(*in.Markdown, oneSpace(in.Subject))
		if err != nil {
			return err
		}
		html = &made
		if text == nil {
			text = in.Markdown
		}
	}
	switch {
	case text != nil && html != nil:
		out.SetBodyString(mailer.TypeTextPlain, *text)
		out.AddAlternativeString(mailer.TypeTextHTML, *html)
	case html != nil:
		out.SetBodyString(mailer.TypeTextHTML, *html)
	default:
		out.SetBodyString(mailer.TypeTextPlain, *text)
	}
	return nil
}

// oneSpace is a text with one space where there are several: lines of a header break at
// spaces, and none may be made of spaces alone.
func oneSpace(text string) string { return strings.Join(strings.Fields(text), " ") }

// bounded keeps what is written to it, up to most bytes.
type bounded struct {
	bytes.Buffer
	most int64
	over bool
}

// Write never fails: what is too much is counted as such.
func (b *bounded) Write(data []byte) (int, error) {
	if int64(b.Len()+len(data)) > b.most {
		b.over = true
		return len(data), nil
	}
	return b.Buffer.Write(data)
}

var _ io.Writer = (*bounded)(nil)
