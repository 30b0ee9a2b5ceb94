// Package mail sends to a server that others wrote, and has what arrives read by a reader
// that others wrote: npm's smtp-server and mailparser, where Node.js and its modules are.
package mail

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"mime"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/plugins/mail"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

const folder = "testdata/node"

// in is shorthand for an object.
type in = map[string]any

// server is a process of the server.
type server struct {
	port  int
	lines *bufio.Scanner
}

type person struct{ Name, Address string }

// received is what the server and the reader say of a message.
type received struct {
	Secure                                                                           bool
	User, Hello, From, Subject, MessageID, InReplyTo, Text, HTML, Date, Report, Auto string
	To                                                                               []string
	Size, Longest                                                                    int
	Bare                                                                             bool
	HeaderFrom, HeaderTo, HeaderCc, ReplyTo, Bcc                                     []person
	Attachments                                                                      []struct {
		Filename, ContentType, SHA256 string
		Size                          int
	}
}

// start starts a server with settings of server.mjs.
func start(t *testing.T, settings in) *server {
	t.Helper()
	_, missing := os.Stat(filepath.Join(folder, "node_modules/smtp-server"))
	node, err := exec.LookPath("node")
	if err != nil || missing != nil {
		t.Skip("SKIPPED: mail to a server of others: there is no node, or not its modules (npm ci --prefix test/mail/testdata/node)")
	}
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(node, "server.mjs", string(text))
	command.Dir, command.Stderr = folder, os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = command.Wait() // it ends with its stdin
	})
	s := &server{lines: bufio.NewScanner(stdout)}
	s.lines.Buffer(nil, 16<<20)
	var said struct{ Port int }
	s.read(t, &said)
	s.port = said.Port
	return s
}

// read reads the next line that the server says.
func (s *server) read(t *testing.T, into any) {
	t.Helper()
	if !s.lines.Scan() {
		t.Fatalf("the server ended: %v", s.lines.Err())
	}
	if err := json.Unmarshal(s.lines.Bytes(), into); err != nil {
		t.Fatalf("%v in %s", err, s.lines.Bytes())
	}
}

// open opens the plugin with a connection to the server.
func (s *server) open(t *testing.T, more in) *sdktest.Plugin {
	t.Helper()
	config := in{"host": "127.0.0.1", "port": s.port, "private": true, "from": "Reports <reports@example.com>"}
	for name, value := range more {
		config[name] = value
	}
	return sdktest.Open(t, mail.New(), config)
}

// identity makes a key and a certificate of this machine as files, and one with who vouches
// for them.
func identity(t *testing.T) (key, certificate, authority string) {
	t.Helper()
	made, vouches, err := authsim.Certificate(time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string][]byte{
		"key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), "ca.pem": vouches,
		"cert.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]}),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "key.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "ca.pem")
}

func message(more in) in {
	input := in{"to": []any{"ann@example.com"}, "subject": "Hello", "text": "Hello."}
	for name, value := range more {
		input[name] = value
	}
	return input
}

