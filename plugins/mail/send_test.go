package mail

import (
	"encoding/base64"
	"io"
	"mime"
	"mime/quotedprintable"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/mail/mailsim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// decoded is what a transfer encoding stands for.
func decoded(t *testing.T, encoding string, body []byte) string {
	t.Helper()
	reader := io.Reader(strings.NewReader(string(body)))
	switch encoding {
	case "quoted-printable":
		reader = quotedprintable.NewReader(reader)
	case "base64":
		reader = base64.NewDecoder(base64.StdEncoding, reader)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatalf("%s: %v", encoding, err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

func TestPluginIsSound(t *testing.T) {
	if err := New().Err(); err != nil {
		t.Fatal(err)
	}
	described := sdktest.Serve(t, New()).Describe()
	if len(described.Actions) != 1 || described.Actions[0].Effect != "keyed" || described.Actions[0].Doc == "" {
		t.Errorf("described as %+v", described.Actions)
	}
}

func TestExamplesWork(t *testing.T) {
	_, config := simulate(t, mailsim.Options{})
	p := open(t, config)
	for _, example := range p.Action("send").Examples {
		if r := p.Call("send", example.Input); r.Err != nil {
			t.Errorf("%s: %v", example.Name, r.Err)
		}
	}
}

// A message arrives as it was meant: names, subject, parts and attachments, in all letters.
func TestAMessageArrivesAsItWasMeant(t *testing.T) {
	sim, config := simulate(t, mailsim.Options{})
	p := open(t, with(config, in{"reply_to": "answers@example.com", "envelope_from": "bounces@example.com"}))
	longName := strings.Repeat("ä", 120) + ".csv"
	subject := "Grüße — " + strings.Repeat("Zahlen der Woche ", 12) + "✓"
	out := outputOf(t, p.Call("send", in{
		"to": []any{"Jörg Groß <joerg@example.com>", in{"address": "o'neil+x@EXAMPLE.org", "name": `O"Neil, J.`}}, "cc": []any{"c@example.net", "joerg@example.com"},
		"bcc": []any{"hidden@example.com"}, "subject": subject, "markdown": "# Grüße\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n",
		"attachments": []any{in{"name": longName, "text": "a,b\r\n1,2\r\n"}, in{"name": "x.bin", "base64": base64.StdEncoding.EncodeToString([]byte{0, 255, 13, 10, 46})}},
		"headers":     in{"X-Report": "week " + strings.Repeat("ü", 100), "list-id": "<reports.example.com>"}, "in_reply_to": "<first@example.com>",
	}, sdktest.Key("key-1")))
	kept := sim.Messages()
	if len(kept) != 1 {
		t.Fatalf("%d messages", len(kept))
	}
	m := kept[0]
	if m.From != "bounces@example.com" || strings.Join(m.Recipients, " ") != "joerg@example.com o'neil+x@example.org c@example.net hidden@example.com" {
		t.Errorf("envelope from %s to %v", m.From, m.Recipients)
	}
	if len(out.Accepted) != 4 || out.MessageID != m.MessageID || !strings.HasSuffix(out.MessageID, "@example.com>") || !strings.Contains(out.Response, "kept as 1") {
		t.Errorf("output %+v", out)
	}
	header, parts := partsOf(t, m.Data)
	for name, want := range map[string]string{
		"Subject": strings.Join(strings.Fields(subject), " "), "X-Report": "week " + strings.Repeat("ü", 100), "List-Id": "<reports.example.com>",
		"In-Reply-To": "<first@example.com>", "References": "<first@example.com>", "Auto-Submitted": "auto-generated", "Bcc": "",
	} {
		got, err := new(mime.WordDecoder).DecodeHeader(header.Get(name))
		if err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", name, got, want, err)
		}
	}
	to, err := header.AddressList("To")
	if err != nil || len(to) != 2 || to[0].Name != "Jörg Groß" || to[1].Name != `O"Neil, J.` {
		t.Errorf("To: %v %v in %q", to, err, header.Get("To"))
	}
	if reply, err := header.AddressList("Reply-To"); err != nil || len(reply) != 1 || reply[0].Address != "answers@example.com" {
		t.Errorf("Reply-To: %v, %v", reply, err)
	}
	if len(parts) != 4 {
		t.Fatalf("%d parts: %+v", len(parts), parts)
	}
	if parts[0].mediaType != "text/plain" || !strings.HasPrefix(parts[0].body, "# Grüße\n") || parts[1].mediaType != "text/html" || !strings.Contains(parts[1].body, "<h1>Grüße</h1>") || !strings.Contains(parts[1].body, "<td>1</td>") {
		t.Errorf("bodies %+v", parts[:2])
	}
	if parts[2].filename != longName || parts[2].mediaType != "text/csv" || parts[2].params["charset"] != "utf-8" || parts[2].body != "a,b\n1,2\n" {
		t.Errorf("first attachment %+v", parts[2])
	}
	if parts[3].filename != "x.bin" || parts[3].mediaType != "application/octet-stream" || parts[3].body != "\x00\xff\n." {
		t.Errorf("second attachment %+v", parts[3])
	}
}

// Each attempt has the same id; another key, another one.
func TestTheMessageIDFollowsTheKey(t *testing.T) {
	sim, config := simulate(t, mailsim.Options{})
	p := open(t, config)
	for _, key := range []string{"a", "a", "b"} {
		outputOf(t, p.Call("send", hello(nil), sdktest.Key(key)))
	}
	kept := sim.Messages()
	if len(kept) != 2 || kept[0].Copies != 2 || kept[1].Copies != 1 || kept[0].MessageID == kept[1].MessageID || len(kept[0].MessageID) != len("<>@example.com")+32 {
		t.Errorf("messages %+v", kept)
	}
	// without a key, as in a call of no run, each has its own
	for range 2 {
		outputOf(t, p.Call("send", hello(nil), sdktest.Key("")))
	}
	if kept := sim.Messages(); len(kept) != 4 || kept[2].MessageID == kept[3].MessageID {
		t.Errorf("messages %+v", kept)
	}
}

// TLS from the first byte and STARTTLS, with every way to log in that the simulator has.
func TestTLSAndLogin(t *testing.T) {
	identity, caFile := authority(t)
	sim, config := simulate(t, mailsim.Options{TLS: identity, Users: map[string]string{"me": "a-long-password"}})
	config = with(config, in{"security": "starttls", "ca_file": caFile})
	login := in{"username": "me", "password": "a-long-password"}
	for name, more := range map[string]in{
		"auto": login, "plain": with(login, in{"auth": "plain"}), "login": with(login, in{"auth": "login"}), "cram": with(login, in{"auth": "cram-md5"}),
		"scram": with(login, in{"auth": "scram-sha-256"}),
		"token": {"username": "me", "token": "a-long-password"},
	} {
		p := open(t, with(config, more))
		if r := p.Call("send", hello(in{"subject": name}), anyKey()); r.Err != nil {
			t.Errorf("%s: %v", name, r.Err)
		}
		if account, failure := p.CheckConnection(); failure != nil || account != "me" {
			t.Errorf("%s: %q, %v", name, account, failure)
		}
	}
	if len(sim.Messages()) != 6 {
		t.Errorf("%d messages", len(sim.Messages()))
	}
	for name, c := range map[string]struct {
		more in
		code sdk.Code
		text string
	}{
		"wrong password":  {in{"username": "me", "password": "another-password"}, sdk.CodeUnauthorized, "535 5.7.8"},
		"wrong token":     {in{"username": "me", "token": "another-password"}, sdk.CodeUnauthorized, "535 5.7.8"},
		"no login":        {in{}, sdk.CodeAuthRequired, "530 5.7.0"},
		"not offered":     {with(login, in{"auth": "scram-sha-1"}), sdk.CodeUnsupported, "does not offer to log in with scram-sha-1"},
		"nobody vouches":  {with(login, in{"ca_file": ""}), sdk.CodeUnavailable, "certificate"},
		"in clear by TLS": {with(login, in{"security": "tls"}), sdk.CodeUnavailable, "it does not speak TLS there"},
	} {
		failure := fails(t, open(t, with(config, c.more)).Call("send", hello(nil)), c.code, sdk.NotApplied, c.text)
		if text := jsonOf(t, failure); strings.Contains(text, "another-password") || strings.Contains(text, "a-long-password") {
			t.Errorf("%s: the error has the password: %s", name, text)
		}
	}
	if len(sim.Messages()) != 6 {
		t.Errorf("%d messages, after refusals", len(sim.Messages()))
	}
}

// Of several recipients the server refuses some.
func TestRefusedRecipients(t *testing.T) {
	sim, config := simulate(t, mailsim.Options{})
	p := open(t, config)
	to := in{"to": []any{"a@example.com", "x@refused.example"}, "bcc": []any{"b@example.com"}}
	failure := fails(t, p.Call("send", hello(to), anyKey()), sdk.CodeInvalid, sdk.AppliedPartly, "sent to 2 of 3 recipients; the server refuses x@refused.example: 550 5.1.1")
	if failure.Pointer != "/to/1" || !strings.Contains(jsonOf(t, failure.Details), "message_id") {
		t.Errorf("pointer %s, details %v", failure.Pointer, failure.Details)
	}
	fails(t, p.Call("send", hello(with(to, in{"on_refused": "cancel"}))), sdk.CodeInvalid, sdk.NotApplied, "the message was sent to none")
	out := outputOf(t, p.Call("send", hello(with(to, in{"on_refused": "report"})), anyKey()))
	if len(out.Accepted) != 2 || len(out.Refused) != 1 || out.Refused[0].Address != "x@refused.example" || out.Refused[0].Code != 550 || out.Refused[0].Status != "5.1.1" {
		t.Errorf("output %+v", out)
	}
	fails(t, p.Call("send", hello(in{"to": []any{"x@refused.example"}, "on_refused": "report"})), sdk.CodeInvalid, sdk.NotApplied, "550 5.1.1")
	if kept := sim.Messages(); len(kept) != 2 || len(kept[0].Recipients) != 2 {
		t.Errorf("%d messages", len(kept))
	}
	// one that is refused for now is tried again, with all
	if err := sim.Kit().Add(simkit.Fault{Method: "RCPT", Path: "/to/b@example.com", Status: 451, Body: "4.2.0 Greylisted for 300 seconds", Count: 1}); err != nil {
		t.Fatal(err)
	}
	both := hello(in{"to": []any{"a@example.com", "b@example.com"}})
	failure = fails(t, p.Call("send", both), sdk.CodeUnavailable, sdk.NotApplied, "was sent to none")
	if failure.RetryAfter.Seconds() != 300 || failure.Reason != "4.2.0" {
		t.Errorf("wait %s, reason %q", failure.RetryAfter, failure.Reason)
	}
	outputOf(t, p.Call("send", both, anyKey()))
	if kept := sim.Messages(); len(kept) != 3 {
		t.Errorf("%d messages", len(kept))
	}
}

// What a reply means, at each command: its kind, and that nothing was done.
func TestRepliesOfEachCommand(t *testing.T) {
	sim, config := simulate(t, mailsim.Options{})
	p := open(t, config)
	codes := map[string]sdk.Code{
		"421 4.3.2 Closing": sdk.CodeUnavailable, "450 4.7.1 Try later": sdk.CodeUnavailable, "451 4.7.28 Slow": sdk.CodeRateLimited, "452 4.3.1 Full": sdk.CodeUnavailable,
		"450 Too many connections": sdk.CodeRateLimited, "432 4.7.12 Change it": sdk.CodeAuthRequired,
		"500 5.5.2 What": sdk.CodeUnsupported, "501 5.1.3 Bad": sdk.CodeInvalid, "503 5.5.1 Order": sdk.CodeUnsupported, "530 5.7.0 Login": sdk.CodeAuthRequired,
		"534 5.7.14 Browser": sdk.CodeAuthRequired, "535 5.7.8 Wrong": sdk.CodeUnauthorized, "538 5.7.11 TLS": sdk.CodeForbidden, "550 5.1.1 None": sdk.CodeInvalid, "550 5.7.1 Relay": sdk.CodeForbidden,
		"550 None": sdk.CodeInvalid, "552 5.3.4 Large": sdk.CodeInvalid, "553 5.6.7 Letters": sdk.CodeUnsupported, "554 No": sdk.CodeForbidden, "554 5.2.1 Closed": sdk.CodeInvalid,
		"554 5.6.0 Content": sdk.CodeInvalid, "555 Parameters": sdk.CodeUnsupported, "556 5.1.10 Null": sdk.CodeInvalid, "521 No mail": sdk.CodeForbidden,
	}
	for _, method := range []string{"CONNECT", "EHLO", "MAIL", "RCPT", "DATA", "MESSAGE"} {
		for text, want := range codes {
			code, words, _ := strings.Cut(text, " ")
			status := 0
			for _, digit := range code {
				status = status*10 + int(digit-'0')
			}
			faults := []simkit.Fault{{Method: method, Status: status, Body: words, Count: 1}}
			if method == "EHLO" { // HELO is tried after it
				faults = append(faults, simkit.Fault{Method: "HELO", Status: status, Body: words, Count: 1})
			}
			if err := sim.Kit().Add(faults...); err != nil {
				t.Fatal(err)
			}
			r := p.Call("send", hello(nil))
			if r.Err == nil || r.Err.Code != want || r.Err.Applied != sdk.NotApplied || !strings.Contains(r.Err.Message, code) {
				t.Errorf("%s, %s: %v, want %s", method, text, r.Err, want)
			}
			sim.Kit().ClearFaults()
		}
	}
	if len(sim.Messages()) != 0 {
		t.Errorf("%d messages", len(sim.Messages()))
	}
	outputOf(t, p.Call("send", hello(nil))) // the control
}

// The token of another connection logs in; it stands in no message.
func TestATokenOfAnotherConnection(t *testing.T) {
	identity, caFile := authority(t)
	sim, config := simulate(t, mailsim.Options{TLS: identity, Users: map[string]string{"me": "a-token-of-another"}})
	p := open(t, with(config, in{"security": "starttls", "ca_file": caFile, "username": "me", "token_from": in{"connection": "company"}}))
	p.Host().SetToken(sdktest.Connection, "", sdk.Token{ID: "1", AccessToken: "a-token-of-another", ExpiresAt: time.Now().Add(time.Hour)})
	outputOf(t, p.Call("send", hello(nil)))
	p.Host().SetToken(sdktest.Connection, "", sdk.Token{ID: "2", AccessToken: "a-token-that-is-old", ExpiresAt: time.Now().Add(time.Hour)})
	failure := fails(t, p.Call("send", hello(nil), anyKey()), sdk.CodeUnauthorized, sdk.NotApplied, "535")
	if strings.Contains(jsonOf(t, failure), "a-token") || len(sim.Messages()) != 1 {
		t.Errorf("%s, %d messages", jsonOf(t, failure), len(sim.Messages()))
	}
}
