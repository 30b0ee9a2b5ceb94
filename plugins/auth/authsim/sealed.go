package authsim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// Codes and tokens hold what they stand for, signed with the client's secret: a
// simulator that is started again, as a sandbox is, still knows those that it
// gave out before. Decisions and revocations of an earlier life are forgotten.

// sealed is the content of a code or token.
type sealed struct {
	Kind     string    `json:"k"` // dc, at, rt
	Nonce    string    `json:"n"`
	Scopes   []string  `json:"s"`
	End      time.Time `json:"e,omitzero"` // zero = never
	Grant    string    `json:"g,omitempty"`
	Turn     int       `json:"t,omitempty"` // of a refresh token: how often it was rotated
	UserCode string    `json:"u,omitempty"`
}

func (s *Sim) seal(content sealed) string {
	content.Nonce = hex.EncodeToString(s.random(6))
	encoded, _ := json.Marshal(content) // texts, a number and a time: cannot fail
	body := base64.RawURLEncoding.EncodeToString(encoded)
	return content.Kind + "-" + body + "." + s.signature(content.Kind, body)
}

// open reads a code or token of a kind; false when it is none of this simulator's.
func (s *Sim) open(kind, text string) (sealed, bool) {
	body, signature, ok := strings.Cut(strings.TrimPrefix(text, kind+"-"), ".")
	if !ok || !strings.HasPrefix(text, kind+"-") || !hmac.Equal([]byte(signature), []byte(s.signature(kind, body))) {
		return sealed{}, false
	}
	encoded, err := base64.RawURLEncoding.DecodeString(body)
	var content sealed
	if err != nil || json.Unmarshal(encoded, &content) != nil {
		return sealed{}, false
	}
	return content, true
}

func (s *Sim) signature(kind, body string) string {
	mac := hmac.New(sha256.New, []byte(s.o.ClientSecret))
	mac.Write([]byte(kind + "." + body))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:12])
}
