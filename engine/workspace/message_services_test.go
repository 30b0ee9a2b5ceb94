package workspace

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/notify"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// service stands for a chat or paging service: judge holds a request against what the
// service documents, and gives the raw answer.
type service struct {
	file    string // of docs/notify
	target  string
	address string // what stands in the file for the service's own address; "" = it is the secret
	secrets map[string]string
	judge   func(t *testing.T, request *http.Request, body []byte) string
}

func raw(status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(body), body)
}

// fields decodes a body of JSON; a body that is none is the service's invalid_payload.
func fields(t *testing.T, request *http.Request, body []byte) map[string]any {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal(body, &decoded); err != nil || request.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s: %v", request.Header.Get("Content-Type"), body, err)
	}
	return decoded
}

func chatServices() []service {
	return []service{
		{file: "slack.yaml", target: "slack", secrets: map[string]string{"SLACK_HOOK": "/services/T0/B0/s3cret"}, judge: func(t *testing.T, r *http.Request, body []byte) string {
			text, _ := fields(t, r, body)["text"].(string)
			if r.Method != http.MethodPost || text == "" {
				return raw("400 Bad Request", "no_text")
			}
			return raw("200 OK", "ok")
		}},
		{file: "discord.yaml", target: "discord", secrets: map[string]string{"DISCORD_HOOK": "/api/webhooks/1/s3cret"}, judge: func(t *testing.T, r *http.Request, body []byte) string {
			content, _ := fields(t, r, body)["content"].(string)
			if content == "" || utf8.RuneCountInString(content) > 2000 {
				return raw("400 Bad Request", `{"code":50035,"message":"Invalid Form Body"}`)
			}
			return "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
		}},
		{file: "teams.yaml", target: "teams", secrets: map[string]string{"TEAMS_HOOK": "/workflows/s3cret/triggers/manual/paths/invoke"}, judge: func(t *testing.T, r *http.Request, body []byte) string {
			message := fields(t, r, body)
			attachments, _ := message["attachments"].([]any)
			if message["type"] != "message" || len(attachments) != 1 {
				return raw("400 Bad Request", "no card")
			}
			card, _ := attachments[0].(map[string]any)
			content, _ := card["content"].(map[string]any)
			blocks, _ := content["body"].([]any)
			if card["contentType"] != "application/vnd.microsoft.card.adaptive" || content["type"] != "AdaptiveCard" || content["version"] != "1.4" || len(blocks) != 2 {
				return raw("400 Bad Request", "no card")
			}
			return raw("202 Accepted", "")
		}},
		{file: "pagerduty.yaml", target: "pagerduty", address: "https://events.pagerduty.com", secrets: map[string]string{"PAGERDUTY_KEY": "s3cret00000000000000000000000032"}, judge: func(t *testing.T, r *http.Request, body []byte) string {
			event := fields(t, r, body)
			key, _ := event["routing_key"].(string)
			payload, _ := event["payload"].(map[string]any)
			summary, _ := payload["summary"].(string)
			switch {
			case r.URL.Path != "/v2/enqueue", len(key) != 32, event["dedup_key"] == "", event["event_action"] != "trigger",
				summary == "" || utf8.RuneCountInString(summary) > 1024, payload["source"] == nil, payload["severity"] != "error":
				return raw("400 Bad Request", `{"status":"invalid event"}`)
			}
			return raw("202 Accepted", `{"status":"success","message":"Event processed","dedup_key":"x"}`)
		}},
		{file: "ntfy.yaml", target: "ntfy", address: "https://ntfy.sh", secrets: map[string]string{"NTFY_AUTHORIZATION": "Bearer tk_s3cret"}, judge: func(_ *testing.T, r *http.Request, body []byte) string {
			switch {
			case r.Header.Get("Authorization") != "Bearer tk_s3cret":
				return raw("403 Forbidden", "")
			case r.Header.Get("Content-Type") != "text/plain; charset=utf-8", len(body) == 0, r.Header.Get("Title") != "flowrun nightly", r.Header.Get("Priority") != "high":
				return raw("400 Bad Request", "")
			case r.Header.Get("Click") != "https://flowrun.example.com/runs/01j":
				return raw("400 Bad Request", "no link")
			}
			return raw("200 OK", `{"id":"x","event":"message"}`)
		}},
	}
}

