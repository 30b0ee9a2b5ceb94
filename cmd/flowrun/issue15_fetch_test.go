package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/internal/testpage"
)

// publisher serves files of a plugin's releases.
type publisher struct {
	mu    sync.Mutex
	files map[string][]byte
}

func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if content, ok := p.files[r.URL.Path]; ok {
		_, _ = w.Write(content)
		return
	}
	http.NotFound(w, r)
}

// release puts an archive there, with checksums that a key signs.
func (p *publisher) release(t *testing.T, name string, archive []byte, key ed25519.PrivateKey) {
	t.Helper()
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(archive)
	list := []byte(hex.EncodeToString(sum[:]) + "  " + name + "\n")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files = map[string][]byte{
		"/" + name: archive, "/SHA256SUMS": list, "/SHA256SUMS.sig": ed25519.Sign(key, list),
		"/SHA256SUMS.pub": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
	}
}

func wordsArchive(t *testing.T, binary, stop string) []byte {
	t.Helper()
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	for _, file := range []struct {
		name    string
		content []byte
	}{{"words/flowrun-plugin.yaml", []byte("name: words\nversion: 1.0.0\ncommand: [./words]\n")}, {"words/words", program}, {"words/data/stop.txt", []byte(stop)}} {
		err := w.WriteHeader(&tar.Header{Name: file.name, Size: int64(len(file.content)), Mode: 0o755, Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write(file.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// TestIssue15_APluginFromElsewhere: an archive comes by https with a signed list of
// checksums; the key is kept at first use, and another one stops everything, with a way
// out. A second machine fetches what the lock names, and nothing else.
func TestIssue15_APluginFromElsewhere(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	words := buildPlugin(t, "words")
	served := &publisher{}
	server := httptest.NewTLSServer(served)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := errors.Join(os.WriteFile(authority, root, 0o600), os.WriteFile(filepath.Join(dir, "flowrun.yaml"), []byte("# ours\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	run := func(code int, want string, args ...string) {
		t.Helper()
		command := exec.Command(binary, args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "SSL_CERT_FILE="+authority, "HOME="+dir, "XDG_STATE_HOME="+dir)
		output, err := command.CombinedOutput()
		if command.ProcessState == nil {
			t.Fatal(err)
		}
		if got := command.ProcessState.ExitCode(); got != code || !strings.Contains(string(output), want) {
			t.Errorf("flowrun %s: exit code %d, want %d and %q\n%s", strings.Join(args, " "), got, code, want, output)
		}
	}
	first, second := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)), ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))
	sums, archive := server.URL+"/SHA256SUMS", server.URL+"/words-1.tar.gz"
	call := []string{"call", "words.count", "--with", `{"text":"the cat"}`, "--locked"}

	served.release(t, "words-1.tar.gz", wordsArchive(t, words, "the"), first)
	run(0, "signed by  ed25519:", "plugins", "add", archive, "--checksums", sums)
	run(0, `"words": 1`, call...)

	// Another machine has the files of the project alone.
	if err := os.RemoveAll(filepath.Join(dir, ".flowrun")); err != nil {
		t.Fatal(err)
	}
	run(11, "flowrun plugins verify", call...)
	run(0, "fetched", "plugins", "verify")
	run(0, `"words": 1`, call...)

	// What is there is exchanged: it is not taken, and the key is asked for.
	served.release(t, "words-1.tar.gz", wordsArchive(t, words, "the cat"), second)
	run(11, "signed with another key than before", "plugins", "update", "words")
	run(0, `"words": 1`, call...)
	if err := os.RemoveAll(filepath.Join(dir, ".flowrun")); err != nil {
		t.Fatal(err)
	}
	run(11, "is not what was wanted", "plugins", "verify")
	run(11, "its archive is not on this machine", call...)
	run(11, "signed with another key than before", "plugins", "update", "words", "--accept-key", "ed25519:AAAA")
	run(2, "give --checksums", "plugins", "update", "words", "--digest", "sha256:"+strings.Repeat("0", 64))

	// The way out: a person who was told of the new key says so.
	public, _ := second.Public().(ed25519.PublicKey)
	run(0, "updated words", "plugins", "update", "words", "--accept-key", "ed25519:"+base64.StdEncoding.EncodeToString(public))
	run(0, `"words": 0`, call...)
	served.release(t, "words-2.tar.gz", wordsArchive(t, words, "nothing"), second)
	run(0, "updated words", "plugins", "update", "words", server.URL+"/words-2.tar.gz")
	run(0, `"words": 2`, call...)
}

// TestIssue15_WhatThePublisherMakesIsTakenIn: the commands of the documentation, as they
// stand there, make what `plugins add --checksums` takes.
func TestIssue15_WhatThePublisherMakesIsTakenIn(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("SKIPPED: there is no openssl")
	}
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := testpage.Read(page)
	signs := slices.IndexFunc(blocks, func(b testpage.Block) bool {
		return b.Code && strings.HasPrefix(b.Text, "sha256sum words-1.0.0.tar.gz")
	})
	if signs < 0 {
		t.Fatal("docs/operations.md does not say any more how a publisher signs")
	}
	binary, published, dir := buildBinary(t), t.TempDir(), t.TempDir()
	write(t, published, "words-1.0.0.tar.gz", string(wordsArchive(t, buildPlugin(t, "words"), "the")))
	command := exec.Command("sh", "-ec", blocks[signs].Text)
	command.Dir = published
	if output, err := command.CombinedOutput(); err != nil || !strings.Contains(string(output), "Verified Successfully") {
		t.Fatalf("%v\n%s", err, output)
	}
	server := httptest.NewTLSServer(http.FileServer(http.Dir(published)))
	t.Cleanup(server.Close)
	write(t, dir, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	write(t, dir, "flowrun.yaml", "# ours\n")
	add := exec.Command(binary, "plugins", "add", server.URL+"/words-1.0.0.tar.gz", "--checksums", server.URL+"/SHA256SUMS")
	add.Dir, add.Env = dir, append(os.Environ(), "SSL_CERT_FILE="+filepath.Join(dir, "ca.pem"), "HOME="+dir, "XDG_STATE_HOME="+dir)
	if output, err := add.CombinedOutput(); err != nil || !strings.Contains(string(output), "signed by  ed25519:") {
		t.Errorf("%v\n%s", err, output)
	}
}
