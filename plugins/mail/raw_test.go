package mail

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// peer is a server of which every byte is written out: a script of what it says and hears.
// A line "S text" is sent with CRLF, "RAW text" as it stands, "C text" is a line of the
// client that begins so, "BODY" hears a message, "TLS" goes over to it, "HANG" says nothing
// until the client goes, "DRIP text" says the same for 10 s, slowly. The connection ends with the script.
type peer struct {
	net.Listener
	script   []string
	identity *tls.Config
	done     sync.WaitGroup
	hangs    chan struct{} // closed at the first HANG
	hung     sync.Once

	mu      sync.Mutex
	heard   []string
	body    string
	strange string // where a client did not follow the script
}

func newPeer(t *testing.T, identity *tls.Config, script ...string) *peer {
	t.Helper()
	p := &peer{Listener: listen(t), script: script, identity: identity, hangs: make(chan struct{})}
	p.done.Add(1)
	go func() {
		defer p.done.Done()
		for {
			conn, err := p.Accept()
			if err != nil {
				return
			}
			p.talk(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = p.Close()
		p.done.Wait()
	})
	return p
}

func (p *peer) talk(conn net.Conn) {
	in := bufio.NewReader(conn)
	for _, step := range p.script {
		kind, text, _ := strings.Cut(step, " ")
		switch kind {
		case "S", "RAW":
			if kind == "S" {
				text += "\r\n"
			}
			if _, err := conn.Write([]byte(text)); err != nil {
				return
			}
		case "C":
			line, err := in.ReadString('\n')
			p.note(line, func() {
				if err != nil || !strings.HasPrefix(line, text) {
					p.strange = fmt.Sprintf("heard %q (%v) where %q is due", line, err, text)
				}
			})
			if err != nil {
				return
			}
		case "BODY":
			var body strings.Builder
			for !strings.HasSuffix(body.String(), "\r\n.\r\n") {
				b, err := in.ReadByte()
				if err != nil {
					return
				}
				body.WriteByte(b)
			}
			p.note("", func() { p.body = body.String() })
		case "TLS":
			secured := tls.Server(conn, p.identity)
			if secured.HandshakeContext(context.Background()) != nil {
				return
			}
			conn, in = secured, bufio.NewReader(secured)
		case "DRIP":
			tick := time.NewTicker(20 * time.Millisecond)
			for range 500 { // 10 s, twice what is waited for: a client that waits on sees the end
				if _, err := conn.Write([]byte(text)); err != nil {
					break
				}
				<-tick.C
			}
			tick.Stop()
		case "HANG":
			p.hung.Do(func() { close(p.hangs) })
			_, _ = in.ReadString(0)
			return
		}
	}
}

func (p *peer) note(line string, then func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, line)
	then()
}

// said is what the client did not do as it should, and what it sent in clear.
func (p *peer) said() (strange, heard, body string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.strange, strings.Join(p.heard, ""), p.body
}

// Scripts as far as they are the same.
var (
	greeting = []string{"S 220 peer ESMTP", "C EHLO ", "S 250-peer", "S 250 8BITMIME"}
	envelope = append(append([]string{}, greeting...), "C MAIL FROM:<reports@example.com>", "S 250 ok", "C RCPT TO:<ann@example.com>", "S 250 ok")
	content  = append(append([]string{}, envelope...), "C DATA", "S 354 go on", "BODY")
)

func script(first []string, more ...string) []string {
	return append(append([]string{}, first...), more...)
}

