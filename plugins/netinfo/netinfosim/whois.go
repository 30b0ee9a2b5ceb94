package netinfosim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// lapsed are real-looking names that the simulated registry does not know;
// the shipped workflows use some of them.
var lapsed = []string{"harborlight-books.com", "old-mill-bakery.net", "quietriver-studio.org"}

// reserved are top-level names that no registry serves (RFC 2606, RFC 6761).
var reserved = []string{"example", "invalid", "local", "localhost", "test"}

var registrars = []string{
	"Cobalt Registrar LLC", "Northgate Domains, Inc.", "Sable & Finch Names Ltd.", "Meridian Registry Services GmbH",
	"Open Harbor Domains", "Tamarind Internet Pty Ltd", "Juniper Names Co., Ltd.",
}

var nameServers = []string{"ns%d.cobaltdns.net", "ns%d.openharbor-dns.org", "dns%d.meridian-zone.eu", "ns%d.sablefinch.com", "pdns%d.northgate.net"}

// registration is the data of /whois (I-17).
type registration struct {
	Domain         string   `json:"domain"`
	Registrar      string   `json:"registrar"`
	CreationDate   string   `json:"creation_date"`
	ExpirationDate string   `json:"expiration_date"`
	LastUpdated    string   `json:"last_updated"`
	NameServers    []string `json:"name_servers"`
	Status         []string `json:"status"`
	RDAPLink       string   `json:"rdap_link"`
}

// whois answers GET /api/v1/whois/{domain}. Every well-formed name is
// registered but these: a name whose first label begins with "unregistered-",
// a reserved top-level name, a name without a dot, and the lists.
func (s *Sim) whois(w http.ResponseWriter, r *http.Request) {
	name := strings.ToLower(strings.TrimSuffix(r.PathValue("domain"), "."))
	if !wellFormed(name) {
		fail(w, http.StatusBadRequest, "Please provide a valid domain name.")
		return
	}
	if !s.registered(name) {
		fail(w, http.StatusNotFound, fmt.Sprintf("Domain %s was not found in the RDAP registry.", name))
		return
	}
	succeed(w, register(name, s.now()))
}

func (s *Sim) registered(name string) bool {
	tld := name[strings.LastIndexByte(name, '.')+1:]
	return tld != name && !slices.Contains(reserved, tld) && !strings.HasPrefix(name, "unregistered-") &&
		!slices.Contains(s.unregistered, name)
}

// register makes the registration of name as it stands at the time now.
func register(name string, now time.Time) registration {
	rnd := simkit.SeedOf("whois " + name)
	created := time.Date(1994+rnd.Below(29), time.Month(1+rnd.Below(12)), 1+rnd.Below(28), rnd.Below(24), rnd.Below(60), rnd.Below(60), 0, time.UTC)
	expires := expiry(name, created, rnd, now.UTC())
	updated := expires.AddDate(-1, 0, -rnd.Below(20)-1)
	for updated.After(now) { // paid for several years ahead
		updated = updated.AddDate(-1, 0, 0)
	}
	if updated.Before(created) {
		updated = created
	}
	pattern := simkit.Pick(rnd, nameServers)
	out := registration{
		Domain: name, Registrar: simkit.Pick(rnd, registrars),
		CreationDate: stamp(created), ExpirationDate: stamp(expires), LastUpdated: stamp(updated),
		Status:   statuses(rnd, expires.Before(now)),
		RDAPLink: "https://rdap.registry.test/domain/" + name,
	}
	for i := range 2 + rnd.Below(3) {
		out.NameServers = append(out.NameServers, fmt.Sprintf(pattern, i+1))
	}
	return out
}

// expiry returns when the registration ends, so that the answer changes no more
// often than once a week:
//   - names that begin with "expired-" ended 5 to 24 days before the week's Monday,
//   - names that begin with "expiring-", and one in nine others, end 8 to 28 days
//     after that Monday, so within 1 to 28 days from now,
//   - all others end on an anniversary of the creation more than 40 days ahead.
func expiry(name string, created time.Time, rnd *simkit.Seed, now time.Time) time.Time {
	monday := now.Truncate(24*time.Hour).AddDate(0, 0, -(int(now.Weekday())+6)%7)
	clock := time.Duration(created.Hour())*time.Hour + time.Duration(created.Minute())*time.Minute
	lot := rnd.Below(9)
	days := rnd.Below(20)
	switch {
	case strings.HasPrefix(name, "expired-"):
		return monday.AddDate(0, 0, -5-days).Add(clock)
	case strings.HasPrefix(name, "expiring-") || lot == 0:
		return monday.AddDate(0, 0, 8+days).Add(clock)
	}
	end := created.AddDate(now.Year()-created.Year(), 0, 0)
	for end.Before(now.AddDate(0, 0, 40)) {
		end = end.AddDate(1, 0, 0)
	}
	return end.AddDate(rnd.Below(3), 0, 0)
}

func statuses(rnd *simkit.Seed, expired bool) []string {
	if expired {
		return []string{"auto renew period", "client hold"}
	}
	list := []string{"client transfer prohibited"}
	if rnd.Below(2) == 0 {
		list = append(list, "client update prohibited", "client delete prohibited")
	}
	return list
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
