package netinfosim

import (
	"net/http"
	"strings"
)

// headers answers GET /api/v1/headers (I-16): what the caller sent, names in
// lower case. The value of a repeated header is joined, which is ours.
func (s *Sim) headers(w http.ResponseWriter, r *http.Request) {
	sent := map[string]string{"host": r.Host}
	for name, values := range r.Header {
		sent[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	succeed(w, map[string]any{
		"method": r.Method, "url": "http://" + r.Host + r.URL.RequestURI(), "headers": sent, "ip": s.caller(r).String(),
	})
}