// A connection that is cut at each stage: before the last dot nothing was done, behind it
// nobody knows.
func TestCutAtEachStage(t *testing.T) {
	for name, c := range map[string]struct {
		script  []string
		applied sdk.Applied
	}{
		"before the greeting":     {nil, sdk.NotApplied},
		"within the greeting":     {[]string{"RAW 220 pe"}, sdk.NotApplied},
		"after the greeting":      {[]string{"S 220 peer", "C EHLO "}, sdk.NotApplied},
		"within the extensions":   {[]string{"S 220 peer", "C EHLO ", "S 250-peer"}, sdk.NotApplied},
		"at MAIL":                 {script(greeting, "C MAIL"), sdk.NotApplied},
		"at RCPT":                 {script(greeting, "C MAIL", "S 250 ok", "C RCPT"), sdk.NotApplied},
		"at DATA":                 {script(envelope, "C DATA"), sdk.NotApplied},
		"within the go on":        {script(envelope, "C DATA", "RAW 35"), sdk.NotApplied},
		"after the last dot":      {content, sdk.AppliedUnknown},
		"within the last answer":  {script(content, "RAW 25"), sdk.AppliedUnknown},
		"a last answer of no end": {script(content, "S 250-ok"), sdk.AppliedUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, nil, c.script...)
			r := open(t, settings(p)).Call("send", hello(nil))
			if r.Err == nil || r.Err.Applied != c.applied || r.Err.Code != sdk.CodeUnavailable && r.Err.Code != sdk.CodeUnexpectedResponse {
				t.Fatalf("got %v", r.Err)
			}
			if strange, _, _ := p.said(); strange != "" {
				t.Error(strange)
			}
			if strings.Contains(r.Err.Message, "textproto") || strings.Contains(r.Err.Message, ".go:") || strings.Contains(r.Err.Message, "smtp:") {
				t.Errorf("the message is Go's: %s", r.Err.Message)
			}
		})
	}
	// the control: the whole script is a message that is sent, and a goodbye that is not
	// answered changes nothing
	p := newPeer(t, nil, script(content, "S 250 taken")...)
	if out := outputOf(t, open(t, settings(p)).Call("send", hello(nil))); out.Response != "taken" {
		t.Errorf("output %+v", out)
	}
}

// A server that falls silent, or never comes to an end, is waited for as long as the
// connection says.
func TestASilentServerIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		script  []string
		applied sdk.Applied
	}{
		"before the greeting": {[]string{"HANG"}, sdk.NotApplied}, "after the last dot": {script(content, "HANG"), sdk.AppliedUnknown},
		"a greeting that drips": {[]string{"DRIP 2"}, sdk.NotApplied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, nil, c.script...)
			fails(t, open(t, with(settings(p), in{"timeout": "5s"})).Call("send", hello(nil)), sdk.CodeTimeout, c.applied, "no answer in time")
		})
	}
}

// What is no SMTP, or more of it than anybody needs.
func TestRawReplies(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for name, c := range map[string]struct {
		script []string
		code   sdk.Code
		text   string
	}{
		"another protocol":              {[]string{"S SSH-2.0-OpenSSH_9.6"}, sdk.CodeUnavailable, "the connection ended"},
		"HTTP":                          {[]string{"S HTTP/1.1 400 Bad Request", "S "}, sdk.CodeUnexpectedResponse, "does not speak SMTP"},
		"a greeting that is refused":    {[]string{"S 554 5.3.2 no service"}, sdk.CodeForbidden, "554 5.3.2 no service"},
		"closing at once":               {[]string{"S 421 4.3.2 try again in 90 seconds"}, sdk.CodeUnavailable, "421 4.3.2"},
		"a code of two digits":          {[]string{"S 22 peer"}, sdk.CodeUnexpectedResponse, "does not speak SMTP"},
		"a code that goes on":           {[]string{"S 250 peer"}, sdk.CodeUnexpectedResponse, "does not speak SMTP"},
		"codes that differ":             {[]string{"S 220-peer", "S 221 peer"}, sdk.CodeUnavailable, "the connection ended"},
		"a greeting without an end":     {[]string{"RAW 220-" + strings.Repeat("y", 300<<10)}, sdk.CodeUnexpectedResponse, "says more than is read"},
		"lines without an end":          {[]string{"S 220 peer", "C EHLO ", "RAW " + strings.Repeat("250-x\r\n", 60_000)}, sdk.CodeUnexpectedResponse, "says more than is read"},
		"closing within the envelope":   {script(greeting, "C MAIL", "S 250 ok", "C RCPT", "S 421 4.7.0 bye"), sdk.CodeUnavailable, "421 4.7.0 bye"},
		"lines of 10,000 letters":       {script(greeting, "C MAIL", "S 550-5.7.1 "+long, "S 550 5.7.1 "+long), sdk.CodeForbidden, "550 5.7.1 xxx"},
		"words with a terminal's codes": {script(greeting, "C MAIL", "S 550 5.7.1 \x1b[31mred\x07"), sdk.CodeForbidden, "550 5.7.1"},
		"words of several lines":        {script(greeting, "C MAIL", "S 550-5.7.1 one", "S 550-5.7.1 two", "S 550 5.7.1 three"), sdk.CodeForbidden, "550 5.7.1 one two three"},
		"a status of another kind":      {script(greeting, "C MAIL", "S 550 4.2.2 mixed"), sdk.CodeInvalid, "550 4.2.2 mixed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := fails(t, open(t, settings(newPeer(t, nil, c.script...))).Call("send", hello(nil)), c.code, sdk.NotApplied, c.text)
			if len(failure.Message) > 800 || strings.ContainsAny(failure.Message, "\x1b\x07\n\r") {
				t.Errorf("the message is %d bytes: %q", len(failure.Message), failure.Message)
			}
			if name == "closing at once" && failure.RetryAfter != 90*time.Second {
				t.Errorf("wait %s", failure.RetryAfter)
			}
		})
	}
}

