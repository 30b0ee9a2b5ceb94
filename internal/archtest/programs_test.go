package archtest_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoProgramIsAmongTheSources: what a build leaves beside its sources is not committed.
func TestNoProgramIsAmongTheSources(t *testing.T) {
	const root = "../.."
	listed, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("SKIPPED: git lists no files here: %v", err)
	}
	names := strings.FieldsFunc(string(listed), func(r rune) bool { return r == 0 })
	if len(names) < 1000 {
		t.Fatalf("git lists %d files only", len(names))
	}
	for _, name := range names {
		if isProgram(t, filepath.Join(root, name)) {
			t.Errorf("%s is a built program: git rm it, and name it in .gitignore", name)
		}
	}
	self, err := os.Executable()
	if err != nil || !isProgram(t, self) {
		t.Errorf("the program of this test is taken for none (%v)", err)
	}
}

// isProgram reports whether a file begins as executables of Linux, macOS or Windows do.
func isProgram(t *testing.T, path string) bool {
	t.Helper()
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return false // removed, and not committed yet
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	begin := make([]byte, 4)
	if _, err := io.ReadFull(file, begin); err != nil {
		return false // shorter, a folder
	}
	for _, magic := range []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "MZ\x90\x00"} {
		if bytes.HasPrefix(begin, []byte(magic)) {
			return true
		}
	}
	return false
}
