package testsdk_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testsdk"
)

// TestWhatIsPublishedIsFound: by the commands of an author, in a folder that has nothing
// to do with the tree.
func TestWhatIsPublishedIsFound(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	write(t, source, "go.mod", "module "+testsdk.Module+"\n\ngo 1.26.0\n")
	write(t, source, "sdk.go", "package sdk\n\n// One is 1.\nconst One = 1\n")
	write(t, source, "nested/go.mod", "module example.com/nested\n")
	write(t, source, "nested/broken.go", "package")
	published, err := testsdk.Publish(t.TempDir(), source)
	if err != nil {
		t.Fatal(err)
	}
	author := t.TempDir()
	write(t, author, "main.go", "package main\n\nimport \""+testsdk.Module+"\"\n\nfunc main() { println(sdk.One) }\n")
	for _, line := range []string{"mod init example.com/p", "get " + testsdk.Module + "@latest", "run ."} {
		command := exec.Command("go", strings.Fields(line)...)
		command.Dir, command.Env = author, published.Environ(os.Environ())
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", line, err, out)
		}
	}
	mod, err := os.ReadFile(filepath.Join(author, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), testsdk.Module+" "+published.Version) {
		t.Errorf("the author's go.mod lacks the SDK %s:\n%s", published.Version, mod)
	}

	write(t, source, "sdk.go", "package sdk\n\n// One is 1.\nconst One = 2 - 1\n")
	again, err := testsdk.Publish(t.TempDir(), source)
	if err != nil {
		t.Fatal(err)
	}
	if again.Version == published.Version {
		t.Errorf("other content has the same version %s: the go command would take the one that it has", again.Version)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
