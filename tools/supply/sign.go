package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// The files of a release that say whether the others are whole, and from whom.
const (
	sumsFile = "SHA256SUMS"
	sigFile  = sumsFile + ".sig"
)

// keyVariable holds the private key itself, for machines that keep secrets in their
// environment.
const keyVariable = "FLOWRUN_RELEASE_KEY"

// publicKeyFile is where the public half lies in the repository, once there is one.
const publicKeyFile = "contrib/release-key.pem"

// keyID names a key by its digest, for people.
func keyID(public ed25519.PublicKey) string {
	digest := sha256.Sum256(public)
	return fmt.Sprintf("%x", digest[:8])
}

// signature is what SHA256SUMS.sig holds: a line of comment, and the signature in base64.
func signature(key ed25519.PrivateKey, sums []byte) []byte {
	return fmt.Appendf(nil, "# Ed25519 signature of %s by key %s\n%s\n", sumsFile, keyID(publicOf(key)), base64.StdEncoding.EncodeToString(ed25519.Sign(key, sums)))
}

// verifySignature fails when a signature is not that of the key over the sums. Lines
// that begin with # are comments, and are not signed.
func verifySignature(public ed25519.PublicKey, sums, file []byte) error {
	var text string
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			text += line
		}
	}
	signed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(signed) != ed25519.SignatureSize {
		return fmt.Errorf("%s holds no Ed25519 signature in base64", sigFile)
	}
	if !ed25519.Verify(public, sums, signed) {
		return fmt.Errorf("%s is not the signature of %s by key %s", sigFile, sumsFile, keyID(public))
	}
	return nil
}

// readKey reads the private key of releases: of the file that is named, else of the
// environment, nil where neither names one. It is PKCS #8 in PEM, as `openssl genpkey
// -algorithm ed25519` and `supply key` write it.
func readKey(file, environment string) (ed25519.PrivateKey, error) {
	text, from := []byte(environment), keyVariable
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the key: %w", err)
		}
		text, from = content, file
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("%s holds no private key in PEM: `supply key FILE` makes one", from)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s holds no Ed25519 key: `supply key FILE` makes one", from)
	}
	return key, nil
}

// readPublicKey reads a public key in PEM.
func readPublicKey(file string) (ed25519.PublicKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the public key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, fmt.Errorf("%s holds no public key in PEM", file)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s holds no Ed25519 key", file)
	}
	return key, nil
}

// publicOf is the public half of a key, nil of none.
func publicOf(key ed25519.PrivateKey) ed25519.PublicKey {
	if key == nil {
		return nil
	}
	public, _ := key.Public().(ed25519.PublicKey)
	return public
}

// pinnedKey reads the public key that is named, else the one of the repository, nil
// where there is none.
func pinnedKey(file string) (ed25519.PublicKey, error) {
	if file != "" {
		return readPublicKey(file)
	}
	public, err := readPublicKey(filepath.Join(root, filepath.FromSlash(publicKeyFile)))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return public, err
}

// isReleaseKey fails when the repository names another key than the one given, which users
// have pinned, and where it names none: nobody could verify what that key signs.
func isReleaseKey(source string, key ed25519.PrivateKey) error {
	file := filepath.Join(source, filepath.FromSlash(publicKeyFile))
	pinned, err := readPublicKey(file)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no %s by which users could verify what the key %s signs: commit its public half as that file first, in what is released", publicKeyFile, keyID(publicOf(key)))
	}
	if err != nil {
		return err
	}
	if public := publicOf(key); !public.Equal(pinned) {
		return fmt.Errorf("the key %s is not that of %s (%s), by which users verify: sign with that one, or exchange it as docs/releases.md tells", keyID(public), publicKeyFile, keyID(pinned))
	}
	return nil
}

// makeKey makes a key of releases: the private half in a file that the owner alone may
// read, the public half beside it.
func makeKey(file string, out io.Writer) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	open, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	for _, half := range []struct {
		file, kind string
		mode       os.FileMode
		content    []byte
	}{{file, "PRIVATE KEY", 0o600, secret}, {file + ".pub", "PUBLIC KEY", 0o644, open}} {
		f, err := os.OpenFile(half.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, half.mode)
		if err != nil {
			return fmt.Errorf("write the key: %w", err)
		}
		if err := errors.Join(pem.Encode(f, &pem.Block{Type: half.kind, Bytes: half.content}), f.Close()); err != nil {
			return fmt.Errorf("write the key: %w", err)
		}
	}
	fmt.Fprintf(out, "key %s: keep %s to yourself, commit %s.pub as %s\n", keyID(public), file, file, publicKeyFile)
	return nil
}