// STARTTLS that is not offered, refused, or followed by words in clear: nothing is sent, no
// user, no message.
func TestSTARTTLSIsNotStripped(t *testing.T) {
	identity, caFile := authority(t)
	offer := []string{"S 220 peer", "C EHLO ", "S 250-peer", "S 250-AUTH PLAIN", "S 250 STARTTLS", "C STARTTLS"}
	secured := []string{"TLS", "C EHLO ", "S 250-peer", "S 250 AUTH PLAIN", "C AUTH PLAIN", "S 235 in"}
	message := []string{"C MAIL", "S 250 ok", "C RCPT", "S 250 ok", "C DATA", "S 354 go on", "BODY", "S 250 taken"}
	for name, c := range map[string]struct {
		script []string
		code   sdk.Code
		text   string
	}{
		"not offered":                  {[]string{"S 220 peer", "C EHLO ", "S 250-peer", "S 250-AUTH PLAIN", "S 250 8BITMIME", "HANG"}, sdk.CodeForbidden, "offers no TLS"},
		"no extensions":                {[]string{"S 220 peer", "C EHLO ", "S 502 what", "C HELO ", "S 250 peer", "HANG"}, sdk.CodeForbidden, "offers no TLS"},
		"refused":                      {script(offer, "S 454 4.7.0 not now", "HANG"), sdk.CodeUnavailable, "454 4.7.0"},
		"refused for good":             {script(offer, "S 502 5.5.1 no", "HANG"), sdk.CodeUnsupported, "502 5.5.1"},
		"words in clear behind it":     {script(offer, append([]string{"RAW 220 ready\r\n250-peer\r\n250 AUTH PLAIN\r\n"}, secured...)...), sdk.CodeUnavailable, "STARTTLS"},
		"a command in clear behind it": {script(offer, append([]string{"RAW 220-ready\r\n220 now\r\n235 in\r\n"}, secured...)...), sdk.CodeUnavailable, "STARTTLS"},
		"no handshake behind it":       {script(offer, "S 220 ready", "S 250 peer", "HANG"), sdk.CodeUnavailable, "STARTTLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, identity, c.script...)
			config := with(settings(p), in{"security": "starttls", "ca_file": caFile, "username": "me", "password": "a-long-password"})
			fails(t, open(t, config).Call("send", hello(nil)), c.code, sdk.NotApplied, c.text)
			if _, heard, body := p.said(); strings.Contains(heard, "AUTH") || strings.Contains(heard, "MAIL") || body != "" {
				t.Errorf("sent in clear: %q", heard)
			}
		})
	}
	// the control: without the words it goes through
	for name, ready := range map[string]string{"one line": "RAW 220 ready\r\n", "two lines": "RAW 220-ready\r\n220 now\r\n", "no words": "RAW 220\r\n"} {
		p := newPeer(t, identity, script(offer, append(append([]string{ready}, secured...), message...)...)...)
		config := with(settings(p), in{"security": "starttls", "ca_file": caFile, "username": "me", "password": "a-long-password"})
		if r := open(t, config).Call("send", hello(nil)); r.Err != nil && name != "no words" {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
}

// loggedIn is the beginning of a conversation in TLS with a way to log in.
func loggedIn(how string, more ...string) []string {
	return script([]string{"TLS", "S 220 peer", "C EHLO ", "S 250-peer", "S 250 AUTH " + how, "C AUTH " + how}, more...)
}

// A server that does not know the password is not sent a message, and can't make this
// machine work for ever.
func TestSCRAMIsProved(t *testing.T) {
	identity, caFile := authority(t)
	for name, c := range map[string]struct {
		script []string
		text   string
	}{
		"in without a proof":    {loggedIn("SCRAM-SHA-256", "S 235 in", "HANG"), "did not prove"},
		"rounds without an end": {loggedIn("SCRAM-SHA-256", "S 334 ", "C ", "S 334 cj1hLHM9YWFhYSxpPTk5OTk5OTk5OTk=", "HANG"), "more rounds"},
		"another nonce":         {loggedIn("SCRAM-SHA-256", "S 334 ", "C ", "S 334 cj1hLHM9YWFhYSxpPTQwOTY=", "HANG"), "nonce"},
		"no base64":             {loggedIn("SCRAM-SHA-256", "S 334 !!"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, identity, c.script...)
			config := with(settings(p), in{"security": "tls", "ca_file": caFile, "username": "me", "password": "a-long-password"})
			r := open(t, config).Call("send", hello(nil))
			if r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse || r.Err.Applied != sdk.NotApplied || !strings.Contains(r.Err.Message, c.text) {
				t.Errorf("got %v", r.Err)
			}
			if _, heard, _ := p.said(); strings.Contains(heard, "MAIL") {
				t.Errorf("a message was sent: %q", heard)
			}
		})
	}
}

