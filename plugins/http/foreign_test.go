package http

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// pythonServer is a server that others wrote: http.server of Python, which speaks HTTP/1.0
// and closes each connection, with a handler that echoes.
const pythonServer = `
import http.server, json, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = json.dumps({"path": self.path, "type": self.headers.get("Content-Type"), "body": body.decode("latin-1")}).encode()
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(answer)
    do_PUT = do_DELETE = do_PATCH = do_POST
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
import threading
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
`

// TestAgainstPython calls a server that nobody here wrote.
func TestAgainstPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"thing.json": `{"id":7}`, "rows.csv": "id,name\n1,a\n2,b\n", "note.txt": "grüße\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := exec.Command(python, "-c", pythonServer)
	server.Dir, server.Stderr = dir, os.Stderr
	lifeline, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lifeline.Close(); _ = server.Wait() })
	port, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p := sdktest.Open(t, New(), in{"base_url": "http://127.0.0.1:" + strings.TrimSpace(port), "private": true})
	typed := in{"type": "object", "required": []string{"id"}, "properties": in{"id": in{"type": "integer"}}}
	if out := outputOfCall(t, p.Call("get", in{"path": "/thing.json", "answer": typed})); out["body"].(in)["id"] != 7.0 {
		t.Errorf("got %v", out)
	}
	if out := outputOfCall(t, p.Call("get", in{"path": "/rows.csv", "as": "csv", "answer": typed})); len(out["body"].([]any)) != 2 {
		t.Errorf("got %v", out)
	}
	if out := outputOfCall(t, p.Call("get", in{"path": "/note.txt"})); out["body"] != "grüße\n" || out["kind"] != "text" {
		t.Errorf("got %v", out)
	}
	if out := outputOfCall(t, p.Call("head", in{"path": "/note.txt"})); out["status"] != 200.0 || out["headers"].(in)["content-length"] != "8" {
		t.Errorf("got %v", out)
	}
	fails(t, p.Call("get", in{"path": "/nothing"}), sdk.CodeNotFound, "404")
	if out := outputOfCall(t, p.Call("get", in{"path": "/nothing", "expect": []any{404}})); out["ok"] != false {
		t.Errorf("got %v", out)
	}
	for _, action := range []string{"post", "put", "patch", "delete", "post_keyed"} {
		out := outputOfCall(t, p.Call(action, in{"path": "/a/{x}", "params": in{"x": "b c"}, "form": in{"k": "v w"}}, sdktest.Key("k")))
		body := out["body"].(in)
		if out["status"] != 201.0 || body["path"] != "/a/b%20c" || body["body"] != "k=v+w" || body["type"] != "application/x-www-form-urlencoded" {
			t.Errorf("%s: got %v", action, out)
		}
	}
}
