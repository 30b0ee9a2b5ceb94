package authsim

import (
	"maps"
	"net/http"

	"github.com/flowrun/flowrun/internal/simkit"
)

// openID answers the metadata request of OpenID Connect Discovery. Its address is
// not shown in the service's document.
func (s *Sim) openID(w http.ResponseWriter, r *http.Request) {
	if s.o.Quirks.DiscoveryIsMissing {
		simkit.WriteJSON(w, http.StatusNotFound, map[string]string{"error": "not_found"})
		return
	}
	s.metadata(w, r)
}

// metadata answers with the endpoints.
func (s *Sim) metadata(w http.ResponseWriter, r *http.Request) {
	at := root(r)
	document := map[string]any{
		"issuer":                        at,
		"device_authorization_endpoint": at + "/device/code",
		"token_endpoint":                at + "/token",
		"revocation_endpoint":           at + "/revoke",
		"grant_types_supported":         []string{deviceGrant, "refresh_token"},
	}
	maps.Copy(document, s.o.Metadata)
	simkit.WriteJSON(w, http.StatusOK, document)
}
