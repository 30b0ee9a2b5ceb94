package oidc

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

// mustSayTheWayOut checks the error of a login that has ended, and that the way out
// is one.
func (p *project) mustSayTheWayOut(f failure) {
	p.t.Helper()
	if f.Kind != "auth_required" || f.Reason != "invalid_grant" || !strings.Contains(f.Hint, "flowrun connections login work") {
		p.t.Errorf("got %+v", f)
	}
	if status := p.call("status", nil); status["state"] != "auth_required" || status["renewable"] != false {
		p.t.Errorf("status %v", status)
	}
	p.login()
	p.call("refresh", nil)
}

// TestARefreshTokenThatWasUsedTwice: the server takes it for stolen and ends the
// grant with all its tokens.
func TestARefreshTokenThatWasUsedTwice(t *testing.T) {
	t.Parallel()
	s := open(t, confidential(basic))
	p := newProject(t, s, nil)
	p.login()
	p.call("refresh", nil)
	if status, word := s.refresh(s.refreshes()[0]); word != "invalid_grant" {
		t.Fatalf("the server takes an old refresh token: %d %s", status, word)
	}
	// the access token seems good; its 401 leads to the refresh that tells the truth
	p.mustSayTheWayOut(p.fails("resource_get", in{"url": s.issuer + userPath}))
}

// TestARevokedGrant: a person, or an administrator, has ended it at the server. A
// run waits for the login and goes on with it.
func TestARevokedGrant(t *testing.T) {
	t.Parallel()
	s := open(t, confidential(post))
	p := newProject(t, s, nil)
	p.write("who.yaml", `flowrun: v1
name: who
steps:
  - {id: me, uses: auth.resource_get, with: {url: "`+s.issuer+userPath+`"}}
outputs: {name: "${{ steps.me.outputs.body.sub }}"}
`)
	p.login()
	_, refresh := s.tokens()
	if status, word := s.post(revokePath, url.Values{"token": {refresh}}); status != 200 {
		t.Fatalf("revoke: %d %s", status, word)
	}
	r := p.flowrun(nil, "run", "who.yaml")
	if r.code != 4 || !strings.Contains(r.stderr, "auth_required") || !strings.Contains(r.stderr, "flowrun connections login work") {
		t.Errorf("got %+v", r)
	}
	p.mustSayTheWayOut(p.fails("refresh", nil))
	list := p.flowrun(nil, "runs", "list", "-o", "json")
	if r := p.flowrun(nil, "runs", "resume", idOf(t, list.stdout)); r.code != 0 || !strings.Contains(r.stdout+r.stderr, "ada") {
		t.Errorf("after the login: %+v", r)
	}
}

// TestRotation: many readers share tokens that end at once, each refresh token is
// used once, and no refresh is refused.
func TestRotation(t *testing.T) {
	t.Parallel()
	settings := confidential(basic)
	settings.AccessTTL = 6 // half of it is reserve
	s := open(t, settings)
	p := newProject(t, s, nil)
	p.write("read.yaml", `flowrun: v1
name: read
steps:
  - id: read
    foreach: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    max_parallel: 6
    steps:
      - {id: me, uses: auth.resource_get, with: {url: "`+s.issuer+userPath+`"}}
`)
	p.login()
	for len(s.refreshes()) < 2 {
		if r := p.flowrun(nil, "run", "read.yaml"); r.code != 0 {
			t.Fatalf("got %+v", r)
		}
	}
	used := s.refreshes()
	if unique := slices.Compact(slices.Sorted(slices.Values(used))); len(unique) != len(used) {
		t.Errorf("%d refreshes with %d tokens", len(used), len(unique))
	}
	for _, r := range s.requests(tokenPath) {
		if r.Error != "" && r.Error != "authorization_pending" {
			t.Errorf("the server said %s", r.Error)
		}
	}
}

// TestWithoutRotation the server gives no other refresh token, or the same one:
// the one there is goes on being used.
func TestWithoutRotation(t *testing.T) {
	t.Parallel()
	settings := confidential(basic)
	settings.Rotate = new(bool)
	s := open(t, settings)
	p := newProject(t, s, nil)
	p.login()
	p.call("refresh", nil)
	p.call("refresh", nil)
	if used := s.refreshes(); len(used) != 2 || used[0] != used[1] {
		t.Errorf("refreshed with %q", used)
	}
}

// TestWithoutARefreshToken the access token is used while it lives, and said not
// to be renewable.
func TestWithoutARefreshToken(t *testing.T) {
	t.Parallel()
	settings := confidential(basic)
	settings.Refresh = new(bool)
	s := open(t, settings)
	p := newProject(t, s, nil)
	p.login()
	if status := p.call("status", nil); status["state"] != "valid" || status["renewable"] != false {
		t.Errorf("status %v", status)
	}
	if f := p.fails("refresh", nil); f.Kind != "unsupported" || len(s.refreshes()) != 0 {
		t.Errorf("got %+v", f)
	}
	p.call("resource_get", in{"url": s.issuer + userPath})
}
