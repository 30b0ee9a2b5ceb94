package trigger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
)

// FuzzWebhook gives any request to the parts that read it before anybody is known:
// nothing panics, only the right signature is taken, a changed request is not, and
// a body is either read to a value of the language or refused with a status.
func FuzzWebhook(f *testing.F) {
	f.Add("sha256=", "sha256="+signature("key", "{}"), "1774740600", "application/json", []byte("{}"))
	f.Add("", signature("key", "1774740600.x"), "1774740600", "text/plain", []byte("x"))
	f.Add("", "00", "9223372036854775807", "application/x-www-form-urlencoded", []byte("a=1&a=%zz"))
	f.Add("v1=", "v1=é", "-9223372036854775808", ";;", []byte("\xff[[[["))
	f.Add("", "", "2026-03-28T23:30:00.5+14:00", "application/x+json", []byte(`{"a":1e999,"b":[{"$secret":"HOOK"}],"":9007199254740993}`))
	body := []byte(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"object","properties":{"c":{"type":"string"}},"additionalProperties":false}}}}`)
	now := time.Unix(1774740600, 0)
	f.Fuzz(func(t *testing.T, prefix, header, stamp, media string, payload []byte) {
		for _, timed := range []string{"", "X-Timestamp"} {
			signed := &plan.WebhookHMAC{Header: "X-Signature", Prefix: prefix, TimestampHeader: timed}
			r := HookRequest{Method: "POST", Header: http.Header{}, Body: payload}
			r.Header.Set("X-Signature", header)
			r.Header.Set("X-Timestamp", stamp)
			text := string(payload)
			if timed != "" {
				text = strings.TrimSpace(stamp) + "." + text
			}
			_, _, err := checkSignature(signed, []byte("key"), r, now)
			if right := prefix + signature("key", text); err == nil && !strings.EqualFold(strings.TrimSpace(header), right) {
				t.Fatalf("the signature %q of %q was taken", header, text)
			}
			refusedWell(t, err)
			r.Header.Set("X-Signature", prefix+signature("key", text))
			if _, _, err := checkSignature(signed, []byte("key"), r, now); err == nil {
				r.Body = append([]byte("x"), payload...)
				if _, _, err := checkSignature(signed, []byte("key"), r, now); err == nil {
					t.Fatalf("another body was taken for %q", payload)
				}
			} else if timed == "" && strings.TrimSpace(prefix) == prefix && validHeader(prefix) {
				t.Fatalf("the right signature was refused: %v", err)
			}
		}
		if _, ok := parseStamp(stamp); !ok && stamp == "1774740600" {
			t.Fatal("a time in seconds was not read")
		}
		for _, webhook := range []*plan.Webhook{{}, {Body: body}} {
			r := HookRequest{Method: "POST", Header: http.Header{"Content-Type": {media}, "Authorization": {"Bearer x"}}, Query: map[string][]string{header: {stamp}}, Body: payload}
			root, err := hookRoot(webhook, r, hookSender{})
			refusedWell(t, err)
			if err != nil {
				continue
			}
			if _, told := root["headers"].(map[string]any)["authorization"]; told {
				t.Fatal("a credential stands in request.headers")
			}
			if _, err := schema.Encode(root); err != nil {
				t.Fatalf("the request can't be written: %v", err)
			}
		}
	})
}

func validHeader(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsAny(text, "\r\n\x00")
}

func refusedWell(t *testing.T, err error) {
	t.Helper()
	var refused *HookRefusedError
	if err != nil && (!errors.As(err, &refused) || refused.Status < 400 || refused.Status > 422) {
		t.Fatalf("refused with %v", err)
	}
}

// signature is what a sender puts into the header.
func signature(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}
