package netinfosim

import (
	"net/http"

	"github.com/flowrun/flowrun/internal/simkit"
)

// headers answers GET /api/v1/headers (I-16): what the caller sent, names in
// lower case. The value of a repeated header is joined, which is ours.
func (s *Sim) headers(w http.ResponseWriter, r *http.Request) {
	sent := simkit.Headers(r)
	if _, ok := sent["host"]; !ok {
		sent["host"] = r.Host
	}
	succeed(w, map[string]any{
		"method": r.Method, "url": "http://" + r.Host + r.URL.RequestURI(), "headers": sent, "ip": s.caller(r).String(),
	})
}
