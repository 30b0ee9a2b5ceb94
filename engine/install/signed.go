package install

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// Signed is what a signed list of checksums says of an archive.
type Signed struct {
	Digest string // sha256:HEX
	Signer string // ed25519:BASE64, the key that it is signed with
}

// Checksums fetches a list of checksums, as sha256sum writes it, its signature (.sig) and
// the key (.pub), and returns what it says of an archive. The list is believed where the
// signature fits; whether the key is the right one the caller must know.
func (f Fetcher) Checksums(ctx context.Context, list, archive string) (Signed, error) {
	if u, err := url.Parse(list); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return Signed{}, fmt.Errorf("checksums come over https alone, not from %q", list)
	}
	var parts [3][]byte
	for i, suffix := range []string{"", ".sig", ".pub"} {
		text, err := f.text(ctx, list+suffix)
		if err != nil {
			return Signed{}, err
		}
		parts[i] = text
	}
	signer, err := verify(parts[0], parts[1], parts[2])
	if err != nil {
		return Signed{}, fmt.Errorf("%s: %w", list, err)
	}
	digest, err := checksumOf(parts[0], baseName(archive))
	if err != nil {
		return Signed{}, fmt.Errorf("%s: %w", list, err)
	}
	return Signed{Digest: digest, Signer: signer}, nil
}

// verify checks the signature of a text and returns the key. A signature is 64 bytes as
// they are or in base64, a key is a PEM block as openssl writes it.
func verify(text, signature, key []byte) (signer string, err error) {
	block, rest := pem.Decode(key)
	if block == nil || block.Type != "PUBLIC KEY" || strings.TrimSpace(string(rest)) != "" {
		return "", errors.New("its key (.pub) is no PEM block PUBLIC KEY")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	public, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return "", errors.New("its key (.pub) is no Ed25519 key")
	}
	if len(signature) != ed25519.SignatureSize {
		decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(signature)), ""))
		if err != nil || len(decoded) != ed25519.SignatureSize {
			return "", errors.New("its signature (.sig) is not of 64 bytes, nor base64 of them")
		}
		signature = decoded
	}
	if !ed25519.Verify(public, text, signature) {
		return "", errors.New("its signature does not fit: it was changed after it was signed, or signed with another key")
	}
	return "ed25519:" + base64.StdEncoding.EncodeToString(public), nil
}

var checksumLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{64}) [ *](.+)$`) })

// checksumOf finds a file in the text of sha256sum.
func checksumOf(list []byte, name string) (string, error) {
	digest := ""
	for line := range strings.Lines(string(list)) {
		line = strings.TrimRight(line, "\r\n")
		match := checksumLine().FindStringSubmatch(line)
		switch {
		case strings.TrimSpace(line) == "":
		case match == nil:
			return "", fmt.Errorf("%q is no line of sha256sum", line)
		case strings.TrimPrefix(match[2], "./") == name && digest != "":
			return "", fmt.Errorf("%s stands in it twice", name)
		case strings.TrimPrefix(match[2], "./") == name:
			digest = "sha256:" + match[1]
		}
	}
	if digest == "" {
		return "", fmt.Errorf("%s does not stand in it", name)
	}
	return digest, nil
}