// The examples of docs/notify.md are the files of docs/notify, and each gives the request
// that its service documents: also of a text that is longer than the service takes.
func TestMessagesInTheWordsOfServices(t *testing.T) {
	page, err := os.ReadFile("../../docs/notify.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range chatServices() {
		t.Run(s.target, func(t *testing.T) {
			example, err := os.ReadFile("../../docs/notify/" + s.file)
			if err != nil || !bytes.Contains(page, example) {
				t.Fatalf("docs/notify.md does not have docs/notify/%s as it is (%v)", s.file, err)
			}
			address, answers := serveRaw(t, s.judge)
			p, logged := loadTelling(t, s, string(example), address)
			for _, text := range []string{"nightly: run 01j failed: step fetch: no route", strings.Repeat("ü", 4000)} {
				failed := p.Tell(t.Context(), s.target, notify.Message{
					Text: text, To: s.target, Event: "failed", Workflow: "nightly", Run: "01j", Step: "fetch", At: time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC),
				}, "key-1")
				if failed != nil {
					t.Errorf("%v, the service answered %s", failed, answers())
				}
			}
			if strings.Contains(logged.String(), "s3cret") {
				t.Errorf("a secret stands in the log: %s", logged)
			}
		})
	}
}

// The negative control: without the template no service but Slack takes the message.
func TestWithoutATemplateTheServicesRefuse(t *testing.T) {
	for _, s := range chatServices() {
		if s.target == "slack" { // takes {"text": ..} as it is
			continue
		}
		address, _ := serveRaw(t, s.judge)
		bare := "notify:\n  " + s.target + ": {webhook: " + address + "/v2/enqueue}\n"
		p, _ := loadTelling(t, s, bare, address)
		failed := p.Tell(t.Context(), s.target, notify.Message{Text: "no", To: s.target, Event: "failed", Workflow: "nightly", Run: "01j"}, "k")
		if failed == nil || failed.Kind != plan.KindInvalid && failed.Kind != plan.KindForbidden {
			t.Errorf("%s: %v", s.target, failed)
		}
	}
}

// A secret that is not there is told by its name, before anything is sent.
func TestAMissingSecretOfAMessage(t *testing.T) {
	s := chatServices()[3]
	example, err := os.ReadFile("../../docs/notify/" + s.file)
	if err != nil {
		t.Fatal(err)
	}
	address, answers := serveRaw(t, s.judge)
	s.secrets = nil
	p, _ := loadTelling(t, s, string(example), address)
	failed := p.Tell(t.Context(), s.target, notify.Message{Text: "no", To: s.target, Workflow: "nightly"}, "k")
	if failed == nil || failed.Applied != runs.NotApplied || !strings.Contains(failed.Message, "PAGERDUTY_KEY") || answers() != "" {
		t.Errorf("%v, asked: %q", failed, answers())
	}
}

// loadTelling loads a project of one target whose service is at address.
func loadTelling(t *testing.T, s service, text, address string) (*Workspace, *bytes.Buffer) {
	t.Helper()
	if s.address != "" {
		text = strings.Replace(text, s.address, address, 1)
	}
	dir, logged := t.TempDir(), new(bytes.Buffer)
	putFile(t, dir, "flowrun.yaml", text+"server: {public_url: https://flowrun.example.com/}\n")
	var environ []string
	for name, value := range s.secrets {
		if s.address == "" {
			value = address + value
		}
		environ = append(environ, "FLOWRUN_SECRET_"+name+"="+value)
	}
	p, err := Load(t.Context(), Config{
		StateDir: filepath.Join(dir, "state"), ProjectFile: filepath.Join(dir, "flowrun.yaml"), Dir: dir, Executable: "none", Version: "test", Now: time.Now,
		Entropy: rand.Reader, Environ: environ, Log: slog.New(slog.NewTextHandler(logged, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, logged
}

// serveRaw answers connections with raw bytes, one request each. answers gives the last
// answer, "" where nobody asked.
func serveRaw(t *testing.T, judge func(*testing.T, *http.Request, []byte) string) (address string, answers func() string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	last, done := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(done)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			request, err := http.ReadRequest(bufio.NewReader(connection))
			if err != nil {
				t.Errorf("read a request: %v", err)
				_ = connection.Close()
				continue
			}
			body, err := io.ReadAll(request.Body)
			if err != nil {
				t.Errorf("read a body: %v", err)
			}
			answer := judge(t, request, body)
			last <- answer
			_, _ = io.WriteString(connection, answer)
			_ = connection.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return "http://" + listener.Addr().String(), func() (answer string) {
		for {
			select {
			case answer = <-last:
			default:
				return answer
			}
		}
	}
}
