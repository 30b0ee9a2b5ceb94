package main_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// What is wrong with a message is found where it stands, before anything runs.
func TestIssue16_2_AMessageIsCheckedBefore(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "flowrun.yaml", "connections:\n  mail: {plugin: mail, config: {host: smtp.example.com, from: a@example.com, recipients: [\"*@example.com\"]}}\n")
	write(t, dir, "wrong.yaml", `flowrun: v1
name: wrong
inputs: {who: {type: string, default: ann@example.com}}
steps:
  - {id: a, uses: mail.send, with: {to: ["${{ inputs.who }}", ann@example], subject: x}}
  - {id: b, uses: mail.send, with: {to: [ann@example.net], subject: x, text: y}}
  - {id: c, uses: mail.send, with: {subject: x, text: y, from: evil@example.com}}
  - {id: d, uses: mail.send, with: {to: [ann@example.com], subject: "a\nb", markdown: x, html: y}}
  - {id: e, uses: mail.send, with: {to: [ann@example.com], subject: x, text: y, headers: {Bcc: z@example.com}, atachments: []}}
outputs: {id: "${{ steps.a.outputs.mesage_id }}"}
`)
	_, out, code := flowrunHere(t, binary, dir, []string{"XDG_STATE_HOME=" + dir}, "validate", "wrong.yaml")
	if code != 3 {
		t.Errorf("validate exits with %d", code)
	}
	for _, want := range []string{
		"wrong.yaml:5:36", "there is nothing to send", "wrong.yaml:5:63", "the domain example has no dot", "wrong.yaml:6:42", "may not send to ann@example.net", "list it in `recipients`", "there is no recipient", "may not send as evil@example.com",
		"must not hold line breaks", "must not be given beside markdown", "did you mean `attachments`?", "unknown field `mesage_id`",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("validate does not say %q:\n%s", want, out)
		}
	}
}

// A sandbox delivers nothing and shows what it took; faults are those of all simulators.
func TestIssue16_2_ASandboxKeepsMail(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	project, err := os.ReadFile(startSandbox(t, binary, dir))
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`mail is kept and not delivered: (http://127\.0\.0\.1:\d+)/messages`).FindSubmatch(project)
	if address == nil {
		t.Fatalf("the sandbox prints\n%s", project)
	}
	found := string(address[1])
	write(t, dir, "tell.yaml", "flowrun: v1\nname: tell\nsteps:\n  - {id: tell, uses: mail.send, with: {to: [ann@example.com], subject: Grüße, markdown: '**done**'}, retry: {attempts: 1}}\n")
	get := func(method, path, body string) string {
		t.Helper()
		request, err := http.NewRequest(method, found+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if out, code := flowrunIn(t, binary, dir, "run", "tell.yaml"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	var list struct {
		Messages []struct {
			Subject    string
			Recipients []string
			Copies     int
		}
	}
	if err := json.Unmarshal([]byte(get("GET", "/messages", "")), &list); err != nil || len(list.Messages) != 1 || list.Messages[0].Subject != "Grüße" || list.Messages[0].Copies != 1 || strings.Join(list.Messages[0].Recipients, "") != "ann@example.com" {
		t.Errorf("messages %+v, %v", list, err)
	}
	if whole := get("GET", "/messages/1", ""); !strings.Contains(whole, "<strong>done</strong>") {
		t.Errorf("the message:\n%s", whole)
	}
	if journal := get("GET", "/_sim/requests", ""); !strings.Contains(journal, `"method":"RCPT","path":"/to/ann@example.com"`) || !strings.Contains(journal, `"method":"MESSAGE"`) {
		t.Errorf("the journal:\n%s", journal)
	}
	get("POST", "/_sim/faults", `{"method": "RCPT", "path": "/to/ann@example.com", "status": 550, "body": "5.1.1 gone"}`)
	if out, code := flowrunIn(t, binary, dir, "run", "tell.yaml"); code != 5 || !strings.Contains(out, "550 5.1.1 gone") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// echo is a server that says what it is told, as nobody should.
type echo struct {
	net.Listener
	served sync.WaitGroup
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{Listener: listener}
	e.served.Add(1)
	go func() {
		defer e.served.Done()
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			e.talk(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		e.served.Wait()
	})
	return e
}

func (e *echo) talk(conn net.Conn) {
	lines := bufio.NewScanner(conn)
	say := func(text string) { _, _ = io.WriteString(conn, text+"\r\n") } // who is gone hears nothing
	say("220 echo")
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "EHLO":
			say("250-echo")
			say("250 AUTH PLAIN LOGIN XOAUTH2")
		case "AUTH":
			how, text, _ := strings.Cut(rest, " ")
			if how == "LOGIN" {
				say("334 VXNlcm5hbWU6")
				lines.Scan()
				say("334 UGFzc3dvcmQ6")
				lines.Scan()
				text = lines.Text()
			}
			clear, _ := base64.StdEncoding.DecodeString(text) // what can't be read is echoed as it came
			say("535-5.7.8 " + text + " is wrong")
			say("535 5.7.8 " + strings.ReplaceAll(string(clear), "\x00", " ") + " is wrong")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("500 what")
		}
	}
}

// A password stands nowhere, whatever a server does with it: in no output, no error, no log
// and no file.
func TestIssue16_2_APasswordOfMailStandsNowhere(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	const password = "canary-of-mail-9f3b"
	for _, settings := range []string{"password: \"${{ secrets.MAIL }}\", auth: plain", "password: \"${{ secrets.MAIL }}\", auth: login", "token: \"${{ secrets.MAIL }}\""} {
		dir, server := t.TempDir(), newEcho(t)
		port := strconv.Itoa(server.Addr().(*net.TCPAddr).Port)
		write(t, dir, "flowrun.yaml", "connections:\n  mail: {plugin: mail, config: {host: 127.0.0.1, port: "+port+", security: none, private: true, from: a@example.com, username: me, "+settings+"}}\n")
		write(t, dir, "tell.yaml", "flowrun: v1\nname: tell\nsteps:\n  - {id: tell, uses: mail.send, with: {to: [ann@example.com], subject: x, text: y}}\n")
		environ := []string{"XDG_STATE_HOME=" + dir, "FLOWRUN_SECRET_MAIL=" + password}
		said := ""
		for _, args := range [][]string{{"run", "tell.yaml", "-v"}, {"connections", "test"}, {"connections", "-o", "json"}, {"runs", "show", "@last", "-o", "json"}, {"call", "mail.send", "--connection", "mail", "--with", `{"to":["ann@example.com"],"subject":"x","text":"y"}`}} {
			stdout, stderr, _ := flowrunHere(t, binary, dir, environ, args...)
			said += stdout + stderr
		}
		if !strings.Contains(said, "535 5.7.8") || !strings.Contains(said, "[redacted]") {
			t.Errorf("%s: the server was not heard:\n%s", settings, said)
		}
		texts := map[string]string{"what was printed": said}
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				text, err := os.ReadFile(path)
				texts[path] = string(text)
				return err
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{password, base64.StdEncoding.EncodeToString([]byte(password)), base64.StdEncoding.EncodeToString([]byte("\x00me\x00" + password))[6:], "Y2FuYXJ5LW9mLW1haWwtOWYz"} {
			for where, text := range texts {
				if strings.Contains(text, form) {
					t.Errorf("%s: %s has %s", settings, where, form)
				}
			}
		}
	}
}
