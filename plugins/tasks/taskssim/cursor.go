package taskssim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// position is the first segment of a cursor: where to go on, and for which
// parameters.
type position struct {
	At     int    `json:"at"`
	Params string `json:"p"`
}

// sign makes a cursor of two segments: the position and its signature (T-19).
func (s *Sim) sign(p position) string {
	encoded, err := json.Marshal(p)
	if err != nil {
		return "" // a number and a text always can be written
	}
	first := base64.RawURLEncoding.EncodeToString(encoded)
	return first + "." + base64.RawURLEncoding.EncodeToString(s.signature(first))
}

func (s *Sim) signature(text string) []byte {
	mac := hmac.New(sha256.New, s.signing)
	mac.Write([]byte(text))
	return mac.Sum(nil)[:18]
}

// open reads the request's cursor; without one it is the beginning. A cursor of
// other parameters is refused (T-20), and so is one that nobody signed.
func (s *Sim) open(r *http.Request) (int, *refusal) {
	values, there := r.URL.Query()["cursor"]
	if !there {
		return 0, nil
	}
	first, second, ok := strings.Cut(values[0], ".")
	mac, err := base64.RawURLEncoding.DecodeString(second)
	if !ok || err != nil || !hmac.Equal(mac, s.signature(first)) {
		return 0, badRequest("cursor: the value is not valid")
	}
	var p position
	encoded, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil || json.Unmarshal(encoded, &p) != nil || p.At < 0 {
		return 0, badRequest("cursor: the value is not valid")
	}
	if p.Params != paramsOf(r) {
		return 0, badRequest("cursor: it must be used with the same parameters as the request that produced it")
	}
	return p.At, nil
}

// paramsOf is a digest of the path and all parameters but the cursor, so that a
// parameter that was left out before must be left out again.
func paramsOf(r *http.Request) string {
	query := r.URL.Query()
	query.Del("cursor")
	sum := sha256.Sum256([]byte(r.URL.EscapedPath() + "?" + query.Encode()))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// pageOf is one page of records under a name of the simulator's:
// names of lists are not documented.
func pageOf[T any](s *Sim, r *http.Request, name string, records []T, limit int64) (any, *refusal) {
	at, refused := s.open(r)
	if refused != nil {
		return nil, refused
	}
	at = min(at, len(records))
	end := len(records)
	if limit < int64(end-at) {
		end = at + int(limit)
	}
	page := map[string]any{name: append([]T{}, records[at:end]...), "next_cursor": nil}
	if end < len(records) {
		page["next_cursor"] = s.sign(position{At: end, Params: paramsOf(r)})
	}
	return page, nil
}
