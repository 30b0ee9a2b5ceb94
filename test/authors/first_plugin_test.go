package authors

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/internal/testpage"
)

// mostLines is how many an author's own program has at most.
const mostLines = 39

// author is a person with flowrun, a language, and an empty folder outside of the tree.
type author struct {
	*reader
	shelf *httptest.Server // gives what lies in the folder dist of the plugin
	home  string
}

func newAuthor(t *testing.T, environ []string) *author {
	t.Helper()
	home, err := os.MkdirTemp("", "author") // short: sockets lie below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(t, home) })
	desk, programs := filepath.Join(home, "desk"), filepath.Join(home, "bin")
	for _, dir := range []string{desk, programs} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := testbuild.Program(filepath.Join(programs, "flowrun"), root+"/cmd/flowrun"); err != nil {
		t.Fatal(err)
	}
	a := &author{home: home}
	a.shelf = httptest.NewTLSServer(http.FileServer(http.Dir(filepath.Join(desk, "notes", "dist"))))
	t.Cleanup(a.shelf.Close)
	authority := filepath.Join(home, "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.shelf.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	path := ""
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	a.reader = &reader{Typist: testpage.Typist{
		Dir: desk, Scratch: t.TempDir(), Environ: append(environ, "HOME="+home, "PATH="+programs+":"+path, "SSL_CERT_FILE="+authority, "PLATFORMS="+runtime.GOOS+"/"+runtime.GOARCH),
		Instead: func(typed string) string { return strings.ReplaceAll(typed, "https://example.com", a.shelf.URL) },
	}}
	return a
}

// removeAll removes a folder with the copies of plugins, which are read-only.
func removeAll(t *testing.T, dir string) {
	t.Helper()
	if output, err := exec.Command("chmod", "-R", "u+w", dir).CombinedOutput(); err != nil {
		t.Logf("%v\n%s", err, output)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

// read follows the page from its beginning to its end.
func (a *author) read(t *testing.T, language string) {
	t.Helper()
	page, err := os.ReadFile(firstPlugin)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := stepsOf(string(page), language)
	if err != nil || len(steps) < 15 {
		t.Fatalf("the page has %d steps, %v", len(steps), err)
	}
	changes := map[int]string{} // by the line
	if os.Getenv("UPDATE") != "" {
		a.update = func(s step, text string) { changes[s.Line] = text }
	}
	for _, s := range steps {
		if err := a.follow(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range steps {
		if text, ok := changes[s.Line]; ok {
			page = bytes.Replace(page, []byte("\n"+s.Text+"```"), []byte("\n"+text+"```"), 1)
		}
	}
	if len(changes) > 0 {
		if err := os.WriteFile(firstPlugin, page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// beside lets tests of the page run beside each other, but for those that write it: with
// UPDATE=1 it gets the files as they are.
func beside(t *testing.T) {
	if os.Getenv("UPDATE") == "" {
		t.Parallel()
	}
}

// locked is what is there at the end: the lock of the project that uses the release has
// the digest of the plugin, of its archive, and the key of its author.
func (a *author) locked(t *testing.T, program string) {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(a.home, "desk", "shop", "flowrun.lock"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"name": "notes"`, `"any": "sha256:`, `"archive": "sha256:`, `"signer": "ed25519:`} {
		if !strings.Contains(string(lock), want) {
			t.Errorf("the lock lacks %s:\n%s", want, lock)
		}
	}
	text, err := os.ReadFile(filepath.Join(a.home, "desk", "notes", program))
	if n := ownLines(string(text)); err != nil || n > mostLines {
		t.Errorf("%s has %d lines, of %d at most (%v)", program, n, mostLines, err)
	}
}

// again runs more commands where the page has ended, in the plugin's folder.
func (a *author) again(t *testing.T, kind, script string) {
	t.Helper()
	a.Dir = filepath.Join(a.home, "desk", "notes")
	if printed, code, err := a.Run(t.Context(), script); err != nil || (code == 0) != (kind == "runs") {
		t.Errorf("%s ends with %d, %v:\n%s", script, code, err, printed)
	}
}

// steps of CI that reach others: those that install flowrun and what it needs.
const installs = "Install "

// ci runs what the plugin's CI file runs.
func (a *author) ci(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(a.home, "desk", "notes", ".github", "workflows", "ci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range strings.Split(string(text), "\n      - name: ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		command, ok := strings.CutPrefix(strings.TrimSpace(rest), "run: ")
		if strings.HasPrefix(name, installs) {
			continue
		}
		if !ok || strings.Contains(command, "\n") {
			t.Fatalf("the step %s is not read: %s", name, rest)
		}
		ran++
		a.again(t, "runs", command)
	}
	if ran < 4 {
		t.Errorf("CI has %d steps", ran)
	}
}

// TestIssue15_FirstPluginInGo: from an empty folder outside of the tree, with Go alone and
// the SDK from a module proxy, the commands of the page end in a verified, locked plugin
// that a workflow uses, of less than 40 lines.
func TestIssue15_FirstPluginInGo(t *testing.T) {
	beside(t)
	published := sdk(t)
	// The caches are those of the machine: HOME is the author's.
	output, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOROOT").Output()
	dirs := strings.Fields(string(output))
	if err != nil || len(dirs) != 3 {
		t.Fatalf("%v: %s", err, output)
	}
	environ := append(published.Environ(os.Environ()), "GOCACHE="+dirs[0], "GOMODCACHE="+dirs[1], "PATH="+filepath.Join(dirs[2], "bin")+":/usr/bin:/bin")
	a := newAuthor(t, environ)
	plain := a.Instead
	// There is no tag yet whose SDK is the one of this tree: its version is named.
	a.Instead = func(text string) string {
		return strings.ReplaceAll(plain(text), "plugins new notes", "plugins new notes --sdk "+published.Version)
	}
	a.read(t, "go")
	a.locked(t, "main.go")
	a.again(t, "runs", "test -z \"$(gofmt -l .)\" && go mod tidy -diff")
	notes := filepath.Join(a.home, "desk", "notes")
	list := run(t, published, notes, "list", "-m", "all")
	inherited(t, list)
	used := map[string]bool{}
	for module := range strings.FieldsSeq(run(t, published, notes, "list", "-deps", "-test", "-f", "{{with .Module}}{{.Path}}{{end}}", "./...")) {
		used[module] = true
	}
	if len(used) > 20 {
		t.Errorf("the plugin and its tests are made of %d modules", len(used))
	}
	mod, err := os.ReadFile(filepath.Join(notes, "go.mod"))
	if err != nil || strings.Contains(string(mod), "replace") {
		t.Errorf("%v: %s", err, mod)
	}
	a.again(t, "runs", "rm flowrun.lock plugin/notes.txt") // CI has a clone
	a.ci(t)
	// A broken line is noticed by the commands of the page.
	a.again(t, "fails", "echo 'func broken() { return 1 }' >> main.go && go build -o plugin/ ./...")
}

// TestIssue15_FirstPluginInPython is the same where python3 has grpcio.
func TestIssue15_FirstPluginInPython(t *testing.T) {
	beside(t)
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if found, err := exec.LookPath(name); err == nil && exec.Command(found, "-c", "import grpc, google.protobuf").Run() == nil {
			python = found
			break
		}
	}
	if python == "" {
		t.Skip("SKIPPED: there is no python3 with grpcio and protobuf (scripts/install-python)")
	}
	a := newAuthor(t, append(os.Environ(), "PATH="+filepath.Dir(python)+":/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1"))
	a.read(t, "python")
	a.locked(t, "plugin/main.py")
	a.again(t, "runs", "rm flowrun.lock plugin/notes.txt") // CI has a clone
	a.ci(t)
	a.again(t, "fails", "sed -i 's|/v1/notes|/v1/note|' plugin/main.py && python3 -m unittest")
}
