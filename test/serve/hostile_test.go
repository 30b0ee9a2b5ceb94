package serve

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// hostileNamesVariable is how many names are tried at each route; 10000 is the
// full size.
const hostileNamesVariable = "FLOWRUN_HOSTILE_NAMES"

func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("FLOWRUN_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	t.Logf("FLOWRUN_SEED=%d", seed)
	return seed
}

// connection is one to the server, on which requests are written as bytes.
type connection struct {
	t       *testing.T
	address string
	conn    net.Conn
	reader  *bufio.Reader
}

func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// send writes a request and reads its answer. The answer is nil where the server
// hung up, as it does on what is no HTTP.
func (c *connection) send(request []byte) (status int, header http.Header, body []byte) {
	c.t.Helper()
	for range 2 {
		fresh := c.conn == nil
		if fresh {
			conn, err := net.Dial("tcp", c.address)
			if err != nil {
				c.t.Fatal(err)
			}
			c.conn, c.reader = conn, bufio.NewReader(conn)
		}
		_ = c.conn.SetDeadline(time.Now().Add(time.Minute))
		_, err := c.conn.Write(request)
		if err == nil {
			var response *http.Response
			method, _, _ := bytes.Cut(request, []byte(" "))
			if response, err = http.ReadResponse(c.reader, &http.Request{Method: string(method)}); err == nil {
				body, err = io.ReadAll(response.Body)
				if response.Close || err != nil {
					c.close()
				}
				return response.StatusCode, response.Header, body
			}
		}
		c.close()
		if fresh {
			return 0, nil, nil
		}
	}
	return 0, nil, nil
}

func raw(method, target, host, body string, headers ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, host)
	for _, header := range headers {
		b.WriteString(header + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// TestNoPathLeadsAroundTheGuard: other spellings of each path, sent as bytes
// without a credential, reach no handler but the open ones, and redirect nobody.
func TestNoPathLeadsAroundTheGuard(t *testing.T) {
	p := newProduct(t)
	reached := map[string]bool{}
	_, address := p.listen(probe(reached))
	tried, bad := sendMutations(t, p, address)
	for pattern := range reached {
		switch pattern {
		case "GET /healthz", "GET /readyz", "GET /static/{file}", "POST /hooks/{workflow}/{trigger}":
		default:
			t.Errorf("reached %s", pattern)
		}
	}
	for _, line := range bad {
		t.Error(line)
	}
	t.Logf("%d requests", tried)
}

// probe puts a note of being reached in the place of every handler.
func probe(reached map[string]bool) func(*web.ServerOptions) {
	return func(o *web.ServerOptions) {
		o.Observe = func(pattern string, next http.Handler) http.Handler {
			if strings.HasSuffix(pattern, "/login") {
				return next
			}
			return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached[pattern] = true })
		}
	}
}

func sendMutations(t *testing.T, p *product, address string) (tried int, bad []string) {
	t.Helper()
	c := &connection{t: t, address: address}
	defer c.close()
	for _, route := range p.allRoutes() {
		if route.Face == guard.FaceOpen {
			continue
		}
		method, path := fill(route.Pattern, "x")
		for _, target := range pathMutations(path) {
			tried++
			status, header, _ := c.send(raw(method, target, address, ""))
			if status >= 300 && status < 400 {
				bad = append(bad, fmt.Sprintf("%s %q: redirected with %d to %s", method, target, status, header.Get("Location")))
			}
			if status >= 500 {
				bad = append(bad, fmt.Sprintf("%s %q: %d", method, target, status))
			}
		}
	}
	return tried, bad
}

// TestControlADecisionOnPathText: a server that lets through what begins or ends
// like an open path is found out by the same requests.
func TestControlADecisionOnPathText(t *testing.T) {
	p := newProduct(t)
	for name, trusted := range map[string]func(path string) bool{
		"by its end":       func(path string) bool { return strings.HasSuffix(path, "/healthz") },
		"by its beginning": func(path string) bool { return strings.HasPrefix(path, "/healthz") },
		"by its type":      func(path string) bool { return strings.HasSuffix(path, ".css") },
	} {
		t.Run(name, func(t *testing.T) {
			reached := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if trusted(r.URL.Path) && r.URL.Path != "/healthz" {
					reached++
					return
				}
				w.WriteHeader(http.StatusUnauthorized)
			}))
			defer server.Close()
			if sendMutations(t, p, server.Listener.Addr().String()); reached == 0 {
				t.Error("no request came through")
			}
		})
	}
}

const canary = "canary-6f1d2c: nobody may read this"

// tree is the digest of every file below the root, but those of the store.
func (p *product) tree() map[string]string {
	p.t.Helper()
	digests := map[string]string{}
	err := filepath.WalkDir(p.root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(p.root, path)
		if err != nil || strings.HasPrefix(name, "state") {
			return err
		}
		digest := "folder"
		if !entry.IsDir() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(data)
			digest = hex.EncodeToString(sum[:])
		}
		digests[name] = digest
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return digests
}

