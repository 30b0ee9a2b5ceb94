package sandbox

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/project"
)

func start(t *testing.T) *Sandbox {
	t.Helper()
	running, err := Start(Options{Now: time.Now, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	})
	return running
}

// ask returns what a service answers.
func ask(t *testing.T, s *Sandbox, plugin, path string) string {
	t.Helper()
	for _, service := range s.Services() {
		if service.Plugin != plugin {
			continue
		}
		response, err := http.Get(service.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s answers %s (%v): %s", plugin, response.Status, err, body)
		}
		return string(body)
	}
	t.Fatalf("no service of %s runs", plugin)
	return ""
}

func TestEveryServiceRunsOnLoopback(t *testing.T) {
	running := start(t)
	if got := strings.Join(running.Names(), " "); got != "analytics auth dictionary http mail netinfo tasks" {
		t.Errorf("services of %s", got)
	}
	for _, service := range running.Services() {
		if own, ok := Local(service.Plugin); ok {
			if service.URL != "" || service.Rate != "" || !strings.Contains(string(service.Config), `{"simulated":"`) || len(own.Keep) != len(service.Keep) || len(service.Keep) == 0 {
				t.Errorf("%+v", service)
			}
			continue
		}
		if service.Plugin == "mail" { // it does not speak HTTP; the address is that of its messages
			if !strings.HasPrefix(service.URL, "http://127.0.0.1:") || service.Rate != Rate || running.Mail() != service.URL+"/messages" {
				t.Errorf("%+v", service)
			}
			continue
		}
		setting, scheme := "base_url", "http"
		if service.Plugin == "auth" {
			setting, scheme = "auth_url", "https"
		}
		var config map[string]any
		if err := json.Unmarshal(service.Config, &config); err != nil || config[setting] != service.URL {
			t.Errorf("%s: config %s (%v)", service.Plugin, service.Config, err)
		}
		if !strings.HasPrefix(service.URL, scheme+"://127.0.0.1:") || service.Rate != Rate {
			t.Errorf("%s: %s, %s", service.Plugin, service.URL, service.Rate)
		}
	}
}

func TestTheDataIsTheSameAtEveryStart(t *testing.T) {
	const path = "/api/v1/whois/go.dev"
	first, second := ask(t, start(t), "netinfo", path), ask(t, start(t), "netinfo", path)
	if registrar(t, first) == "" || registrar(t, first) != registrar(t, second) {
		t.Errorf("%s\nand\n%s", first, second)
	}
}

// registrar finds the registrar anywhere in an answer.
func registrar(t *testing.T, answer string) string {
	t.Helper()
	_, rest, found := strings.Cut(answer, `"registrar":`)
	if !found {
		t.Fatalf("no registrar in %s", answer)
	}
	value, _, _ := strings.Cut(rest, ",")
	return value
}

func TestProjectIsAValidProjectFile(t *testing.T) {
	running := start(t)
	file, problems := project.Parse("flowrun.yaml", running.Project())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if len(file.Connections) != len(running.Services()) {
		t.Errorf("%d connections, want %d", len(file.Connections), len(running.Services()))
	}
	for _, service := range running.Services() {
		connection, found := file.Connection(service.Plugin)
		if !found || connection.Plugin != service.Plugin || connection.Rate != service.Rate {
			t.Errorf("connection of %s: %+v", service.Plugin, connection)
		}
	}
}

func TestLineNamesTheRate(t *testing.T) {
	if line := start(t).Line(); !strings.Contains(line, Rate) || strings.Contains(line, "\n") {
		t.Errorf("got %q", line)
	}
}

func TestLoginsHaveAPageThatABrowserOpens(t *testing.T) {
	running := start(t)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the throw-away certificate
	defer transport.CloseIdleConnections()
	for _, service := range running.Services() {
		if service.Plugin != "auth" {
			continue
		}
		form := url.Values{"client_id": {"sandbox-device"}, "scope": {"openid"}}
		response, err := (&http.Client{Transport: transport}).PostForm(service.URL+"/device/code", form)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var flow struct {
			Code string `json:"user_code"`
			URL  string `json:"verification_url"`
		}
		if err := json.NewDecoder(response.Body).Decode(&flow); err != nil || !strings.HasPrefix(flow.URL, "http://127.0.0.1:") {
			t.Fatalf("flow %+v: %v", flow, err)
		}
		page, err := http.Get(flow.URL + "?user_code=" + flow.Code)
		if err != nil {
			t.Fatal(err)
		}
		defer page.Body.Close()
		if text, err := io.ReadAll(page.Body); err != nil || page.StatusCode != http.StatusOK || !strings.Contains(string(text), flow.Code) {
			t.Errorf("the page answers %s (%v): %s", page.Status, err, text)
		}
	}
}