// What a reader of others reads is what was meant.
func TestIssue16_2_WhatOthersReadIsWhatWasMeant(t *testing.T) {
	t.Parallel()
	s := start(t, in{"noTLS": true, "methods": []string{}})
	plugin := s.open(t, in{"security": "none", "reply_to": "answers@example.com"})
	data := make([]byte, 100_000)
	_, _ = rand.Read(data) // it never fails
	subject := "Grüße: " + strings.Repeat("日本語の件名 ", 20) + "✓"
	text := "Hallo,\n.\n..\nFrom here\n" + strings.Repeat("lang ", 1000) + "\nÄÖÜ\n"
	longName := strings.Repeat("ü", 120) + ".csv"
	result := plugin.Call("send", in{
		"to": []any{`"Doe, Jane" <jane@example.com>`, in{"name": "Jörg 'J' Groß \\ <x>", "address": "joerg@bücher.example"}}, "cc": []any{"c@example.net"}, "bcc": []any{"hidden@example.com"},
		"subject": subject, "markdown": "# Grüße\n\n| a | b |\n|---|---|\n| <b>1</b> | 2 |\n\n[link](https://example.com/?a=1&b=2) [no](javascript:x)\n", "text": text, "in_reply_to": "<first@example.com>",
		"headers": in{"X-Report": "Woche " + strings.Repeat("ä", 200)}, "attachments": []any{in{"name": longName, "text": "a,b\r\n1,2\r\n"}, in{"name": "d.bin", "base64": base64.StdEncoding.EncodeToString(data)}},
	})
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	var out struct {
		MessageID string `json:"message_id"`
		Response  string
		Size      int
	}
	result.Decode(t, &out)
	var got received
	s.read(t, &got)
	if got.From != "reports@example.com" || strings.Join(got.To, " ") != "jane@example.com joerg@bücher.example c@example.net hidden@example.com" || !strings.HasPrefix(got.Hello, "[127.0.0.1") {
		t.Errorf("envelope from %s to %v, greeted as %s", got.From, got.To, got.Hello)
	}
	if got.Subject != strings.Join(strings.Fields(subject), " ") || got.MessageID != out.MessageID || got.InReplyTo != "<first@example.com>" || got.Auto != "auto-generated" {
		t.Errorf("headers %+v", got)
	}
	if report, err := new(mime.WordDecoder).DecodeHeader(got.Report); err != nil || report != "Woche "+strings.Repeat("ä", 200) { // the reader leaves it as it is
		t.Errorf("X-Report is %q, %v", report, err)
	}
	if len(got.HeaderTo) != 2 || got.HeaderTo[0].Name != "Doe, Jane" || got.HeaderTo[1].Name != `Jörg 'J' Groß \ <x>` || len(got.HeaderFrom) != 1 || got.HeaderFrom[0].Name != "Reports" || len(got.HeaderCc) != 1 || len(got.Bcc) != 0 || got.ReplyTo[0].Address != "answers@example.com" {
		t.Errorf("people %+v", got)
	}
	if strings.TrimRight(got.Text, "\n") != strings.TrimRight(text, "\n") {
		t.Errorf("text %q", got.Text)
	}
	for _, want := range []string{"<h1>Grüße</h1>", "&lt;b&gt;1&lt;/b&gt;", `<a href="https://example.com/?a=1&amp;b=2">link</a>`, " no</p>"} {
		if !strings.Contains(got.HTML, want) {
			t.Errorf("HTML has no %s:\n%s", want, got.HTML)
		}
	}
	sum := sha256.Sum256(data)
	if len(got.Attachments) != 2 || got.Attachments[0].Filename != longName || got.Attachments[0].ContentType != "text/csv" || got.Attachments[1].Filename != "d.bin" || got.Attachments[1].SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("attached %+v", got.Attachments)
	}
	if got.Longest > 998 || got.Bare || got.Size != out.Size || !strings.Contains(out.Response, "2.0.0 taken") {
		t.Errorf("lines of up to %d, bare line ends %t, %d bytes and %d; %q", got.Longest, got.Bare, got.Size, out.Size, out.Response)
	}
}

// Addresses in letters beyond ASCII, which the server takes, go out as they are.
func TestIssue16_2_AddressesInAllLetters(t *testing.T) {
	t.Parallel()
	s := start(t, in{"noTLS": true, "methods": []string{}})
	plugin := s.open(t, in{"security": "none"})
	if r := plugin.Call("send", message(in{"to": []any{"Jörg <jörg@example.com>", "用户@例え.jp"}})); r.Err != nil {
		t.Fatal(r.Err)
	}
	var got received
	s.read(t, &got)
	if strings.Join(got.To, " ") != "jörg@example.com 用户@例え.jp" || len(got.HeaderTo) != 2 || got.HeaderTo[0].Name != "Jörg" || got.HeaderTo[0].Address != "jörg@example.com" {
		t.Errorf("to %v, people %+v", got.To, got.HeaderTo)
	}
}

