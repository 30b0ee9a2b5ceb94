package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// ask sends a request with a token and returns the status and the body.
func ask(t *testing.T, method, address, path, token, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header = bearer(token)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// TestATokenThatIsMadeOverTCP never allows more than the one that asked for it, does not
// outlive it, names it, and ends with it.
func TestATokenThatIsMadeOverTCP(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	end := p.clock.Now().Add(24 * time.Hour).UTC().Truncate(time.Second)
	maker := p.token(access.NewToken{Name: "far", Scope: "admin", ExpiresAt: end})
	for body, want := range map[string]string{
		`{"scope": "viewer", "expires_at": "` + end.Add(time.Hour).Format(time.RFC3339) + `"}`: "422 would outlive far",
		`{"scope": "viewer", "made_with": ""}`:                                                 "400 made_with",
	} {
		if status, said := ask(t, "POST", address, "/api/v1/local/tokens", maker, body); !strings.HasPrefix(fmt.Sprint(status, " "), want[:3]) || !strings.Contains(said, want[4:]) {
			t.Errorf("%s: %d %s, want %s", body, status, said, want)
		}
	}
	var made web.TokenAnswer
	status, said := ask(t, "POST", address, "/api/v1/local/tokens", maker, `{"scope": "operator", "name": "made", "by": "the president"}`)
	if err := json.Unmarshal([]byte(said), &made); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, said, err)
	}
	if made.ExpiresAt == nil || !made.ExpiresAt.Equal(end) || !strings.HasPrefix(made.CreatedBy, "token far from 127.0.0.1") || made.MadeWith == "" {
		t.Errorf("%+v", made.TokenInfo)
	}
	if status, said := ask(t, "GET", address, "/api/v1/runs", made.Token, ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, said)
	}
	if _, err := p.engine.RemoveAccessToken(t.Context(), "far"); err != nil {
		t.Fatal(err)
	}
	if status, said := ask(t, "GET", address, "/api/v1/runs", made.Token, ""); status != http.StatusUnauthorized {
		t.Errorf("its maker is removed, and it is still good: %d %s", status, said)
	}
}

// TestWhatOnlyAnAdminDoesFromAfarCanBeClosed by flowrun.yaml: every such route refuses, and
// nothing of it happens. What viewers see of it stays.
func TestWhatOnlyAnAdminDoesFromAfarCanBeClosed(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen(func(o *web.ServerOptions) { o.API.NoRemoteAdmin = true })
	admin, closed, open := p.adminToken(), 0, 0
	for _, route := range web.Routes() {
		if route.Face != web.FaceSocket || route.Scope == "" || strings.Contains(route.Pattern, "/local/log") { // logins, and the end of the token
			continue
		}
		method, path := fill(route.Pattern, "x")
		status, said := ask(t, method, address, path, admin, "{}")
		isClosed := status == http.StatusForbidden && strings.Contains(said, "remote_admin: false")
		switch {
		case isClosed != (route.Scope == guard.Admin):
			t.Errorf("%s (%s): %d %s", route.Pattern, route.Scope, status, said)
		case isClosed:
			closed++
		default:
			open++
		}
	}
	if closed < 10 || open < 5 {
		t.Errorf("%d closed, %d open", closed, open)
	}
	if tokens := p.tokens(t); len(tokens) != 1 {
		t.Errorf("%+v", tokens)
	}
}

// TestASentFileIsTheFileAlone: neither a folder of the server nor a file beside it is read
// for it, and whoever sent it is the run's starter, whatever the body says.
func TestASentFileIsTheFileAlone(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	admin := p.token(access.NewToken{Name: "far", Scope: "admin"})
	send := func(file, dir, source string) (int, string) {
		body, err := json.Marshal(map[string]any{"file": file, "dir": dir, "source": []byte(source), "by": "the president", "request_id": file + dir})
		if err != nil {
			t.Fatal(err)
		}
		return ask(t, "POST", address, "/api/v1/local/runs", admin, string(body))
	}
	const calls = "flowrun: v1\nname: calls\nsteps:\n  - uses: ./workflows/hello.yaml\n"
	const hello = "flowrun: v1\nname: sent\nsteps:\n  - id: greet\n    let: {text: hello}\n"
	for what, wrong := range map[string][3]string{
		"a folder of the server":           {"sent.yaml", "/", hello},
		"a path of the server":             {"/etc/sent.yaml", "", hello},
		"a path out of the project":        {"../sent.yaml", "", hello},
		"a workflow beside it":             {"sent.yaml", "", calls},
		"a workflow beside it, in a list":  {"sent.yaml", "", "flowrun: v1\nname: calls\nsteps:\n  - parallel:\n      - uses: ../project/workflows/hello.yaml\n"},
		"more than a request of TCP holds": {"sent.yaml", "", hello + "#" + strings.Repeat("x", 1<<20)},
	} {
		if status, said := send(wrong[0], wrong[1], wrong[2]); status/100 != 4 {
			t.Errorf("%s: %d %.300s", what, status, said)
		}
	}
	status, said := send("sent.yaml", "", hello)
	var answer web.RunAnswer
	if err := json.Unmarshal([]byte(said), &answer); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s %v", status, said, err)
	}
	if _, said := ask(t, "GET", address, "/api/v1/runs/"+answer.Run.ID+"/events?limit=1", admin, ""); !strings.Contains(said, "token far from 127.0.0.1") || strings.Contains(said, "president") {
		t.Errorf("who sent it is not told: %s", said)
	}
}