// Lines of a message are of a length that servers take, dots are stuffed, and what looks
// like the end of a message is none.
func TestTheBytesOfAMessage(t *testing.T) {
	p := newPeer(t, nil, script(content, "S 250 taken")...)
	text := ".\n..\n.hidden\n\n.\r\nMAIL FROM:<evil@example.com>\r\n" + strings.Repeat("long ", 3000) + strings.Repeat("w", 5000) + "\nbare\rreturn\n"
	outputOf(t, open(t, settings(p)).Call("send", hello(in{
		"text": text, "html": "<p>" + strings.Repeat("y", 20_000) + "</p>", "subject": strings.Repeat("word ", 200) + strings.Repeat("ä", 300),
		"to":          []any{`"` + strings.Repeat("N", 200) + `" <ann@example.com>`},
		"attachments": []any{in{"name": strings.Repeat("ö", 127) + "x", "text": strings.Repeat(".\r\n", 1000)}},
	})))
	strange, _, body := p.said()
	if strange != "" {
		t.Error(strange)
	}
	end := strings.TrimSuffix(body, "\r\n.\r\n")
	if strings.Contains(end, "\r\n.\r\n") || strings.Contains(strings.ReplaceAll(end, "\r\n", ""), "\n") || strings.Contains(strings.ReplaceAll(end, "\r\n", ""), "\r") {
		t.Error("the message ends early, or has bare line ends")
	}
	for i, line := range strings.Split(body, "\r\n") {
		if len(line) > 998 {
			t.Errorf("line %d has %d bytes: %s…", i, len(line), line[:80])
		}
		if strings.HasPrefix(line, " ") && strings.TrimSpace(line) == "" {
			t.Errorf("line %d is of spaces alone", i)
		}
	}
	raw, err := textproto.NewReader(bufio.NewReader(strings.NewReader(body))).ReadDotBytes()
	if err != nil {
		t.Fatal(err)
	}
	_, parts := partsOf(t, raw)
	want := strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if len(parts) != 3 || parts[0].body != want {
		t.Errorf("%d parts, text %q", len(parts), parts[0].body)
	}
}

// A canceled call ends at once, whatever the server does.
func TestACanceledCallEnds(t *testing.T) {
	p := newPeer(t, nil, script(greeting, "C MAIL", "HANG")...)
	plugin := open(t, settings(p))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan sdktest.Result, 1)
	go func() { ended <- plugin.CallContext(ctx, "send", hello(nil)) }()
	<-p.hangs
	cancel()
	if r := <-ended; r.Err == nil || r.Err.Code != sdk.CodeCanceled {
		t.Errorf("got %v", r.Err)
	}
}
