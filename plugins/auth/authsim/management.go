package authsim

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// managed serves the management side: over TLS only, 401 without a body
// . The 403 and the 429 are ours.
func (s *Sim) managed(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil {
			simkit.WriteJSON(w, http.StatusForbidden, map[string]string{"message": "HTTPS is required."})
			return
		}
		if !s.reads.Admits(w, simkit.Client(r)) {
			simkit.WriteJSON(w, http.StatusTooManyRequests, map[string]string{"message": "Too many requests."})
			return
		}
		serve(w, r)
	}
}

// credential splits the Authorization header.
func credential(r *http.Request) (scheme, value string) {
	scheme, value, _ = strings.Cut(r.Header.Get("Authorization"), " ")
	return scheme, value
}

// deployments answers M1. An API key sent as Bearer is refused. The shape
// of the list is ours: the document does not show it.
func (s *Sim) deployments(w http.ResponseWriter, r *http.Request) {
	scheme, value := credential(r)
	fine := scheme == "Api-Key" && value == s.o.APIKey || scheme == "Bearer" && s.grantOfAccess(value) != nil
	if !fine {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	start := time.Date(2024, 3, 4, 9, 0, 0, 0, time.UTC)
	var list []map[string]any
	for i, name := range []string{"Headquarters", "Field sales", "Warehouse north", "Warehouse süd", "Training"} {
		list = append(list, map[string]any{
			"id": fmt.Sprintf("dep-%04d", 1001+i), "name": name, "region": []string{"eu-central", "us-east"}[i%2],
			"created_at": start.AddDate(0, i, 3*i).Format(time.RFC3339), "workbooks": 4 + 3*i, "active": i != 4,
		})
	}
	simkit.WriteJSON(w, http.StatusOK, list)
}

// resource answers GET /resource/me with either form of the token, and refuses
// both at once.
func (s *Sim) resource(w http.ResponseWriter, r *http.Request) {
	scheme, token := credential(r)
	inQuery := r.URL.Query().Get("access_token")
	switch {
	case token != "" && inQuery != "":
		refuse(w, http.StatusBadRequest, "invalid_request", "The token must be sent once.")
		return
	case inQuery != "":
		token = inQuery
	case scheme != "Bearer":
		token = ""
	}
	g := s.grantOfAccess(token)
	if g == nil {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		refuse(w, http.StatusUnauthorized, "invalid_token", "The access token is missing, expired or revoked.")
		return
	}
	simkit.WriteJSON(w, http.StatusOK, map[string]any{
		"sub": "u-100042", "name": "Ada Beispiel", "email": "ada@example.com", "scopes": g.scopes,
	})
}
