package blobs

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func fileDigest(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		t.Fatal(err)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// TestIssue16_3_DamageIsToldAndNeverWritten: a flipped bit in a part is named by db check,
// and what was written into a file before stays there.
func TestIssue16_3_DamageIsToldAndNeverWritten(t *testing.T) {
	t.Parallel()
	const n = 5 << 20
	s := serve(t, &service{size: n, ranges: true})
	p := newProject(t, s)
	p.must(t, "run", "fetch.yaml", "--out", "file=file.bin")
	id := p.newest(t)
	sameFile(t, filepath.Join(p.dir, "file.bin"), n)
	p.must(t, "db", "check") // the control: nothing is wrong before

	blob := largest(t, p.dir)
	raw, err := os.ReadFile(blob)
	if err != nil {
		t.Fatal(err)
	}
	raw[3<<20] ^= 1
	if err := os.WriteFile(blob, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := p.flowrun(t, "db", "check")
	if said := stdout + stderr; code != 76 || !regexp.MustCompile(`part [67]\b`).MatchString(said) || !strings.Contains(said, id) {
		t.Errorf("db check exits with %d:\n%s", code, said)
	}
	stdout, stderr, code = p.flowrun(t, "runs", "output", id, "file", "--out", "file.bin")
	if code != 74 || !strings.Contains(stderr, "cut short") || !strings.Contains(stderr, "db check") {
		t.Errorf("runs output exits with %d:\n%s%s", code, stdout, stderr)
	}
	sameFile(t, filepath.Join(p.dir, "file.bin"), n)
	left, _ := filepath.Glob(filepath.Join(p.dir, ".flowrun-out-*"))
	if len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// largest is the largest file of the store's large values.
func largest(t *testing.T, dir string) (path string) {
	t.Helper()
	var size int64
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(name, ".blobs"+string(filepath.Separator)) {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Size() > size {
			path, size = name, info.Size()
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("the store has no large values: %v", err)
	}
	return path
}

// TestIssue16_3_ARerunRefersToWhatTheRunBeforeHas: from a later step, without another
// download; the run before may be gone by then.
func TestIssue16_3_ARerunRefersToWhatTheRunBeforeHas(t *testing.T) {
	t.Parallel()
	const n = 3 << 20
	s := serve(t, &service{size: n, ranges: true})
	p := newProject(t, s)
	p.must(t, "run", "send.yaml")
	first := p.newest(t)
	p.must(t, "runs", "rerun", first, "--from", "send")
	second := p.newest(t)
	if first == second || len(s.requests()) != 1 || s.digest != digestOf(n) {
		t.Fatalf("run %s after %s, asked for %q", second, first, s.requests())
	}
	p.must(t, "runs", "rm", first)
	p.must(t, "runs", "output", second, "file", "--out", "file.bin")
	sameFile(t, filepath.Join(p.dir, "file.bin"), n)
	p.must(t, "runs", "rm", second)
	for _, args := range [][]string{{"db", "compact"}, {"db", "check"}} {
		p.must(t, args...)
	}
}
