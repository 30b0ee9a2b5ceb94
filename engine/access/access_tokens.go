package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/store"
)

// AccessTokenPrefix begins every token, so that one that leaked is recognised.
const AccessTokenPrefix = "frt_"

// tokenBucket is the store's bucket of tokens, by the hash of their text.
const tokenBucket = "access_tokens"

// maxAccessTokens bounds how many tokens a store holds.
const maxAccessTokens = 1000

// usedStep is how exact LastUsedAt is: each change of it is a commit.
const usedStep = 5 * time.Minute

// TokenInfo lets a program or a person use the server over TCP. The text of the
// token is stored nowhere.
type TokenInfo struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Scope      string     `json:"scope"` // viewer, operator or admin
	CreatedAt  time.Time  `json:"created_at"`
	CreatedBy  string     `json:"created_by,omitempty"`
	ExpiresAt  *time.Time `json:"expires_at"`   // nil = never
	LastUsedAt *time.Time `json:"last_used_at"` // to five minutes; nil = never
	Expired    bool       `json:"expired,omitempty"`
	// MadeWith is the id of the token that asked for this one, which ends with it; "" =
	// somebody at the machine did.
	MadeWith string `json:"made_with,omitempty"`
}

// NewToken asks for a token.
type NewToken struct {
	Name      string    `json:"name,omitempty"` // "" = the scope and a number
	Scope     string    `json:"scope"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	By        string    `json:"by,omitempty"`
	// MadeWith is the id of the token that asks: the new one allows no more, lasts no
	// longer and ends with it. "" = somebody at the machine asks. No body says it.
	MadeWith string `json:"-"`
	// Shorten makes one that would outlive its maker end with that, in place of a refusal;
	// Numbered puts a number behind a name that is taken.
	Shorten  bool `json:"-"`
	Numbered bool `json:"-"`
}

// storedToken is a row of the bucket.
type storedToken struct {
	TokenInfo
	Hash string `json:"hash"` // SHA-256 of the text, in hex: the row's key once more
}

// ErrNoToken says that a text is nobody's token: it never was, it was
// removed, or it has expired.
var ErrNoToken = errors.New("there is no such token")

// TokenScopes are the scopes of tokens, the lowest first.
func TokenScopes() []string { return []string{"viewer", "operator", "admin"} }

// maxTokenName is the longest name of a token in letters.
const maxTokenName = 63

// isTokenName reports whether name may be that of a token.
func isTokenName(name string) bool {
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxTokenName {
		return false
	}
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && (i == 0 || !strings.ContainsRune(" ._@-", r)) {
			return false
		}
	}
	return true
}

// CreateAccessToken makes a token of 256 random bits and returns its text, which
// is never told again. It is durable when CreateAccessToken returns. A wrong
// request is an *InputError, a name that is taken a *ConflictError.
func (c *Control) CreateAccessToken(ctx context.Context, r NewToken) (*TokenInfo, string, error) {
	now := c.now().UTC()
	if err := checkNewToken(r, now); err != nil {
		return nil, "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	tokens, err := c.storedTokens()
	if err != nil {
		return nil, "", err
	}
	if len(tokens) >= maxAccessTokens {
		return nil, "", &fault.ConflictError{Message: fmt.Sprintf("there are %d tokens, more are not kept", len(tokens)), Hint: diag.Sayf("%s removes one", diag.Command{"tokens", "rm", "NAME"})}
	}
	if r.Name == "" {
		r.Name = freeTokenName(r.Scope, 1, tokens)
	} else if taken := findToken(tokens, r.Name) != nil; taken && r.Numbered {
		r.Name = freeTokenName(r.Name, 2, tokens)
	} else if taken {
		return nil, "", &fault.ConflictError{Message: fmt.Sprintf("there is a token %q already", r.Name), Hint: diag.Sayf("choose another name, or remove it with %s", diag.Command{"tokens", "rm", r.Name})}
	}
	if r.MadeWith != "" {
		if err := boundByMaker(&r, tokens, now); err != nil {
			return nil, "", err
		}
	}
	secret := make([]byte, 32)
	if _, err := io.ReadFull(c.entropy, secret); err != nil {
		return nil, "", fmt.Errorf("make a token: %w", err)
	}
	text := AccessTokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	hash := tokenHash(text)
	row := storedToken{Hash: hash, TokenInfo: TokenInfo{ID: hash[:idLength], Name: r.Name, Scope: r.Scope, CreatedAt: now, CreatedBy: r.By, MadeWith: r.MadeWith}}
	if !r.ExpiresAt.IsZero() {
		expires := r.ExpiresAt.UTC()
		row.ExpiresAt = &expires
	}
	if err := c.putToken(row, nil); err != nil {
		return nil, "", err
	}
	return &row.TokenInfo, text, nil
}

func checkNewToken(r NewToken, now time.Time) error {
	switch {
	case !slices.Contains(TokenScopes(), r.Scope):
		hint := diag.MeantOr(r.Scope, TokenScopes(), "it is one of ")
		return &fault.InputError{Message: fmt.Sprintf("%q is not a scope", r.Scope), Hint: hint}
	case r.Name != "" && !isTokenName(r.Name):
		return &fault.InputError{Message: "this is not a name for a token", Hint: diag.Say("letters, digits, spaces and . _ @ -, at most 63, such as ci")}
	case !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(now):
		return &fault.InputError{Message: "the token would have expired already"}
	}
	return nil
}

func freeTokenName(begin string, n int, tokens []storedToken) string {
	for ; ; n++ {
		if name := fmt.Sprintf("%s-%d", begin, n); findToken(tokens, name) == nil {
			return name
		}
	}
}

func findToken(tokens []storedToken, name string) *storedToken {
	at := slices.IndexFunc(tokens, func(t storedToken) bool { return t.Name == name })
	if at < 0 {
		at = slices.IndexFunc(tokens, func(t storedToken) bool { return t.ID == name })
	}
	if at < 0 {
		return nil
	}
	return &tokens[at]
}

// ListAccessTokens returns the tokens, by name.
func (c *Control) ListAccessTokens(context.Context) ([]TokenInfo, error) {
	stored, err := c.storedTokens()
	if err != nil {
		return nil, err
	}
	tokens := make([]TokenInfo, len(stored))
	now := c.now()
	for i, token := range stored {
		tokens[i] = token.TokenInfo
		tokens[i].Expired = !holdsAmong(stored, &token, now)
	}
	return tokens, nil
}

// RemoveAccessToken removes a token by its name or id, and those that were made with it,
// whose names it returns. *UnknownError.
func (c *Control) RemoveAccessToken(_ context.Context, name string) (with []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tokens, err := c.storedTokens()
	if err != nil {
		return nil, err
	}
	found := findToken(tokens, name)
	if found == nil {
		names := diag.NamesOf(tokens, func(t storedToken) string { return t.Name })
		unknown := &fault.UnknownError{What: "token", Name: name, Hint: diag.DidYouMean(name, names)}
		unknown.Hint = unknown.Hint.Or(diag.Sayf("%s lists the tokens", diag.Command{"tokens", "list"}))
		return nil, unknown
	}
	// The maker goes first: without it none of the others holds, should the process end here.
	for i, token := range append([]storedToken{*found}, madeWith(tokens, found.ID)...) {
		if err := c.store.KV().Delete(tokenBucket, token.Hash, nil); err != nil {
			return with, c.fault(fmt.Errorf("remove token %s: %w", token.Name, err))
		}
		if i > 0 {
			with = append(with, token.Name)
		}
	}
	return with, nil
}

// CheckAccessToken returns whose token a text is. ErrNoToken.
func (c *Control) CheckAccessToken(_ context.Context, text string) (*TokenInfo, error) {
	if !strings.HasPrefix(text, AccessTokenPrefix) || len(text) > 100 {
		return nil, ErrNoToken
	}
	hash := tokenHash(text)
	row, version, err := c.storedToken(hash)
	if err != nil {
		return nil, err
	}
	now := c.now().UTC()
	if row == nil || subtle.ConstantTimeCompare([]byte(row.Hash), []byte(hash)) != 1 {
		return nil, ErrNoToken
	}
	if holds, err := c.holds(row, now); err != nil || !holds {
		return nil, cmp.Or(err, ErrNoToken)
	}
	if row.LastUsedAt == nil || now.Sub(*row.LastUsedAt) >= usedStep || now.Before(*row.LastUsedAt) {
		row.LastUsedAt = &now
		if err := c.putToken(*row, &version); err != nil { // it is a note, not a condition
			c.log.Debug("use of a token not noted", "token", row.Name, "error", err)
		}
	}
	return &row.TokenInfo, nil
}

// AccessTokenHolds reports whether the token of that id is still good.
func (c *Control) AccessTokenHolds(_ context.Context, id string) bool {
	row, err := c.tokenOf(id)
	if err != nil || row == nil {
		return false
	}
	holds, err := c.holds(row, c.now())
	return err == nil && holds
}

func (t *storedToken) expired(now time.Time) bool {
	return t.ExpiresAt != nil && !now.Before(*t.ExpiresAt)
}

func tokenHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (c *Control) storedTokens() ([]storedToken, error) {
	keys, err := c.store.KV().List(tokenBucket, "")
	if err != nil {
		return nil, c.fault(fmt.Errorf("list the tokens: %w", err))
	}
	var tokens []storedToken
	for _, key := range keys {
		row, _, err := c.storedToken(key)
		if err != nil {
			return nil, err
		}
		if row != nil {
			tokens = append(tokens, *row)
		}
	}
	order.Sort(tokens, func(a, b storedToken) int { return strings.Compare(a.Name, b.Name) })
	return tokens, nil
}

// storedToken returns the row of a hash, nil when there is none.
func (c *Control) storedToken(hash string) (*storedToken, uint64, error) {
	row := new(storedToken)
	version, ok, err := store.GetJSON(c.store.KV(), tokenBucket, hash, row)
	if err != nil {
		return nil, 0, c.fault(fmt.Errorf("read token %s: %w", hash[:12], err))
	}
	if !ok {
		return nil, 0, nil
	}
	return row, version, nil
}

func (c *Control) putToken(row storedToken, ifVersion *uint64) error {
	err := store.PutJSON(c.store.KV(), tokenBucket, row.Hash, row, ifVersion)
	if err != nil && !errors.Is(err, store.ErrConflict) { // somebody removed it, or noted the same
		return c.fault(fmt.Errorf("store token %s: %w", row.Name, err))
	}
	return nil
}