// TestHostileNamesAtEveryRoute sends names that are paths, commands, markup or no
// text at all wherever a route takes a name, as an admin. No answer is a fault of
// ours or holds a canary, and no file outside of the store changes.
func TestHostileNamesAtEveryRoute(t *testing.T) {
	p := newProduct(t)
	p.write("canary.txt", canary)
	p.write("project/canary.txt", canary)
	p.write("project/workflows/canary.txt", canary)
	before := p.tree()
	_, address := p.listen()
	names := hostileNames(suitesize.Of(t, hostileNamesVariable, 150), seedOf(t))
	tried, bad := p.sendNames(address, p.allRoutes(), names)
	for i, line := range bad {
		if i == 20 {
			t.Errorf("and %d more", len(bad)-i)
			break
		}
		t.Error(line)
	}
	for name, digest := range p.tree() {
		if before[name] != digest {
			t.Errorf("%s has changed", name)
		}
		delete(before, name)
	}
	for name := range before {
		t.Errorf("%s is gone", name)
	}
	t.Logf("%d requests", tried)
}

// sendNames sends every name to every route that takes one, and says what was
// wrong with the answers.
func (p *product) sendNames(address string, routes []guard.Route, names []string) (tried int, bad []string) {
	p.t.Helper()
	authorization := "Authorization: Bearer " + p.token(access.NewToken{Scope: "admin"})
	session := p.session(address)
	c := &connection{t: p.t, address: address}
	defer c.close()
	for _, route := range routes {
		if !strings.Contains(route.Pattern, "{") || route.Pattern == "GET /{$}" {
			continue
		}
		for i, name := range names {
			method, path := fill(route.Pattern, spellings(name, i))
			headers, body := []string{authorization, "Content-Type: application/json"}, "{}"
			if route.Face == guard.FacePage {
				headers, body = session.headers, session.body
			}
			if method == "GET" {
				body = ""
			}
			tried++
			status, header, answer := c.send(raw(method, path, address, body, headers...))
			switch {
			case status >= 500 && status != http.StatusServiceUnavailable:
				bad = append(bad, fmt.Sprintf("%s %q: %d %s", method, path, status, answer))
			case bytes.Contains(answer, []byte(canary)):
				bad = append(bad, fmt.Sprintf("%s %q: the answer holds a canary", method, path))
			case status >= 300 && status < 400 && !strings.HasPrefix(header.Get("Location"), "/"), strings.HasPrefix(header.Get("Location"), "//"):
				bad = append(bad, fmt.Sprintf("%s %q: leads to %q", method, path, header.Get("Location")))
			case strings.Contains(header.Get("Content-Type"), "html") && bytes.Contains(answer, []byte("<img src=x onerror")):
				bad = append(bad, fmt.Sprintf("%s %q: markup of the name is in the page", method, path))
			}
		}
	}
	return tried, bad
}

// pageSession is what a browser that is logged in sends.
type pageSession struct {
	headers []string
	body    string
}

func (p *product) session(address string) pageSession {
	p.t.Helper()
	c := &connection{t: p.t, address: address}
	defer c.close()
	token := p.token(access.NewToken{Scope: "admin"})
	status, header, _ := c.send(raw("POST", "/login", address, "token="+token, "Content-Type: application/x-www-form-urlencoded"))
	cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
	if status != http.StatusSeeOther || cookie == "" {
		p.t.Fatalf("login: %d %v", status, header)
	}
	_, _, home := c.send(raw("GET", "/", address, "", "Cookie: "+cookie))
	_, after, found := bytes.Cut(home, []byte(`name="csrf" value="`))
	mark, _, _ := bytes.Cut(after, []byte(`"`))
	if !found {
		p.t.Fatalf("no form on the page: %s", home)
	}
	return pageSession{
		headers: []string{"Cookie: " + cookie, "Content-Type: application/x-www-form-urlencoded"}, body: "csrf=" + string(mark),
	}
}

// TestControlANameThatIsJoined: a handler that reads the file of a name in a
// folder is found out by the same names.
func TestControlANameThatIsJoined(t *testing.T) {
	p := newProduct(t)
	p.write("canary.txt", canary)
	p.server.Page = append(p.server.Page, guard.Route{
		Pattern: "GET /files/{name}", Face: guard.FacePage, Scope: guard.Viewer,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, err := os.ReadFile(filepath.Join(p.root, "project", r.PathValue("name")))
			if err != nil {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = w.Write(data)
		}),
	})
	_, address := p.listen()
	_, bad := p.sendNames(address, p.server.Page[len(p.server.Page)-1:], hostileNames(2000, 1))
	for _, line := range bad {
		if strings.Contains(line, "canary") {
			return
		}
	}
	t.Errorf("the canary was not found: %v", bad)
}
