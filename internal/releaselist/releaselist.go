// Package releaselist asks which releases of flowrun there are. It asks when it is told to, and
// downloads nothing but the listing.
package releaselist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// Listing is where releases are published (docs/releases.md).
const Listing = "https://api.github.com/repos/flowrun/flowrun/releases"

const (
	maxListing = 8 << 20 // bytes of a listing that is read
	maxHops    = 5       // redirects that are followed
)

// Release is one that is published.
type Release struct {
	Version   string    // vX.Y.Z
	URL       string    // of its notes; "" = the listing has none
	Published time.Time // zero = the listing does not say
}

// entry is what is read of a line of a listing: that of GitHub, Gitea and GitLab.
type entry struct {
	Tag        string    `json:"tag_name"`
	Draft      bool      `json:"draft"`
	Prerelease bool      `json:"prerelease"`
	URL        string    `json:"html_url"`
	Published  time.Time `json:"published_at"`
	Released   time.Time `json:"released_at"` // of GitLab
	Links      struct {
		Self string `json:"self"`
	} `json:"_links"`
}

// ErrNone says that nothing is released yet.
var ErrNone = errors.New("the listing has no release")

// AddressError is an address that is not asked.
type AddressError struct{ Reason string }

func (e *AddressError) Error() string { return e.Reason }

// CheckAddress refuses what no listing is at: it is asked over HTTPS, and over HTTP on this
// machine alone. The error is an *AddressError.
func CheckAddress(text string) error {
	at, err := url.Parse(text)
	switch {
	case err != nil || at.Host == "":
		return &AddressError{fmt.Sprintf("%q is no URL", text)}
	case at.User != nil:
		return &AddressError{"the address has a user in it"}
	case at.Scheme == "https", at.Scheme == "http" && isHere(at.Hostname()):
		return nil
	}
	return &AddressError{fmt.Sprintf("%s is not asked over %s: https is needed", at.Host, at.Scheme)}
}

func isHere(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Newest asks a listing for the newest release. Drafts, pre-releases and tags that are no
// version of flowrun do not count. ErrNone, *AddressError.
func Newest(ctx context.Context, transport http.RoundTripper, listing string) (*Release, error) {
	entries, err := read(ctx, transport, listing)
	if err != nil {
		return nil, err
	}
	var newest *Release
	for _, e := range entries {
		if e.Draft || e.Prerelease || !IsVersion(e.Tag) || semver.Prerelease(e.Tag) != "" {
			continue
		}
		if newest != nil && semver.Compare(e.Tag, newest.Version) <= 0 {
			continue
		}
		newest = &Release{Version: e.Tag, URL: pageOf(e), Published: e.Published}
		if newest.Published.IsZero() {
			newest.Published = e.Released
		}
	}
	if newest == nil {
		return nil, ErrNone
	}
	return newest, nil
}

// pageOf is the page of a release; "" where the listing names none that a browser opens.
func pageOf(e entry) string {
	for _, text := range []string{e.URL, e.Links.Self} {
		if CheckAddress(text) == nil {
			return text
		}
	}
	return ""
}

func read(ctx context.Context, transport http.RoundTripper, listing string) ([]entry, error) {
	if err := CheckAddress(listing); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, listing, http.NoBody)
	if err != nil {
		return nil, &AddressError{err.Error()}
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "flowrun")
	client := &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > maxHops {
			return errors.New("it leads on and on")
		}
		return CheckAddress(next.URL.String())
	}}
	response, err := client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok { // the address stands in the message of the caller
			err = wrapped.Err
		}
		return nil, fmt.Errorf("ask %s: %w", listing, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask %s: it answers %s", listing, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxListing+1))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", listing, err)
	}
	if len(body) > maxListing {
		return nil, fmt.Errorf("ask %s: the answer has more than %d bytes", listing, maxListing)
	}
	var entries []entry
	if err := json.Unmarshal(body, &entries); err != nil {
		return nil, fmt.Errorf("ask %s: the answer is no list of releases: %w", listing, err)
	}
	return entries, nil
}

// IsVersion reports whether a text is a version of flowrun, such as v1.2.3.
func IsVersion(text string) bool { return semver.IsValid(text) && strings.Count(text, ".") >= 2 }

// pseudo finds versions that the go command makes of a commit.
var pseudo = regexp.MustCompile(`[.-]\d{14}-[0-9a-f]{12}(\+|$)`)

// IsNewer reports whether a release is newer than a version of flowrun. One that no release
// has, such as that of a commit, is compared as the go command does it. known is false for
// a text that is no version.
func IsNewer(release, version string) (newer, known bool) {
	if !IsVersion(version) {
		return false, false
	}
	return semver.Compare(release, version) > 0, true
}

// IsOfCommit reports whether a version was made of a commit, not of a release.
func IsOfCommit(version string) bool { return pseudo.MatchString(version) }
