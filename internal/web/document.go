package web

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/flowrun/flowrun/docs"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// The server of the committed document.
const (
	usualServer = "http://127.0.0.1:7070"
	usualText   = "`flowrun serve` where nothing else is configured"
)

// withServer puts the server that is asked in the place of the usual one.
func withServer(data []byte, origin string) []byte {
	for old, now := range map[string]string{usualServer: origin, usualText: "This server, as it was asked."} {
		from, errFrom := json.Marshal(old)
		to, errTo := json.Marshal(now)
		if errFrom != nil || errTo != nil {
			return data
		}
		data = bytes.Replace(data, from, to, 1)
	}
	return data
}

// openAPI serves the committed document.
func (s *server) openAPI(w http.ResponseWriter, r *http.Request) error {
	data, err := docs.OpenAPI()
	if err != nil {
		return err
	}
	if _, remote := guard.CallerOf(r.Context()); remote {
		data = withServer(data, guard.OriginOf(r, s.Owner.URL))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // the client is gone: nobody is left to tell
	return nil
}
