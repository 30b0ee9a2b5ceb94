package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testpage"
)

// pageReader does what a page of documentation shows, from its top to its end.
type pageReader struct {
	t       *testing.T
	path    string
	source  []byte
	blocks  []testpage.Block
	typist  testpage.Typist
	binary  string
	marked  []byte // the source with a line … where lines are left out
	typed   int
	refuses []string // words of commands that the page shows to fail
}

// newPageReader reads a page, with a folder that has flowrun and nothing that is seen.
func newPageReader(t *testing.T, page string) *pageReader {
	t.Helper()
	source, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := &pageReader{t: t, path: page, source: source, marked: source, blocks: testpage.Read(source), binary: experienced(t, dir)}
	r.typist = testpage.Typist{
		Dir: dir, Scratch: t.TempDir(), Stays: []string{"flowrun serve"}, Instead: onAnotherPort,
		Environ: append(os.Environ(), "PATH="+filepath.Dir(r.binary)+":"+os.Getenv("PATH"), "HOME="+dir, "XDG_STATE_HOME="+dir, "TZ=UTC"),
	}
	t.Cleanup(func() {
		if err := r.typist.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, b := range r.blocks {
		for _, c := range b.Session() {
			if c.Fails() {
				r.refuses = append(r.refuses, strings.Fields(c.Typed)...)
			}
		}
	}
	return r
}

// onAnotherPort lets servers of pages listen where no other does.
func onAnotherPort(typed string) string {
	if typed == "flowrun serve" || strings.HasPrefix(typed, "flowrun serve ") && !strings.Contains(typed, "--listen") {
		return typed + " --listen 127.0.0.1:0"
	}
	return typed
}

// read types the page. Blocks that do says true for are done by it.
func (r *pageReader) read(do func(testpage.Block) bool) {
	r.t.Helper()
	for _, b := range r.blocks {
		switch {
		case !b.Code, do != nil && do(b), b.Linked:
		case b.File != "":
			r.file(b)
		case len(b.Session()) > 0:
			r.session(b)
		case b.Language == "yaml" && strings.HasPrefix(b.Text, "flowrun: v1\n"):
			b.File = "line-" + strings.ReplaceAll(filepath.Base(r.path), ".", "-") + ".yaml"
			r.file(b)
			_ = os.Remove(filepath.Join(r.typist.Dir, b.File)) // it is no file of the page
		}
	}
	r.update()
}

// file writes a file of the page, which is valid where it is a workflow that no command
// refuses.
func (r *pageReader) file(b testpage.Block) {
	r.t.Helper()
	if err := r.typist.TypeFile(b); err != nil {
		r.t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(b.File), ".yaml")
	if !strings.HasPrefix(b.Text, "flowrun: v1") || slices.Contains(r.refuses, b.File) || slices.Contains(r.refuses, name) {
		return
	}
	if output, code := flowrunIn(r.t, r.binary, r.typist.Dir, "validate", b.File); code != 0 {
		r.t.Errorf("%s:%d: the workflow is not valid:\n%s", r.path, b.Line, output)
	}
}

// session types the commands of a block.
func (r *pageReader) session(b testpage.Block) {
	r.t.Helper()
	commands := b.Session()
	for i, c := range commands {
		if !typedHere(c.Typed) {
			r.t.Logf("%s:%d: %s is not typed: this machine lacks it", r.path, c.Line, c.Typed)
			continue
		}
		r.typed++
		saysCode := i+1 < len(commands) && commands[i+1].Typed == "echo $?"
		printed, err := r.typist.Type(r.t.Context(), c, saysCode)
		if err == nil {
			continue
		}
		if elided, ok := testpage.Elide(c.Shown, printed); ok && os.Getenv("UPDATE") != "" && !strings.Contains(err.Error(), " ends with ") {
			old := []byte(testpage.Prompt + c.Typed + "\n" + c.Shown)
			r.marked = bytes.Replace(r.marked, old, []byte(testpage.Prompt+c.Typed+"\n"+elided), 1)
			continue
		}
		r.t.Errorf("%s:%d: %v", r.path, c.Line, err)
	}
}

// elsewhere are programs that pages name and that not each machine has.
var elsewhere = []string{"docker", "kubectl", "brew", "apt-get"}

func typedHere(command string) bool {
	program, _, _ := strings.Cut(command, " ")
	if !slices.Contains(elsewhere, program) {
		return true
	}
	_, err := exec.LookPath(program)
	return err == nil
}

func (r *pageReader) update() {
	r.t.Helper()
	if bytes.Equal(r.marked, r.source) {
		return
	}
	if err := os.WriteFile(r.path, r.marked, 0o644); err != nil { //nolint:gosec // a page that all read
		r.t.Fatal(err)
	}
}
