package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newKey makes a key as maintainers do.
func newKey(t *testing.T) (key ed25519.PrivateKey, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "release.pem")
	if err := makeKey(file, io.Discard); err != nil {
		t.Fatal(err)
	}
	key, err := readKey(file, "")
	if err != nil || key == nil {
		t.Fatal(key, err)
	}
	return key, file
}

// TestIssue15_ASignatureVerifies, and a changed byte of sums or signature does not, nor
// does another key.
func TestIssue15_ASignatureVerifies(t *testing.T) {
	key, file := newKey(t)
	public, err := readPublicKey(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	sums := []byte("2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  flowrun_1.tar.gz\n")
	signed := signature(key, sums)
	if err := verifySignature(public, sums, signed); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(signed, []byte("# Ed25519 signature of SHA256SUMS by key "+keyID(public)+"\n")) {
		t.Errorf("it begins %q", signed)
	}
	for i := range sums {
		changed := bytes.Clone(sums)
		changed[i] ^= 1
		if verifySignature(public, changed, signed) == nil {
			t.Fatalf("sums with byte %d changed are taken", i)
		}
	}
	_, text, _ := strings.Cut(string(signed), "\n")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		changed := bytes.Clone(raw)
		changed[i] ^= 1
		if verifySignature(public, sums, []byte(base64.StdEncoding.EncodeToString(changed))) == nil {
			t.Fatalf("a signature with byte %d changed is taken", i)
		}
	}
	other, _ := newKey(t)
	if verifySignature(publicOf(other), sums, signed) == nil {
		t.Error("the signature of another key is taken")
	}
	for _, file := range []string{"", "# only a comment\n", "?", base64.StdEncoding.EncodeToString(raw[:63])} {
		if err := verifySignature(public, sums, []byte(file)); err == nil || !strings.Contains(err.Error(), "holds no Ed25519 signature") {
			t.Errorf("%q: %v", file, err)
		}
	}
}

// TestIssue15_OthersVerifyTheSignature: openssl takes the keys and the signature as
// docs/releases.md says.
func TestIssue15_OthersVerifyTheSignature(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("there is no openssl")
	}
	key, file := newKey(t)
	dir := t.TempDir()
	sums := []byte("a line\n")
	for name, content := range map[string][]byte{sumsFile: sums, sigFile: signature(key, sums)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verify := func() ([]byte, error) {
		command := exec.Command("sh", "-ec", opensslLines(t))
		command.Dir, command.Env = dir, append(os.Environ(), "KEY="+file+".pub")
		return command.CombinedOutput()
	}
	if output, err := verify(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(readme)) {
		if !strings.HasPrefix(line, "openssl ") {
			continue
		}
		command := exec.Command("bash", "-ec", strings.ReplaceAll(line, "contrib/release-key.pem", file+".pub"))
		command.Dir = dir
		if output, err := command.CombinedOutput(); err != nil || !strings.Contains(string(output), "Verified Successfully") {
			t.Errorf("the README's %s: %v\n%s", line, err, output)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, sumsFile), []byte("b line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := verify(); err == nil {
		t.Errorf("changed sums are taken:\n%s", output)
	}
}

// opensslLines are the commands of docs/releases.md, with its key named by $KEY.
func opensslLines(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/releases.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "With OpenSSL 3:\n\n```sh\n")
	lines, _, _ := strings.Cut(rest, "```")
	if !ok || !strings.Contains(lines, "release-key.pem") {
		t.Fatal("docs/releases.md does not tell how openssl verifies")
	}
	return strings.ReplaceAll(lines, "release-key.pem", `"$KEY"`)
}

func TestIssue15_AKeyComesFromAFileOrTheEnvironment(t *testing.T) {
	key, file := newKey(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file has mode %v (%v)", info.Mode(), err)
	}
	if got, err := readKey("", string(text)); err != nil || !got.Equal(key) {
		t.Errorf("from the environment: %v", err)
	}
	if got, err := readKey("", ""); err != nil || got != nil {
		t.Errorf("without a key: %v %v", got, err)
	}
	if err := makeKey(file, io.Discard); err == nil {
		t.Error("a key that is there is overwritten")
	}
	for what, c := range map[string]struct{ file, environment string }{
		"no file": {file + ".none", ""}, "a public key": {file + ".pub", ""}, "no key": {"", "hunter2"},
	} {
		if got, err := readKey(c.file, c.environment); err == nil || got != nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestIssue15_ReleasesAreSignedByTheKeyThatUsersHave: another key than the repository's
// is refused.
func TestIssue15_ReleasesAreSignedByTheKeyThatUsersHave(t *testing.T) {
	key, file := newKey(t)
	source := t.TempDir()
	if err := isReleaseKey(source, key); err == nil || !strings.Contains(err.Error(), "commit its public half") {
		t.Errorf("where users have none: %v", err)
	}
	public, err := os.ReadFile(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(source, "contrib"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, publicKeyFile), public, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := isReleaseKey(source, key); err != nil {
		t.Errorf("its own: %v", err)
	}
	other, _ := newKey(t)
	if err := isReleaseKey(source, other); err == nil {
		t.Error("another key is taken")
	}
}
