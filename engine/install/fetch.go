// Package install brings plugins that come from elsewhere: it fetches archives within
// bounds and holds them against a digest, or against checksums that a known key has signed
// (ADR 50).
package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/flowrun/flowrun/engine/plugintree"
)

// maxText bounds checksums, signatures and keys.
const maxText = 1 << 20

// maxRedirects is how often an answer may name another place.
const maxRedirects = 5

// Fetcher gets archives over HTTPS and keeps them by their digest. Safe for concurrent use.
type Fetcher struct {
	Client   *http.Client // who is asked; its own rule for redirects is not used
	Dir      string       // where archives are kept
	MaxBytes int64        // of an archive
}

// IsURL reports whether a source is fetched.
func IsURL(source string) bool { return strings.Contains(source, "://") }

// Place is where an archive with a digest ("sha256:HEX") is kept, fetched or not.
func Place(dir, source, digest string) string {
	return filepath.Join(dir, strings.TrimPrefix(digest, "sha256:")+extension(source))
}

func extension(source string) string {
	if u, err := url.Parse(source); err == nil {
		source = u.Path
	}
	for _, extension := range []string{".tar.gz", ".tgz", ".zip"} {
		if strings.HasSuffix(strings.ToLower(source), extension) {
			return extension
		}
	}
	return ""
}

// CheckURL says what is wrong with the address of an archive.
func CheckURL(source string) error {
	u, err := url.Parse(source)
	switch {
	case err != nil:
		return fmt.Errorf("%q is no address: %w", source, err)
	case u.Scheme != "https":
		return fmt.Errorf("%s is not fetched: plugins come over https alone", u.Redacted())
	case u.Host == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("%s is not fetched: an address has a host, and neither a user nor a fragment", u.Redacted())
	case !plugintree.IsArchive(u.Path):
		return fmt.Errorf("%s is not fetched: a plugin comes as .tar.gz or .zip", u.Redacted())
	}
	return nil
}

// Fetch gets an archive and returns where it lies. It is kept only where its digest
// ("sha256:HEX") is the wanted one.
func (f Fetcher) Fetch(ctx context.Context, source, digest string) (string, error) {
	if err := CheckURL(source); err != nil {
		return "", err
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for archives: %w", err)
	}
	temp, err := os.CreateTemp(f.Dir, ".fetch-*")
	if err != nil {
		return "", fmt.Errorf("keep %s: %w", source, err)
	}
	defer func() { _ = os.Remove(temp.Name()) }() // gone already when it is kept
	defer temp.Close()
	sum := sha256.New()
	if err := f.get(ctx, source, io.MultiWriter(temp, sum), f.MaxBytes); err != nil {
		return "", err
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != digest {
		return "", &WrongDigestError{Source: source, Got: got, Want: digest}
	}
	place := Place(f.Dir, source, digest)
	if err := errors.Join(temp.Sync(), temp.Close(), os.Rename(temp.Name(), place)); err != nil {
		return "", fmt.Errorf("keep %s: %w", source, err)
	}
	return place, nil
}

// WrongDigestError says that what came is not what was wanted. Nothing of it is kept.
type WrongDigestError struct{ Source, Got, Want string }

func (e *WrongDigestError) Error() string {
	return fmt.Sprintf("%s is not what was wanted: its digest is %s, not %s", e.Source, e.Got, e.Want)
}

func (f Fetcher) get(ctx context.Context, source string, into io.Writer, most int64) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", source, err)
	}
	client := *f.Client
	client.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		switch {
		case next.URL.Scheme != "https":
			return fmt.Errorf("it leads to %s, which is not https", next.URL.Redacted())
		case len(before) > maxRedirects:
			return fmt.Errorf("it leads elsewhere more than %d times", maxRedirects)
		}
		return nil
	}
	answer, err := client.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}
		return fmt.Errorf("fetch %s: %w", source, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("fetch %s: the server answers %s", source, answer.Status)
	}
	tooLarge := fmt.Errorf("fetch %s: it has more than %d MiB", source, most>>20)
	if answer.ContentLength > most {
		return tooLarge
	}
	n, err := io.Copy(into, io.LimitReader(answer.Body, most+1))
	switch {
	case err != nil:
		return fmt.Errorf("fetch %s: it broke off after %d bytes: %w", source, n, err)
	case n > most:
		return tooLarge
	}
	return nil
}

func (f Fetcher) text(ctx context.Context, source string) ([]byte, error) {
	var text strings.Builder
	err := f.get(ctx, source, &text, maxText)
	return []byte(text.String()), err
}

// baseName is what an archive is called in a list of checksums.
func baseName(source string) string {
	if u, err := url.Parse(source); err == nil {
		source = u.Path
	}
	return path.Base(source)
}
