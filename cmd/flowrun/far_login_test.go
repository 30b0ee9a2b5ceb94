package main_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// browser is a person at the page of a server, logged in by a link.
type browser struct {
	t      *testing.T
	base   string
	client *http.Client
	cookie string
}

func newBrowser(t *testing.T, binary, dir, base string) *browser {
	t.Helper()
	certificate, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	b := &browser{t: t, base: base, client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	link, err := farCommand(binary, dir, "tokens", "link", "--scope", "operator").Output()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := url.Parse(strings.TrimSpace(string(link)))
	if err != nil {
		t.Fatal(err)
	}
	b.post("/login", url.Values{"code": {parsed.Query().Get("code")}})
	if b.cookie == "" {
		t.Fatal("no session")
	}
	return b
}

func (b *browser) post(path string, form url.Values) int {
	b.t.Helper()
	status, _ := b.send("POST", path, strings.NewReader(form.Encode()))
	return status
}

func (b *browser) send(method, path string, body io.Reader) (int, string) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if b.cookie != "" {
		request.Header.Set("Cookie", b.cookie)
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	for _, cookie := range response.Cookies() {
		b.cookie = cookie.Name + "=" + cookie.Value
	}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

var (
	devicePath = regexp.MustCompile(`open https://[^/ ]+(/device\?code=([A-Z-]+))`)
	formMark   = regexp.MustCompile(`name="csrf" value="([^"]+)"`)
)

// logInByPage types login and lets a person decide. It returns what the command said.
func logInByPage(t *testing.T, binary, client, server string, person *browser, act string, args ...string) (said string, code int) {
	t.Helper()
	command := farCommand(binary, client, append([]string{"login", server}, args...)...)
	var stdout bytes.Buffer
	command.Stdout = &stdout
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines, told := bufio.NewScanner(stderr), ""
	for lines.Scan() {
		told += lines.Text() + "\n"
		if match := devicePath.FindStringSubmatch(lines.Text()); match != nil {
			_, page := person.send("GET", match[1], nil)
			mark := formMark.FindStringSubmatch(page)
			if mark == nil || !strings.Contains(page, match[2]) {
				t.Fatalf("the page of the code:\n%s", page)
			}
			if status := person.post("/device", url.Values{"csrf": {mark[1]}, "code": {match[2]}, "act": {act}}); status != http.StatusOK {
				t.Fatalf("%d", status)
			}
		}
	}
	_ = command.Wait() // the exit code says it
	return stdout.String() + told, command.ProcessState.ExitCode()
}

// TestALoginFarAway goes from `login` to `logout`: the token is kept sealed and used by each
// command without a file; what is refused, removed or over says what to do next.
func TestALoginFarAway(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	dir, client := farProject(t, farFiles), farProject(t, map[string]string{})
	server := serveFar(t, binary, dir, "tls")
	person := newBrowser(t, binary, dir, server)
	authority := filepath.Join(dir, "cert.pem")
	if said := typed(t, binary, client, "runs", "FLOWRUN_SERVER="+server); !strings.Contains(said, "nobody is logged in at the server "+server) || !strings.Contains(said, "`flowrun login "+server) || !strings.HasSuffix(said, "=> 4\n") {
		t.Errorf("before the login:\n%s", said)
	}
	if said, code := logInByPage(t, binary, client, server, person, "refuse", "--ca-file", authority); code != 4 || !strings.Contains(said, "refused on the page") {
		t.Errorf("refused: %d\n%s", code, said)
	}
	said, code := logInByPage(t, binary, client, server, person, "approve", "--ca-file", authority, "--name", "laptop of ann", "-o", "json")
	if code != 0 || !strings.Contains(said, `"name":"laptop-of-ann"`) || !strings.Contains(said, `"scope":"operator"`) || strings.Contains(said, "frt_") {
		t.Fatalf("%d\n%s", code, said)
	}
	folder := filepath.Join(client, ".local", "state", "flowrun", "logins")
	if err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("frt_")) || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s (%v) holds the token in clear, or others may read it", path, info.Mode())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if said := typed(t, binary, client, "--server "+server+" workflows list"); !strings.Contains(said, "daily") || !strings.HasSuffix(said, "=> 0\n") {
		t.Errorf("with the login:\n%s", said)
	}
	if said := typed(t, binary, client, "--server "+server+" secrets list"); !strings.Contains(said, "this needs the scope admin, and you have operator") || !strings.HasSuffix(said, "=> 4\n") {
		t.Errorf("with too small a scope:\n%s", said)
	}
	if said := typed(t, binary, dir, "tokens list"); !strings.Contains(said, "laptop-of-ann") {
		t.Errorf("the server's machine lists:\n%s", said)
	}
	if said, code := logInByPage(t, binary, client, server, person, "approve", "--scope", "viewer"); code != 0 { // the authority is known
		t.Errorf("again: %d\n%s", code, said)
	}
	var tokens []struct{ Name, Scope string }
	listed, err := farCommand(binary, dir, "tokens", "list", "-o", "json").Output()
	if err == nil {
		var page struct{ Items json.RawMessage }
		if err = json.Unmarshal(listed, &tokens); err != nil && json.Unmarshal(listed, &page) == nil {
			err = json.Unmarshal(page.Items, &tokens)
		}
	}
	if err != nil || len(tokens) != 1 || tokens[0].Scope != "viewer" {
		t.Fatalf("a second login leaves the token of the first: %+v %v", tokens, err)
	}
	if said := typed(t, binary, dir, "tokens rm '"+tokens[0].Name+"'"); !strings.HasSuffix(said, "=> 0\n") {
		t.Fatal(said)
	}
	if said := typed(t, binary, client, "runs", "FLOWRUN_SERVER="+server); !strings.Contains(said, "is good no more: it has expired, or was removed there") || !strings.Contains(said, "`flowrun login "+server+"` logs in again") || !strings.HasSuffix(said, "=> 4\n") {
		t.Errorf("removed there:\n%s", said)
	}
	if said, code := logInByPage(t, binary, client, server, person, "approve", "--expires", "8h"); code != 0 {
		t.Fatalf("%d\n%s", code, said)
	}
	if said := typed(t, binary, client, "logout "+server); !strings.Contains(said, "logged out of "+server) || !strings.HasSuffix(said, "=> 0\n") {
		t.Errorf("%s", said)
	}
	if said := typed(t, binary, dir, "tokens list"); strings.Contains(said, "laptop") || strings.Contains(said, "far@") {
		t.Errorf("after the logout:\n%s", said)
	}
	if said := typed(t, binary, client, "logout "+server); !strings.Contains(said, "nobody is logged in") || !strings.HasSuffix(said, "=> 9\n") {
		t.Errorf("logged out twice:\n%s", said)
	}
}
