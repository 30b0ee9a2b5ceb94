package tasks

import (
	"fmt"
	"net/url"
	"regexp"
	"testing"

	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestT20_OriginsAreBounded(t *testing.T) {
	o := newOrigins()
	for i := range 3 * maxOrigins {
		o.issued(fmt.Sprint(i), digestOf("scope"))
	}
	if len(o.scopes) != maxOrigins || len(o.order) != maxOrigins {
		t.Errorf("%d cursors are kept", len(o.scopes))
	}
	if !o.fits("0", digestOf("other")) || o.fits(fmt.Sprint(3*maxOrigins-1), digestOf("other")) {
		t.Error("a dropped cursor is judged, or a kept one is not")
	}
}

func TestT20_OneCursorOfSeveralRequests(t *testing.T) {
	o := newOrigins() // a service whose cursors are plain positions
	for _, scope := range []string{"a", "b", "a"} {
		o.issued("page.2", digestOf(scope))
	}
	for scope, fits := range map[string]bool{"a": true, "b": true, "c": false} {
		if o.fits("page.2", digestOf(scope)) != fits {
			t.Errorf("scope %s fits: %v", scope, !fits)
		}
	}
	for i := range maxScopes {
		o.issued("page.2", digestOf(fmt.Sprint(i)))
	}
	if !o.fits("page.2", digestOf("c")) || len(o.scopes[digestOf("page.2")]) != maxScopes {
		t.Error("a cursor of too many requests is still judged")
	}
}

func TestT20_ScopeHoldsEverythingButTheCursor(t *testing.T) {
	o := newOrigins()
	scopes := map[digest]string{}
	for _, s := range []struct {
		base string
		r    request
	}{
		{"https://a.example", request{path: []string{"a", "b"}, query: url.Values{}}},
		{"https://b.example", request{path: []string{"a", "b"}, query: url.Values{}}},
		{"https://a.example", request{path: []string{"ab"}, query: url.Values{}}},
		{"https://a.example", request{path: []string{"a", "b"}, query: url.Values{"limit": {"50"}}}},
		{"https://a.example", request{path: []string{"a", "b"}, query: url.Values{"limit": {"51"}}}},
		{"https://a.example", request{path: []string{"a", "b"}, query: url.Values{"filter_query": {""}}}},
	} {
		scope := o.scope(s.base, s.r)
		if before, twice := scopes[scope]; twice {
			t.Errorf("%v has the scope of %s", s, before)
		}
		scopes[scope] = fmt.Sprint(s)
	}
}

// FuzzCursor holds the grammar of T-19 against all texts, as the checker of
// workflows sees it.
func FuzzCursor(f *testing.F) {
	for _, text := range []string{"", "a.b", "a", "a.", ".b", "a.b.c", "a b.c", "-_.09", "a.b\n", "\x00.a", "ä.ö", "a.b="} {
		f.Add(text)
	}
	grammar := regexp.MustCompile(`\A[0-9A-Za-z_\-]{1,}\.[0-9A-Za-z_\-]{1,}\z`)
	f.Fuzz(func(t *testing.T, cursor string) {
		problems := sdktest.Serve(t, New()).Validate("usage_history", in{"cursor": cursor})
		if passes := len(problems) == 0; passes != grammar.MatchString(cursor) {
			t.Errorf("%q passes: %v %v", cursor, passes, problems)
		}
		for _, problem := range problems {
			if problem.Pointer != "/cursor" {
				t.Errorf("%q: %v", cursor, problem)
			}
		}
	})
}
