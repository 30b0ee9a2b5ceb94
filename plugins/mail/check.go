package mail

import (
	"encoding/base64"
	"fmt"
	"maps"
	"mime"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/sdk"
)

// Bounds of a message.
const (
	mostRecipients = 100 // what every server must take (RFC 5321, 4.5.3.1.8)
	mostWord       = 900 // bytes of a word of a header: a line has 998, and breaks at spaces
	mostFileName   = 255 // bytes
	mostMarkdown   = 64 << 10
	mostHeader     = 4000
)

// checker collects what is wrong with an input, about what is known of it.
type checker struct {
	unknown  []string
	problems []sdk.Problem
}

func (c *checker) knows(pointer string) bool { return !sdk.IsUnknown(c.unknown, pointer) }

func (c *checker) say(pointer, format string, args ...any) {
	c.problems = append(c.problems, sdk.Problemf(pointer, format, args...))
}

// checkInput finds what the schema can't say. It runs while a workflow is checked, about
// what is known, and before each call.
func checkInput(in sendInput, unknown []string) []sdk.Problem {
	c := &checker{unknown: unknown}
	c.recipients(in)
	if c.knows("/subject") {
		c.line("/subject", in.Subject)
	}
	c.bodies(in)
	for i, file := range in.Attachments {
		c.attachment(sdk.Pointer("attachments", i), file)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Headers)) {
		if at := sdk.Pointer("headers", name); c.knows(at) {
			c.header(at, name, in.Headers[name])
		}
	}
	if in.InReplyTo != "" && c.knows("/in_reply_to") {
		c.messageID("/in_reply_to", in.InReplyTo)
	}
	for i, id := range in.References {
		if at := sdk.Pointer("references", i); c.knows(at) {
			c.messageID(at, id)
		}
	}
	return c.problems
}

// recipients checks all addresses of an input.
func (c *checker) recipients(in sendInput) {
	count := 0
	for _, list := range in.lists() {
		if list.name != "reply_to" {
			count += len(list.values)
		}
		for i, value := range list.values {
			c.mailbox(sdk.Pointer(list.name, i), value)
		}
	}
	if !sdk.IsNull(in.From) {
		c.mailbox("/from", in.From)
	}
	if count > mostRecipients {
		c.problems = append(c.problems, sdk.Problemf("/to", "has with cc and bcc %d recipients, at most %d are sent to at once", count, mostRecipients).
			WithDetail("send to each, or to batches of them, with foreach"))
	}
}

// list is a field of the input with its addresses.
type list struct {
	name   string
	values []sdk.Value
}

func (in sendInput) lists() []list {
	return []list{{"to", in.To}, {"cc", in.CC}, {"bcc", in.BCC}, {"reply_to", in.ReplyTo}}
}

func (c *checker) mailbox(at string, value sdk.Value) {
	if !c.knows(at) {
		return
	}
	m, wrong := readMailbox(value)
	switch {
	case wrong != "":
		c.problems = append(c.problems, sdk.Problemf(at, "%s", wrong).WithDetail("write ann@example.com, Ann <ann@example.com>, or {address: ann@example.com, name: Ann}"))
	case !strings.Contains(m.domain(), ".") && m.domain() != "localhost":
		c.problems = append(c.problems, sdk.Warningf(at, "the domain %s has no dot: is it a host of your own network?", sdk.Shown(m.domain(), 80)))
	}
}

// bodies checks what the message says.
func (c *checker) bodies(in sendInput) {
	if !c.knows("/text") || !c.knows("/markdown") || !c.knows("/html") {
		return
	}
	switch {
	case in.Text == nil && in.Markdown == nil && in.HTML == nil:
		c.problems = append(c.problems, sdk.Problemf("", "there is nothing to send").WithDetail("give markdown, text or html"))
	case in.Markdown != nil && in.HTML != nil:
		c.say("/html", "must not be given beside markdown: one message has one HTML")
	case in.Markdown != nil && len(*in.Markdown) > mostMarkdown:
		c.problems = append(c.problems, sdk.Problemf("/markdown", "has %d bytes, at most %d become HTML", len(*in.Markdown), mostMarkdown).WithDetail("attach it"))
	}
}

// line checks the text of a header.
func (c *checker) line(at, text string) {
	switch {
	case hasControl(text):
		c.say(at, "must not hold line breaks or control characters")
	case len(text) > mostHeader:
		c.say(at, "has %d bytes, at most %d are sent", len(text), mostHeader)
	case isASCII(text) && slices.ContainsFunc(strings.Fields(text), func(word string) bool { return len(word) > mostWord }):
		c.say(at, "has a word of more than %d letters, which no line of a header can hold", mostWord)
	}
}

