package authsim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// userCount is how many users the SCIM API has; defaultCount are on a page that
// names no count. Both are ours.
const (
	userCount    = 120
	defaultCount = 50
)

var (
	givenNames  = []string{"Ada", "Béla", "Chinwe", "Dmitri", "Eun-ji", "Fatma", "Grace", "Hiro", "Inês", "José", "Kwame", "Łucja", "Mei", "Noor", "Oksana", "Priya"}
	familyNames = []string{"Abara", "Brandt", "Costa", "Dubois", "Eriksen", "Fujita", "García", "Horvat", "Ivanova", "Jansen", "Kowalska"}
)

type userName struct {
	Given  string `json:"givenName"`
	Family string `json:"familyName"`
}

type user struct {
	Schemas  []string          `json:"schemas"`
	ID       string            `json:"id"`
	UserName string            `json:"userName"`
	Name     userName          `json:"name"`
	Emails   []map[string]any  `json:"emails"`
	Active   bool              `json:"active"`
	Meta     map[string]string `json:"meta"`
}

// userAt returns the user of an index from 1.
func userAt(n int) user {
	given, family := givenNames[n%len(givenNames)], familyNames[n%len(familyNames)]
	login := fmt.Sprintf("user%03d@example.com", n)
	return user{
		Schemas: []string{"urn:ietf:params:scim:schemas:core:2.0:User"},
		ID:      fmt.Sprintf("%08x-5eed-4000-8000-%012d", 0x51c0ffee+n*7919, n), UserName: login,
		Name: userName{given, family}, Emails: []map[string]any{{"value": login, "primary": true}}, Active: n%9 != 0,
		Meta: map[string]string{
			"resourceType": "User",
			"lastModified": time.Date(2025, 1, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(n) * 31 * time.Hour).Format(time.RFC3339),
		},
	}
}

// users answers M2: both forms of the SCIM token, pages as in RFC
// 7644, which the document does not show.
func (s *Sim) users(w http.ResponseWriter, r *http.Request) {
	scheme, value := credential(r)
	if value != s.o.SCIMToken || scheme != "Bearer" && scheme != "Api-Key" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	count, okCount := number(r, "count", defaultCount)
	start, okStart := number(r, "startIndex", 1)
	if !okCount || !okStart {
		writeSCIM(w, http.StatusBadRequest, map[string]any{
			"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:Error"}, "status": "400", "detail": "count and startIndex are integers.",
		})
		return
	}
	count, start = min(max(count, 0), 100), max(start, 1)
	if s.o.Quirks.SCIMIgnoresStart {
		start = 1
	}
	list := []user{}
	for n := start; n < start+count && n <= userCount; n++ {
		list = append(list, userAt(n))
	}
	page := map[string]any{
		"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:ListResponse"}, "totalResults": userCount,
		"itemsPerPage": len(list), "startIndex": start, "Resources": list,
	}
	if s.o.Quirks.SCIMDropsIndex {
		delete(page, "startIndex")
	}
	writeSCIM(w, http.StatusOK, page)
}

func number(r *http.Request, name string, fallback int) (int, bool) {
	text := strings.TrimSpace(r.URL.Query().Get(name))
	if text == "" {
		return fallback, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func writeSCIM(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/scim+json")
	simkit.WriteJSON(w, status, body)
}
