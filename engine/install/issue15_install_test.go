package install_test

import (
	"context"
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
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/install"
)

// publisher is a server with an archive, its checksums, their signature and the key.
type publisher struct {
	*httptest.Server
	files map[string][]byte
	key   ed25519.PrivateKey
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{files: map[string][]byte{"/words.tar.gz": []byte("an archive")}}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.key = key
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch content, ok := p.files[r.URL.Path]; {
		case r.URL.Path == "/plain.tar.gz":
			http.Redirect(w, r, "http://127.0.0.1:1/words.tar.gz", http.StatusFound)
		case r.URL.Path == "/round.tar.gz":
			http.Redirect(w, r, "/round.tar.gz", http.StatusFound)
		case r.URL.Path == "/there.tar.gz":
			http.Redirect(w, r, "/words.tar.gz", http.StatusFound)
		case r.URL.Path == "/short.tar.gz":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("less"))
		case r.URL.Path == "/endless.tar.gz":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		case !ok:
			http.NotFound(w, r)
		default:
			_, _ = w.Write(content)
		}
	}))
	t.Cleanup(p.Close)
	p.sign(t)
	return p
}

// sign writes checksums, signature and key anew.
func (p *publisher) sign(t *testing.T) {
	t.Helper()
	list := []byte(strings.TrimPrefix(p.digest(), "sha256:") + "  words.tar.gz\n" + strings.Repeat("0", 64) + " *other.zip\n")
	public, err := x509.MarshalPKIXPublicKey(p.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	p.files["/SHA256SUMS"] = list
	p.files["/SHA256SUMS.sig"] = ed25519.Sign(p.key, list)
	p.files["/SHA256SUMS.pub"] = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
}

func (p *publisher) digest() string {
	sum := sha256.Sum256(p.files["/words.tar.gz"])
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (p *publisher) fetcher(dir string) install.Fetcher {
	return install.Fetcher{Client: p.Client(), Dir: dir, MaxBytes: 1 << 20}
}

// TestIssue15_Fetch: what is kept has the digest that was wanted, and comes over https.
func TestIssue15_Fetch(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	for name, test := range map[string]struct{ url, digest, want string }{
		"as wanted":          {p.URL + "/words.tar.gz", p.digest(), ""},
		"elsewhere":          {p.URL + "/there.tar.gz", p.digest(), ""},
		"another digest":     {p.URL + "/words.tar.gz", "sha256:" + strings.Repeat("0", 64), "is not what was wanted"},
		"not there":          {p.URL + "/gone.tar.gz", p.digest(), "the server answers 404 Not Found"},
		"led to plain http":  {p.URL + "/plain.tar.gz", p.digest(), "which is not https"},
		"led round":          {p.URL + "/round.tar.gz", p.digest(), "more than 5 times"},
		"broken off":         {p.URL + "/short.tar.gz", p.digest(), "it broke off after 4 bytes"},
		"without end":        {p.URL + "/endless.tar.gz", p.digest(), "it has more than 1 MiB"},
		"plain http":         {"http://127.0.0.1:1/words.tar.gz", p.digest(), "over https alone"},
		"a user":             {"https://me:pw@127.0.0.1:1/words.tar.gz", p.digest(), "neither a user nor a fragment"},
		"no archive":         {p.URL + "/words.exe", p.digest(), "a plugin comes as .tar.gz or .zip"},
		"a file of this one": {"file:///etc/words.tar.gz", p.digest(), "over https alone"},
	} {
		dir := t.TempDir()
		path, err := p.fetcher(dir).Fetch(context.Background(), test.url, test.digest)
		if test.want == "" {
			content, readErr := os.ReadFile(path)
			if err != nil || readErr != nil || string(content) != "an archive" || path != install.Place(dir, test.url, test.digest) {
				t.Errorf("%s: %q at %s, %v", name, content, path, errors.Join(err, readErr))
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: something was kept: %v, %v", name, left, err)
		}
	}
}

// TestIssue15_Signature: a list of checksums is believed where its signature fits.
func TestIssue15_Signature(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(*publisher)
		want  string
	}{
		"as signed": {func(*publisher) {}, ""},
		"signature in base64": {func(p *publisher) {
			p.files["/SHA256SUMS.sig"] = []byte(base64.StdEncoding.EncodeToString(p.files["/SHA256SUMS.sig"]) + "\n")
		}, ""},
		"the list was changed":  {func(p *publisher) { p.files["/SHA256SUMS"] = append(p.files["/SHA256SUMS"], '\n') }, "its signature does not fit"},
		"the signature was cut": {func(p *publisher) { p.files["/SHA256SUMS.sig"] = p.files["/SHA256SUMS.sig"][:63] }, "its signature (.sig) is not of 64 bytes"},
		"no signature":          {func(p *publisher) { delete(p.files, "/SHA256SUMS.sig") }, "404"},
		"no key":                {func(p *publisher) { p.files["/SHA256SUMS.pub"] = []byte("x") }, "no PEM block"},
		"another key": {func(p *publisher) {
			public, _ := x509.MarshalPKIXPublicKey(ed25519.NewKeyFromSeed(make([]byte, 32)).Public())
			p.files["/SHA256SUMS.pub"] = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
		}, "its signature does not fit"},
		"not in it": {func(p *publisher) {
			p.files["/SHA256SUMS"] = []byte(strings.Repeat("0", 64) + "  other.tar.gz\n")
			p.files["/SHA256SUMS.sig"] = ed25519.Sign(p.key, p.files["/SHA256SUMS"])
		}, "words.tar.gz does not stand in it"},
		"twice in it": {func(p *publisher) {
			p.files["/SHA256SUMS"] = []byte(strings.Repeat(strings.Repeat("0", 64)+"  words.tar.gz\n", 2))
			p.files["/SHA256SUMS.sig"] = ed25519.Sign(p.key, p.files["/SHA256SUMS"])
		}, "stands in it twice"},
	} {
		p := newPublisher(t)
		test.spoil(p)
		signed, err := p.fetcher(t.TempDir()).Checksums(context.Background(), p.URL+"/SHA256SUMS", p.URL+"/words.tar.gz")
		public, _ := p.key.Public().(ed25519.PublicKey)
		switch {
		case test.want == "" && (err != nil || signed.Digest != p.digest() || signed.Signer != "ed25519:"+base64.StdEncoding.EncodeToString(public)):
			t.Errorf("%s: %+v, %v", name, signed, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
