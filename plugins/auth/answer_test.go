package auth

import (
	"testing"
	"time"
)

func TestSecondsInAllForms(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1800": 30 * time.Minute, `"3600"`: time.Hour, "1.5": 1500 * time.Millisecond, "-7": 0, "1e400": maxLifetime, "99999999999999999999": maxLifetime, "0": 0,
	} {
		if got := seconds([]byte(text)); got == nil || *got != want {
			t.Errorf("%s is %v, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "null", `""`, `"soon"`, "{}", "[1]", "true", `"NaN"`} {
		if got := seconds([]byte(text)); got != nil {
			t.Errorf("%s is %s", text, *got)
		}
	}
}

func TestIntervals(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		0: 5 * time.Second, time.Second: time.Second, 1500 * time.Millisecond: 2 * time.Second, 10 * time.Millisecond: time.Second, 48 * time.Hour: time.Hour,
	} {
		if got := (oauthAnswer{Interval: given}).interval(); got != want {
			t.Errorf("interval %s is %s, want %s", given, got, want)
		}
	}
}

// FuzzDecodeAnswer: whatever a server sends, the decoder does not panic, and what
// it lets through can be stored and shown.
func FuzzDecodeAnswer(f *testing.F) {
	for _, seed := range []string{
		device, `{"access_token":"a","token_type":"Bearer","expires_in":3599,"scope":"a b","refresh_token":"r","refresh_token_expires_in":1}`,
		`{"error":"slow_down"}`, `{"error_code":"rate_limit_exceeded"}`, `{"error":{"code":400}}`, `{"scope":["a","b"]}`, `null`, `[]`, `{"interval":"7","expires_in":1e999}`, `{"a`,
	} {
		f.Add([]byte(seed))
	}
	now := time.Date(2031, 5, 7, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := decodeAnswer(body)
		if err != nil {
			return
		}
		if i := a.interval(); i < minInterval || i > maxInterval || i%time.Second != 0 {
			t.Errorf("interval %s", i)
		}
		if ttl := a.codeTTL(); ttl < 0 || ttl > maxLifetime {
			t.Errorf("lifetime %s", ttl)
		}
		if a.deviceProblem() == "" && (!isPrintable(a.UserCode) || !isPrintable(a.VerificationURL) || a.DeviceCode == "") {
			t.Errorf("shown: %q %q", a.UserCode, a.VerificationURL)
		}
		if a.tokenProblem() == "" {
			token := a.tokenOf(now, grant{})
			if !token.ExpiresAt.IsZero() && token.ExpiresAt.Before(now.Add(-time.Second)) || len(token.Extra) == 0 || token.AccessToken == "" {
				t.Errorf("token %+v", token)
			}
			if got := grantOf(token.Extra); a.Scope != nil && len(got.Scopes) != len(splitScopes(*a.Scope)) {
				t.Errorf("scopes %v of %q", got.Scopes, *a.Scope)
			}
		}
	})
}
