package mail

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/mail/mailsim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// injections are texts that would end a header, a command or a message where they were
// written out as they stand.
func injections() []string {
	return []string{
		"x\r\nBcc: evil@example.com", "x\nBcc: evil@example.com", "x\rBcc: evil@example.com", "x\r\n\r\nanother body", "x\r\n.\r\nMAIL FROM:<evil@example.com>",
		"x\x00y", "x\x0by", "x\x0cy", "x\x1b[2J", "x\x7fy", "x\u0085y", "x\u2028y", "x\u2029y", "x\ty", "\r\n", "x\r\n",
	}
}

// Nothing that breaks a line gets into a header, an address, a name or the envelope, from
// any field; nothing is sent.
func TestNothingIsInjected(t *testing.T) {
	sim, config := simulate(t, mailsim.Options{UTF8: true})
	p := open(t, config)
	tries := 0
	refused := func(name string, input in) {
		t.Helper()
		tries++
		if r := p.Call("send", hello(input)); r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Applied != sdk.NotApplied || r.Err.Pointer == "" {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
	for _, text := range injections() {
		for field, input := range map[string]in{
			"subject": {"subject": text}, "to": {"to": []any{text}}, "a name": {"to": []any{in{"address": "ann@example.com", "name": text}}}, "an address": {"cc": []any{in{"address": "ann@example.com" + text}}},
			"a header": {"headers": in{"X-A": text}}, "a header's name": {"headers": in{"X-A" + text: "v"}}, "a file's name": {"attachments": []any{in{"name": "a" + text, "text": ""}}},
			"a media type": {"attachments": []any{in{"name": "a", "media_type": "text/plain; a=" + text, "text": ""}}}, "in_reply_to": {"in_reply_to": "<a@b>" + text}, "references": {"references": []any{"<a" + text + "@b>"}},
		} {
			refused(field+" "+strings.ReplaceAll(text, "\n", "|"), input)
		}
	}
	for name, input := range map[string]in{
		"two addresses in one": {"to": []any{"ann@example.com, evil@example.com"}}, "two addresses, one named": {"to": []any{"Ann <ann@example.com>, evil@example.com"}},
		"an address in a name": {"to": []any{`Ann <evil@example.com> <ann@example.com>`}}, "an encoded line break": {"to": []any{"=?utf-8?q?a=0D=0ABcc:_evil@example.com?= <ann@example.com>"}},
		"parameters of a command": {"to": []any{"ann@example.com> SIZE=1"}}, "a quoted local part": {"to": []any{`"ann> NOTIFY=NEVER"@example.com`}}, "a space": {"to": []any{"an n@example.com"}},
		"a route": {"to": []any{"<@evil.example:ann@example.com>"}}, "a group": {"to": []any{"all: ann@example.com, evil@example.com;"}}, "a comment": {"to": []any{"ann(evil)@example.com"}},
		"a literal": {"to": []any{"ann@[127.0.0.1]"}}, "a domain with a path": {"to": []any{"ann@example.com/x"}}, "a domain with a colon": {"to": []any{"ann@example.com:25"}}, "no domain": {"to": []any{"ann@"}},
		"no local part": {"to": []any{"@example.com"}}, "two ats": {"to": []any{"ann@evil@example.com"}}, "dots": {"to": []any{"a..b@example.com"}}, "a dot at the end": {"to": []any{"ann@example.com."}}, "a hyphen": {"to": []any{"ann@-example.com"}},
		"a long local part": {"to": []any{strings.Repeat("a", 65) + "@example.com"}}, "a long domain": {"to": []any{"a@" + strings.Repeat("a.", 130) + "com"}}, "a word no line can hold": {"subject": strings.Repeat("a", 1000)},
		"another From": {"headers": in{"From": "evil@example.com"}}, "Bcc": {"headers": in{"Bcc": "evil@example.com"}}, "Sender": {"headers": in{"sender": "evil@example.com"}}, "a type": {"headers": in{"Content-Type": "text/html"}},
		"an id": {"headers": in{"Message-ID": "<a@b>"}}, "Received": {"headers": in{"Received": "from x"}}, "a DKIM signature": {"headers": in{"DKIM-Signature": "v=1"}}, "Return-Path": {"headers": in{"Return-Path": "<>"}}, "no name of a header": {"headers": in{"X A": "v"}},
		"a colon in a name": {"headers": in{"X-A:": "v"}}, "a path as a name": {"attachments": []any{in{"name": "../x", "text": ""}}}, "dots as a name": {"attachments": []any{in{"name": "..", "text": ""}}}, "a message as a file": {"attachments": []any{in{"name": "a", "media_type": "message/rfc822", "text": "x"}}},
		"parts as a file": {"attachments": []any{in{"name": "a", "media_type": "multipart/mixed; boundary=a", "text": "x"}}}, "another sender": {"from": "evil@example.com"}, "a long name": {"to": []any{in{"address": "a@example.com", "name": strings.Repeat("n", 400)}}},
	} {
		refused(name, input)
	}
	if tries < 40 || len(sim.Messages()) != 0 || sim.Kit().Count("") != 0 {
		t.Errorf("%d tries, %d messages, %d commands", tries, len(sim.Messages()), sim.Kit().Count(""))
	}
	// the control: the same fields with texts that are in order
	outputOf(t, p.Call("send", hello(in{
		"subject": "x Bcc: evil@example.com", "to": []any{`"Ann, <evil@example.com>" <ann@example.com>`, "=?utf-8?q?J=C3=B6rg?= <joerg@example.com>", "jörg@bücher.example"},
		"headers": in{"X-A": "v: w", "Precedence": "bulk"}, "attachments": []any{in{"name": "a b.txt", "media_type": "text/plain; format=flowed", "text": ""}}, "references": []any{"<a.b@c>"},
	})))
	header, _ := partsOf(t, sim.Messages()[0].Data)
	if to, err := header.AddressList("To"); err != nil || len(to) != 3 || to[0].Address != "ann@example.com" || header.Get("Bcc") != "" {
		t.Errorf("To %v, %v", to, err)
	}
	if got := strings.Join(sim.Messages()[0].Recipients, " "); got != "ann@example.com joerg@example.com jörg@xn--bcher-kva.example" {
		t.Errorf("sent to %s", got)
	}
}

// Bodies may hold anything: they stay bodies.
func TestBodiesStayBodies(t *testing.T) {
	sim, config := simulate(t, mailsim.Options{})
	p := open(t, config)
	for _, text := range injections() {
		outputOf(t, p.Call("send", hello(in{"text": text, "markdown": text, "attachments": []any{in{"name": "a.txt", "text": text}}}), anyKey()))
	}
	for _, m := range sim.Messages() {
		header, parts := partsOf(t, m.Data)
		if len(m.Recipients) != 1 || len(parts) != 3 || header.Get("Bcc") != "" {
			t.Errorf("sent to %v, %d parts", m.Recipients, len(parts))
		}
	}
	if len(sim.Messages()) != len(injections()) {
		t.Errorf("%d messages", len(sim.Messages()))
	}
}

// What does not go together is found while a workflow is checked, at its place; what is not
// known yet is not judged.
func TestWhatIsCheckedBefore(t *testing.T) {
	p := open(t, in{"host": "mail.example.com", "from": "reports@example.com"})
	for name, c := range map[string]struct {
		input   in
		unknown []string
		at      string
	}{
		"nothing to send":          {in{"text": nil}, nil, ""},
		"a text that comes later":  {in{"text": nil}, []string{"/text"}, "-"},
		"two HTMLs":                {in{"markdown": "a", "html": "b"}, nil, "/html"},
		"no address":               {in{"to": []any{"ann@example.com", "bob"}}, nil, "/to/1"},
		"no address, later":        {in{"to": []any{"ann@example.com", ""}}, []string{"/to/1"}, "-"},
		"answers to nobody":        {in{"reply_to": []any{"bob"}}, nil, "/reply_to/0"},
		"too many":                 {in{"to": many(60), "bcc": many(41)}, nil, "/to"},
		"as many as may be":        {in{"to": many(60), "bcc": many(40)}, nil, "-"},
		"a large Markdown":         {in{"markdown": strings.Repeat("a", 300<<10)}, nil, "/markdown"},
		"a file without a content": {in{"attachments": []any{in{"name": "a"}}}, nil, "/attachments/0"},
		"a file with two":          {in{"attachments": []any{in{"name": "a", "text": "", "base64": ""}}}, nil, "/attachments/0"},
		"no base64":                {in{"attachments": []any{in{"name": "a", "base64": "!"}}}, nil, "/attachments/0/base64"},
		"a file that comes later":  {in{"attachments": []any{in{"name": "a"}}}, []string{"/attachments/0/text"}, "-"},
		"no Message-ID":            {in{"in_reply_to": "abc"}, nil, "/in_reply_to"},
		"a header":                 {in{"headers": in{"Subject": "x"}}, nil, "/headers/Subject"},
		"a header that is later":   {in{"headers": in{"Subject": ""}}, []string{"/headers/Subject"}, "-"},
	} {
		input := hello(c.input)
		for field, value := range input {
			if value == nil {
				delete(input, field)
			}
		}
		problems := p.Validate("send", input, c.unknown...)
		if c.at == "-" && len(problems) > 0 || c.at != "-" && (len(problems) != 1 || problems[0].Pointer != c.at) {
			t.Errorf("%s: %+v, want one at %q", name, problems, c.at)
		}
	}
}

// many are addresses.
func many(count int) []any {
	var all []any
	for i := range count {
		all = append(all, strings.Repeat("a", i%60+1)+"@example.com")
	}
	return all
}

// A connection bounds who is written to, and as whom, while a workflow is checked and again
// before a message is sent.
func TestBoundsOfAConnection(t *testing.T) {
	config := in{
		"host": "mail.example.com", "from": "reports@example.com",
		"recipients": []any{"*@example.com", "boss@example.net", "*-team@*.example.org"}, "senders": []any{"noreply@example.com", "*@news.example.com"},
	}
	p := open(t, config)
	for address, allowed := range map[string]bool{
		"ann@example.com": true, "ANN@EXAMPLE.COM": true, "boss@example.net": true, "Boss <boss@example.net>": true, "a-team@x.example.org": true, "a-team@x.y.example.org": true,
		"ann@example.net": false, "ann@sub.example.com": false, "ann@evilexample.com": false, "ann@example.com.evil.example": false, "team@x.example.org": false, "a-team@example.org": false,
		"example.com@evil.example": false, "ann%example.com@evil.example": false, "a-team@x.example.org.evil.example": false, "ann@exämple.com": false,
	} {
		for _, field := range []string{"to", "cc", "bcc"} {
			problems, _ := p.ValidateOn("send", config, nil, hello(in{field: []any{address}, "subject": "x"}))
			if wrong := len(problems) > 0; wrong == allowed {
				t.Errorf("%s to %s: %v", field, address, problems)
			}
		}
	}
	for address, allowed := range map[string]bool{"reports@example.com": true, "Other Name <reports@example.com>": true, "noreply@example.com": true, "a@news.example.com": true, "ann@example.com": false, "noreply@example.com.evil.example": false} {
		problems, _ := p.ValidateOn("send", config, nil, hello(in{"from": address}))
		if wrong := len(problems) > 0; wrong == allowed {
			t.Errorf("from %s: %v", address, problems)
		}
	}
	nobody := in{"subject": "x", "text": "y"}
	if problems, _ := p.ValidateOn("send", config, nil, nobody); len(problems) != 1 || problems[0].Pointer != "/to" {
		t.Errorf("nobody: %v", problems)
	}
	if problems, _ := p.ValidateOn("send", config, nil, nobody, "/cc"); len(problems) > 0 {
		t.Errorf("somebody who comes later: %v", problems)
	}
	if problems, _ := p.ValidateOn("send", with(config, in{"to": []any{"ann@example.com"}}), nil, nobody); len(problems) > 0 {
		t.Errorf("those of the connection: %v", problems)
	}
	if problems, _ := p.ValidateOn("send", config, nil, hello(in{"to": []any{""}}), "/to/0"); len(problems) > 0 {
		t.Errorf("an address that is not known: %v", problems)
	}
	sim, real := simulate(t, mailsim.Options{})
	fails(t, open(t, with(real, in{"recipients": []any{"*@example.com"}})).Call("send", hello(in{"bcc": []any{"x@example.net"}})), sdk.CodeInvalid, sdk.NotApplied, "may not send to x@example.net")
	if sim.Kit().Count("") != 0 {
		t.Error("a command was sent")
	}
}

// Where a connection leads, and in clear to nobody who is far.
func TestWhereAConnectionLeads(t *testing.T) {
	_, config := simulate(t, mailsim.Options{})
	fails(t, open(t, with(config, in{"private": false, "security": "starttls"})).Call("send", hello(nil)), sdk.CodeForbidden, sdk.NotApplied, "is not a public one")
	fails(t, open(t, with(config, in{"host": "127.1"})).Call("send", hello(nil)), sdk.CodeForbidden, sdk.NotApplied, "is a number")
	fails(t, open(t, with(config, in{"host": "no-such-host.invalid"})).Call("send", hello(nil)), sdk.CodeUnavailable, sdk.NotApplied, "")
	fails(t, open(t, with(config, in{"port": 1})).Call("send", hello(nil)), sdk.CodeUnavailable, sdk.NotApplied, "connect to 127.0.0.1:1: connection refused")
	outputOf(t, open(t, with(config, in{"private": false, "networks": []any{"127.0.0.0/8"}})).Call("send", hello(nil))) // the control
}

// A server that can't do what a message needs is told apart from one that refuses it.
func TestWhatAServerCanNotDo(t *testing.T) {
	sim, config := simulate(t, mailsim.Options{})
	p := open(t, config)
	fails(t, p.Call("send", hello(in{"to": []any{"jörg@example.com"}})), sdk.CodeUnsupported, sdk.NotApplied, "SMTPUTF8")
	small := newPeer(t, nil, script([]string{"S 220 peer", "C EHLO ", "S 250-peer", "S 250 SIZE 500"}, "HANG")...)
	failure := fails(t, open(t, settings(small)).Call("send", hello(in{"text": strings.Repeat("x", 1000)})), sdk.CodeInvalid, sdk.NotApplied, "takes at most 500")
	if failure.Reason != "too_large" {
		t.Errorf("reason %q", failure.Reason)
	}
	fails(t, open(t, with(config, in{"max_bytes": 1000})).Call("send", hello(in{"text": strings.Repeat("x", 1000)})), sdk.CodeInvalid, sdk.NotApplied, "more than 1000 bytes")
	fails(t, open(t, with(config, in{"username": "me", "password": "a-long-password"})).Call("send", hello(nil)), sdk.CodeUnsupported, sdk.NotApplied, "offers no login")
	if len(sim.Messages()) != 0 {
		t.Errorf("%d messages", len(sim.Messages()))
	}
}

func TestWhatAConnectionMaySay(t *testing.T) {
	base := in{"host": "mail.example.com", "from": "reports@example.com"}
	for at, more := range map[string]in{
		"/security": {"security": "none"}, "/from": {"from": "reports"}, "/reply_to": {"reply_to": "a b"}, "/envelope_from": {"envelope_from": "Ann <ann@example.com>"}, "/recipients/0": {"recipients": []any{"*"}},
		"/to/1": {"to": []any{"a@example.com", "b"}}, "/to/0": {"to": []any{"a@example.net"}, "recipients": []any{"*@example.com"}},
		"/senders/1": {"senders": []any{"*@example.com", "a@*."}}, "/helo": {"helo": "a b"}, "/timeout": {"timeout": "1h"}, "/password": {"username": "me"}, "/username": {"password": "x"},
		"/auth": {"auth": "xoauth2", "username": "me"}, "/networks/0": {"networks": []any{"10.0.0.1"}}, "/key_file": {"cert_file": "x.pem"}, "/ca_file": {"ca_file": "/no/such/file"}, "/token_from": {"username": "me", "token": "x", "token_from": in{"connection": "a"}},
	} {
		problems := sdktest.Serve(t, New()).Connect("mail", with(base, more))
		if len(problems) == 0 || problems[0].Pointer != at {
			t.Errorf("%s: %+v", at, problems)
		}
	}
	for _, more := range []in{{}, {"security": "tls"}, {"security": "none", "private": true}, {"username": "me", "password": "x"}, {"username": "me", "token": "x"}, {"helo": "[192.0.2.1]"}, {"auth": "none"}} {
		if problems := sdktest.Serve(t, New()).Connect("mail", with(base, more)); len(problems) > 0 {
			t.Errorf("%v: %+v", more, problems)
		}
	}
}
