package pluginhost

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/plugintree"
)

// treeFolder is a plugin's folder with a wrapper script and what it starts.
func treeFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range treeFiles() {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func treeFiles() map[string]string {
	return map[string]string{
		plugintree.ManifestName: "name: words\nversion: 1.0.0\ncommand: [./run.sh, --fast]\n",
		"run.sh":                "#!/bin/sh\nexec ./bin/words\n", "bin/words": "the real one",
	}
}

func treeArchive(t *testing.T) string {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	for name, content := range treeFiles() {
		header := &tar.Header{Name: "words-1.0.0/" + name, Size: int64(len(content)), Mode: 0o700, Typeflag: tar.TypeReg}
		err := w.WriteHeader(header)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "words.tar.gz")
	if err := errors.Join(w.Close(), zipped.Close(), os.WriteFile(path, packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func treeLibrary(t *testing.T) *library {
	t.Helper()
	return &library{dir: t.TempDir(), lookPath: func(string) string { return "" }, stat: os.Stat}
}

// openSource opens what a source is now.
func openSource(l *library, s Source) (executable, *code, error) {
	exe, err := l.resolve(s)
	if err != nil {
		return executable{}, nil, err
	}
	c, err := l.open(s, exe)
	return exe, c, err
}

// TestIssue15_TheCopyOfATreeIsHeldAgainstItsDigest: what a copy holds is what was hashed,
// in the file that is started and in those beside it. A copy that somebody changed is
// made anew.
func TestIssue15_TheCopyOfATreeIsHeldAgainstItsDigest(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"folder": treeFolder(t), "archive": treeArchive(t)} {
		l, s := treeLibrary(t), Source{Name: "words", Path: path}
		first, c, err := openSource(l, s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c.close()
		if want := filepath.Join(l.dir, first.digest); first.tree != want || first.path != filepath.Join(want, "run.sh") || strings.Join(first.args, " ") != "--fast" {
			t.Errorf("%s: it runs %+v, want run.sh of %s", name, first, want)
		}
		beside := filepath.Join(first.tree, "bin/words")
		for what, spoil := range map[string]func() error{
			"a file beside is another": func() error {
				return errors.Join(os.Remove(beside), os.WriteFile(beside, []byte("the evil one"), 0o500))
			},
			"a file more":         func() error { return os.WriteFile(filepath.Join(first.tree, "bin/more"), nil, 0o500) },
			"the program is gone": func() error { return os.Remove(first.path) },
			"all is gone":         func() error { return os.RemoveAll(first.tree) },
		} {
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			again, c, err := openSource(l, s)
			if err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
				continue
			}
			content, err := os.ReadFile(beside)
			if err != nil || string(content) != "the real one" || again.digest != first.digest {
				t.Errorf("%s, %s: the copy holds %q, %v", name, what, content, err)
			}
			if _, err := os.Lstat(filepath.Join(first.tree, "bin/more")); err == nil {
				t.Errorf("%s, %s: what was put there is still there", name, what)
			}
			if c.changed() {
				t.Errorf("%s, %s: it says that it was changed while it was started", name, what)
			}
			if err := errors.Join(os.Chmod(beside, 0o700), os.WriteFile(beside, []byte("swapped late"), 0o500)); err != nil || !c.changed() {
				t.Errorf("%s, %s: a change between comparing and the handshake is not seen: %v", name, what, err)
			}
			c.close()
		}
	}
}

// TestIssue15_OnlyTheLockedDigestRuns: another digest than the lock's is refused, for a
// file as for a folder, and what to do is said.
func TestIssue15_OnlyTheLockedDigestRuns(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"folder": treeFolder(t), "archive": treeArchive(t), "file": filepath.Join(treeFolder(t), "run.sh")} {
		l, s := treeLibrary(t), Source{Name: "words", Path: path}
		exe, err := l.resolve(s)
		if err != nil {
			t.Fatal(err)
		}
		s.Locked = exe.digest
		if _, err := l.resolve(s); err != nil {
			t.Errorf("%s: the locked digest is refused: %v", name, err)
		}
		s.Locked = strings.Repeat("0", 64)
		_, _, err = openSource(l, s)
		if refused, ok := errors.AsType[*Refusal](err); !ok || !strings.Contains(refused.Hint.Text, "plugins update words") {
			t.Errorf("%s: another digest than the locked one: %v", name, err)
		}
		s.Refused = &Refusal{Message: "never"}
		if _, _, err = openSource(l, s); err == nil || err.Error() != "never" {
			t.Errorf("%s: refused altogether: %v", name, err)
		}
	}
}
