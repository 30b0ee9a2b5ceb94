package trigger

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/secret"
)

// hookWindow is how far the time of a signed request may be from ours.
const hookWindow = 5 * time.Minute

// hookTokenHeader is where a sender's token may stand besides Authorization.
const hookTokenHeader = "X-Webhook-Token"

// hookSender is what is known of the sender of a request.
type hookSender struct {
	by string // for the fire's row
	// replay is the signature of a request with a signed time: the same one again
	// is the same request. "" = nothing tells.
	replay string
	at     time.Time // that time
}

// authenticate checks that the sender knows the webhook's secret. Comparing takes
// as long for a wrong one as for the right one. *HookRefusedError.
func (tr *Triggers) authenticate(ctx context.Context, t *plan.Trigger, r HookRequest, now time.Time) (hookSender, error) {
	sender := hookSender{}
	if r.Remote != "" {
		sender.by = "webhook from " + r.Remote
	}
	if signed := t.Webhook.HMAC; signed != nil {
		key, err := tr.hookSecret(ctx, t, &signed.Secret)
		if err != nil {
			return sender, err
		}
		signature, at, err := checkSignature(signed, []byte(key), r, now)
		if signed.TimestampHeader != "" {
			sender.replay, sender.at = signature, at
		}
		return sender, err
	}
	token, err := tr.hookSecret(ctx, t, t.Webhook.Token)
	if err != nil {
		return sender, err
	}
	return sender, checkToken(token, r.Header)
}

// hookSecret reveals the secret of a webhook. One that is missing or empty lets
// nobody in: an empty key is everybody's.
func (tr *Triggers) hookSecret(ctx context.Context, t *plan.Trigger, reference *plan.Value) (string, error) {
	notReady := refuseHook(http.StatusServiceUnavailable, "the webhook is not set up: the log of the server says why")
	if reference == nil || reference.Kind != plan.ValueSecret {
		return "", notReady
	}
	clear, err := tr.project.Services().Reveal(ctx, reference.Secret)
	if err == nil && clear != "" {
		return clear, nil
	}
	var missing *secret.NotFoundError
	if err == nil || errors.As(err, &missing) {
		tr.config.Log.Warn("the secret of a webhook is not set", "trigger", t.Name, "secret", reference.Secret,
			"hint", "set the environment variable "+tr.project.SecretEnv().VariableOf(reference.Secret))
		return "", notReady
	}
	tr.config.Log.Warn("the secret of a webhook can't be read", "trigger", t.Name, "secret", reference.Secret, "error", err)
	return "", notReady
}

// versionPattern is what stands before the = of the prefix of a sender that signs
// VERSION:TIME:BODY, as several do ("v0=").
var versionPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v[0-9]+$`) })

// checkSignature checks the HMAC-SHA256 of a request, in hex behind the prefix, and
// returns it, and the time that is signed. What is signed is the body; with a header for the time it is that
// header's text, a dot and the body, and the time must be near ours.
func checkSignature(signed *plan.WebhookHMAC, key []byte, r HookRequest, now time.Time) (signature string, at time.Time, err error) {
	text, ok := onlyValue(r.Header, signed.Header)
	if !ok {
		return "", at, refuseHook(http.StatusUnauthorized, "the header %s must hold the signature, once", signed.Header)
	}
	rest, ok := strings.CutPrefix(text, signed.Prefix)
	given, err := hex.DecodeString(rest)
	if !ok || err != nil || len(given) != sha256.Size {
		return "", at, refuseHook(http.StatusUnauthorized, "the header %s must be %q and the HMAC-SHA256 in hex", signed.Header, signed.Prefix)
	}
	what, before := "the body", []string{""}
	if signed.TimestampHeader != "" {
		stamp, ok := onlyValue(r.Header, signed.TimestampHeader)
		if !ok {
			return "", at, refuseHook(http.StatusUnauthorized, "the header %s must hold the time, once", signed.TimestampHeader)
		}
		at, ok = parseStamp(stamp)
		if !ok {
			return "", at, refuseHook(http.StatusUnauthorized, "the header %s must be a Unix time in seconds", signed.TimestampHeader)
		}
		if distance := now.Sub(at).Abs(); distance > hookWindow {
			return "", at, refuseHook(http.StatusUnauthorized, "the time in %s is more than %s from ours", signed.TimestampHeader, schema.FormatDuration(hookWindow))
		}
		what, before = "the text of "+signed.TimestampHeader+", a dot and the body", []string{stamp + "."}
		if version, ok := strings.CutSuffix(signed.Prefix, "="); ok && versionPattern().MatchString(version) {
			before = append(before, version+":"+stamp+":")
		}
	}
	right := false
	for _, text := range before {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		mac.Write(r.Body)
		right = hmac.Equal(mac.Sum(nil), given) || right
	}
	if !right {
		return "", at, refuseHook(http.StatusUnauthorized, "the signature in %s is not that of %s", signed.Header, what)
	}
	return hex.EncodeToString(given), at, nil
}

// onlyValue returns a header that stands once.
func onlyValue(header http.Header, name string) (string, bool) {
	values := header.Values(name)
	if len(values) != 1 {
		return "", false
	}
	return strings.TrimSpace(values[0]), true
}

// parseStamp reads a time as senders write it: seconds or milliseconds since 1970,
// or RFC 3339.
func parseStamp(text string) (time.Time, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n > 1e11 || n < -1e11 { // seconds of the year 5138
			return time.UnixMilli(n), true
		}
		return time.Unix(n, 0), true
	}
	at, err := schema.ParseTime(text)
	return at, err == nil
}

// checkToken compares the bearer token of a request, or the one in its own header.
func checkToken(token string, header http.Header) error {
	given, ok := onlyValue(header, hookTokenHeader)
	if !ok {
		if given, ok = onlyValue(header, "Authorization"); ok {
			scheme, rest, _ := strings.Cut(given, " ")
			given, ok = strings.TrimSpace(rest), strings.EqualFold(scheme, "bearer")
		}
	}
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(given))
	if subtle.ConstantTimeCompare(want[:], got[:]) != 1 || !ok {
		return refuseHook(http.StatusUnauthorized, "the token of the webhook is missing or wrong: send `Authorization: Bearer TOKEN`")
	}
	return nil
}
