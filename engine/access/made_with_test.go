package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
)

func (tr *tokenRows) holdsText(t *testing.T, text string) bool {
	t.Helper()
	_, err := tr.CheckAccessToken(t.Context(), text)
	if err != nil && !errors.Is(err, ErrNoToken) {
		t.Fatal(err)
	}
	return err == nil
}

// TestATokenThatIsMadeWithATokenAllowsNoMore than its maker, of whatever scope that is.
func TestATokenThatIsMadeWithATokenAllowsNoMore(t *testing.T) {
	tr := newTokenRows(t)
	scopes := TokenScopes()
	for has, scope := range scopes {
		maker, _ := tr.create(t, NewToken{Scope: scope})
		for asked, other := range scopes {
			made, _, err := tr.CreateAccessToken(t.Context(), NewToken{Scope: other, MadeWith: maker.ID})
			var input *fault.InputError
			switch {
			case asked > has && (!errors.As(err, &input) || !strings.Contains(input.Message, "scope "+scope)):
				t.Errorf("a token of %s makes one of %s: %v, %v", scope, other, made, err)
			case asked <= has && (err != nil || made.MadeWith != maker.ID || made.Scope != other):
				t.Errorf("a token of %s makes none of %s: %+v, %v", scope, other, made, err)
			}
		}
	}
}

func TestATokenThatIsMadeWithATokenLastsNoLonger(t *testing.T) {
	tr := newTokenRows(t)
	end := tr.now.Add(time.Hour)
	maker, _ := tr.create(t, NewToken{Name: "maker", Scope: "admin", ExpiresAt: end})
	made, text := tr.create(t, NewToken{Scope: "viewer", MadeWith: maker.ID})
	if made.ExpiresAt == nil || !made.ExpiresAt.Equal(end) {
		t.Errorf("without an end of its own: %v", made.ExpiresAt)
	}
	sooner, _ := tr.create(t, NewToken{Scope: "viewer", MadeWith: maker.ID, ExpiresAt: end.Add(-time.Minute)})
	if !sooner.ExpiresAt.Equal(end.Add(-time.Minute)) {
		t.Errorf("one that ends sooner ends at %s", sooner.ExpiresAt)
	}
	var input *fault.InputError
	if _, _, err := tr.CreateAccessToken(t.Context(), NewToken{Scope: "viewer", MadeWith: maker.ID, ExpiresAt: end.Add(time.Nanosecond)}); !errors.As(err, &input) || !strings.Contains(input.Message, "outlive maker") {
		t.Errorf("one that ends later: %v", err)
	}
	tr.later(time.Hour)
	if tr.holdsText(t, text) {
		t.Error("it has outlived its maker")
	}
	var conflict *fault.ConflictError
	if _, _, err := tr.CreateAccessToken(t.Context(), NewToken{Scope: "viewer", MadeWith: maker.ID}); !errors.As(err, &conflict) {
		t.Errorf("a maker that has expired makes one: %v", err)
	}
	if _, _, err := tr.CreateAccessToken(t.Context(), NewToken{Scope: "viewer", MadeWith: "000000000000"}); !errors.As(err, &conflict) {
		t.Errorf("a maker that is not there makes one: %v", err)
	}
}

// TestATokenEndsWithTheOneThatItWasMadeWith, and so do those that were made with it in turn.
// Others stay.
func TestATokenEndsWithTheOneThatItWasMadeWith(t *testing.T) {
	tr := newTokenRows(t)
	top, _ := tr.create(t, NewToken{Name: "top", Scope: "admin"})
	middle, middleText := tr.create(t, NewToken{Name: "middle", Scope: "admin", MadeWith: top.ID})
	_, lowText := tr.create(t, NewToken{Name: "low", Scope: "viewer", MadeWith: middle.ID})
	_, otherText := tr.create(t, NewToken{Name: "other", Scope: "viewer"})
	tr.reopen(t) // who made it is durable
	with, err := tr.RemoveAccessToken(t.Context(), "top")
	if err != nil || !slices.Equal(with, []string{"middle", "low"}) {
		t.Fatalf("%q, %v", with, err)
	}
	if tr.holdsText(t, middleText) || tr.holdsText(t, lowText) || !tr.holdsText(t, otherText) {
		t.Error("one that was made with it holds, or another one does not")
	}
	if listed, err := tr.ListAccessTokens(t.Context()); err != nil || len(listed) != 1 {
		t.Errorf("%+v, %v", listed, err)
	}
}

// TestATokenWithoutItsMakerIsNobodys: a process that ended between the two removals has
// left it.
func TestATokenWithoutItsMakerIsNobodys(t *testing.T) {
	tr := newTokenRows(t)
	top, topText := tr.create(t, NewToken{Name: "top", Scope: "admin"})
	middle, _ := tr.create(t, NewToken{Name: "middle", Scope: "admin", MadeWith: top.ID})
	low, lowText := tr.create(t, NewToken{Name: "low", Scope: "viewer", MadeWith: middle.ID})
	if !tr.holdsText(t, lowText) || !tr.AccessTokenHolds(t.Context(), low.ID) {
		t.Fatal("the control: it holds not")
	}
	if err := tr.rows.KV().Delete(tokenBucket, tokenHash(topText), nil); err != nil {
		t.Fatal(err)
	}
	if tr.holdsText(t, lowText) || tr.AccessTokenHolds(t.Context(), low.ID) || tr.AccessTokenHolds(t.Context(), middle.ID) {
		t.Error("it holds without the token that its maker was made with")
	}
	listed, err := tr.ListAccessTokens(t.Context())
	if err != nil || len(listed) != 2 || !listed[0].Expired || !listed[1].Expired {
		t.Errorf("%+v, %v", listed, err)
	}
}

func TestTokensAreMadeWithTokensAFewTimesOver(t *testing.T) {
	tr := newTokenRows(t)
	maker, text := tr.create(t, NewToken{Scope: "admin"})
	for range maxMadeWith - 1 {
		maker, text = tr.create(t, NewToken{Scope: "admin", MadeWith: maker.ID})
	}
	if !tr.holdsText(t, text) {
		t.Error("the last one holds not")
	}
	var conflict *fault.ConflictError
	if _, _, err := tr.CreateAccessToken(t.Context(), NewToken{Scope: "admin", MadeWith: maker.ID}); !errors.As(err, &conflict) || !strings.Contains(conflict.Message, fmt.Sprint(maxMadeWith-1)) {
		t.Errorf("one more: %v", err)
	}
}