// Each way to log in that the server has, over STARTTLS and over TLS from the first byte.
func TestIssue16_2_LoggingInAtAServerOfOthers(t *testing.T) {
	t.Parallel()
	key, certificate, authority := identity(t)
	for name, c := range map[string]struct {
		secure   bool
		method   string
		settings in
	}{
		"plain":   {false, "PLAIN", in{"username": "me", "password": "the-password"}},
		"login":   {true, "LOGIN", in{"username": "me", "password": "the-password"}},
		"cram":    {false, "CRAM-MD5", in{"username": "me", "password": "the-password"}},
		"xoauth2": {true, "XOAUTH2", in{"username": "me", "token": "the-password"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, in{"secure": c.secure, "key": key, "cert": certificate, "methods": []string{c.method}, "user": "me", "password": "the-password"})
			settings := in{"ca_file": authority, "security": map[bool]string{true: "tls", false: "starttls"}[c.secure]}
			for field, value := range c.settings {
				settings[field] = value
			}
			plugin := s.open(t, settings)
			if account, failure := plugin.CheckConnection(); failure != nil || account != "me" {
				t.Fatalf("%q, %v", account, failure)
			}
			if r := plugin.Call("send", message(nil)); r.Err != nil {
				t.Fatal(r.Err)
			}
			var got received
			s.read(t, &got)
			if !got.Secure || got.User != "me" || got.Text != "Hello.\n" && got.Text != "Hello." {
				t.Errorf("got %+v", got)
			}
			for field := range c.settings {
				if field != "username" {
					settings[field] = "another-password"
				}
			}
			r := s.open(t, settings).Call("send", message(nil))
			if r.Err == nil || r.Err.Code != sdk.CodeUnauthorized || r.Err.Applied != sdk.NotApplied || strings.Contains(r.Err.Message, "another-password") {
				t.Errorf("with a wrong password: %v", r.Err)
			}
		})
	}
}

// What the server refuses: a recipient, a size, a message in clear.
func TestIssue16_2_WhatAServerOfOthersRefuses(t *testing.T) {
	t.Parallel()
	key, certificate, authority := identity(t)
	s := start(t, in{"noTLS": true, "methods": []string{}, "size": 3000})
	plugin := s.open(t, in{"security": "none"})
	r := plugin.Call("send", message(in{"to": []any{"ann@example.com", "x@refused.example"}}))
	if r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Applied != sdk.AppliedPartly || !strings.Contains(r.Err.Message, "550 5.1.1") {
		t.Errorf("a refused recipient: %v", r.Err)
	}
	if r := plugin.Call("send", message(in{"text": strings.Repeat("long ", 2000)})); r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Reason != "too_large" {
		t.Errorf("a large message: %v", r.Err)
	}
	if r := s.open(t, in{}).Call("send", message(nil)); r.Err == nil || r.Err.Code != sdk.CodeForbidden || !strings.Contains(r.Err.Message, "offers no TLS") {
		t.Errorf("no TLS: %v", r.Err)
	}
	closed := start(t, in{"key": key, "cert": certificate, "methods": []string{"PLAIN"}, "user": "me", "password": "the-password"})
	if r := closed.open(t, in{"ca_file": authority}).Call("send", message(nil)); r.Err == nil || r.Err.Code != sdk.CodeAuthRequired {
		t.Errorf("no login: %v", r.Err)
	}
	if r := closed.open(t, in{}).Call("send", message(nil)); r.Err == nil || r.Err.Code != sdk.CodeUnavailable || !strings.Contains(r.Err.Message, "certificate") {
		t.Errorf("nobody vouches for it: %v", r.Err)
	}
}