func (c *checker) attachment(at string, file attachment) {
	if c.knows(at+"/name") && (c.knows(at+"/blob") || file.Name != "") {
		if wrong := fileNameProblem(file.fileName()); wrong != "" {
			c.say(at+"/name", "%s", wrong)
		}
	}
	if file.MediaType != "" && c.knows(at+"/media_type") {
		if wrong := mediaTypeProblem(file.MediaType); wrong != "" {
			c.say(at+"/media_type", "%s", wrong)
		}
	}
	if !c.knows(at+"/text") || !c.knows(at+"/base64") || !c.knows(at+"/blob") {
		return
	}
	contents := 0
	for _, given := range []bool{file.Text != nil, file.Base64 != nil, file.Blob != nil} {
		if given {
			contents++
		}
	}
	switch {
	case contents == 0:
		c.say(at, "has no content: give text, base64 or blob")
	case contents > 1:
		c.say(at, "has %d contents: give text, base64 or blob", contents)
	case file.Base64 != nil:
		if _, err := base64.StdEncoding.DecodeString(*file.Base64); err != nil || strings.ContainsAny(*file.Base64, "\r\n") {
			c.say(at+"/base64", "is no base64 on one line")
		}
	}
}

// fileNameProblem says what is wrong with the name of an attached file, "" for nothing.
func fileNameProblem(name string) string {
	switch {
	case name == "" || strings.Trim(name, ". ") == "":
		return "is no name of a file"
	case len(name) > mostFileName:
		return fmt.Sprintf("has %d bytes, at most %d are a name of a file", len(name), mostFileName)
	case hasControl(name):
		return "must not hold line breaks or control characters"
	case strings.ContainsAny(name, `/\`):
		return "must be a name without a path"
	}
	return ""
}

func mediaTypeProblem(text string) string {
	parsed, _, err := mime.ParseMediaType(text)
	kind, subtype, ok := strings.Cut(parsed, "/")
	switch {
	case err != nil || hasControl(text) || len(text) > 200 || !isASCII(text) || !ok || kind == "" || subtype == "":
		return "is no media type: write one such as text/csv"
	case kind == "multipart" || kind == "message":
		return "must not be " + kind + "/…: an attached file is one part"
	}
	return ""
}

var messageID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^<[A-Za-z0-9.!#$%&'*+/=?^_{|}~` + "`" + `-]{1,400}@[A-Za-z0-9.!#$%&'*+/=?^_{|}~` + "`" + `:\[\]-]{1,400}>$`)
})

// messageID checks an id in angle brackets (RFC 5322, 3.6.4).
func (c *checker) messageID(at, id string) {
	if !messageID().MatchString(id) {
		c.problems = append(c.problems, sdk.Problemf(at, "is no Message-ID").WithDetail("it stands in angle brackets, as message_id of an earlier step: <id@example.com>"))
	}
}

// checkOnConfig holds senders and recipients against what the connection allows.
func checkOnConfig(config Config, in sendInput, unknown []string) []sdk.Problem {
	c := &checker{unknown: unknown}
	if sender, wrong := readMailbox(in.From); !sdk.IsNull(in.From) && c.knows("/from") && wrong == "" {
		own, _ := parseMailbox(config.From)
		if sender.key() != own.key() && !takes(config.Senders, sender) {
			c.problems = append(c.problems, sdk.Problemf("/from", "the connection may not send as %s", sdk.Shown(sender.address, 100)).WithDetail("list it in `senders` of the connection"))
		}
	}
	if !in.namesSomebody() && len(config.To) == 0 && c.knows("/to") && c.knows("/cc") && c.knows("/bcc") {
		c.problems = append(c.problems, sdk.Problemf("/to", "there is no recipient").WithDetail("name one in to, cc or bcc, or in `to` of the connection"))
	}
	if len(config.Recipients) == 0 {
		return c.problems
	}
	for _, list := range in.lists() {
		for i, value := range list.values {
			at := sdk.Pointer(list.name, i)
			m, wrong := readMailbox(value)
			if list.name == "reply_to" || wrong != "" || !c.knows(at) || takes(config.Recipients, m) {
				continue
			}
			c.problems = append(c.problems, sdk.Problemf(at, "the connection may not send to %s", sdk.Shown(m.address, 100)).WithDetail("list it in `recipients` of the connection"))
		}
	}
	return c.problems
}
