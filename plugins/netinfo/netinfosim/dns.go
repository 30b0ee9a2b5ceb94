package netinfosim

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/flowrun/flowrun/internal/simkit"
)

// dnsTypes maps the documented types (I-12) to the codes of records (I-14).
var dnsTypes = map[string]int{
	"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33, "CAA": 257,
}

// record is a DNS record (I-14): here the type is a number.
type record struct {
	Name string `json:"name"`
	Type int    `json:"type"`
	TTL  int    `json:"ttl"`
	Data string `json:"data"`
}

// dns answers GET /api/v1/dns/{domain}?type=T. A name without such a record gets
// an empty list and the zone's SOA as authority; both are choices of the
// simulator (I-13, I-15).
func (s *Sim) dns(w http.ResponseWriter, r *http.Request) {
	name := strings.ToLower(strings.TrimSuffix(r.PathValue("domain"), "."))
	kind := r.URL.Query().Get("type")
	if kind == "" {
		kind = "A"
	}
	if !wellFormed(name) {
		fail(w, http.StatusBadRequest, "Please provide a valid domain name.")
		return
	}
	if _, ok := dnsTypes[kind]; !ok {
		fail(w, http.StatusBadRequest, "Unsupported record type.")
		return
	}
	records, authority := s.zone(name, kind), []record{}
	if len(records) == 0 {
		authority = append(authority, soa(apex(name)))
	}
	succeed(w, map[string]any{"domain": name, "type": kind, "records": records, "authority": authority})
}

// zone returns the records of name, never nil.
func (s *Sim) zone(name, kind string) []record {
	rnd := simkit.SeedOf("dns " + kind + " " + name)
	add := func(data ...string) []record {
		ttl := []int{60, 300, 3600, 86400}[rnd.Below(4)]
		out := make([]record, 0, len(data))
		for _, d := range data {
			out = append(out, record{name, dnsTypes[kind], ttl, d})
		}
		return out
	}
	reverse := strings.HasSuffix(name, ".in-addr.arpa") || strings.HasSuffix(name, ".ip6.arpa")
	switch {
	case kind == "PTR" && reverse:
		return add(fmt.Sprintf("host-%d.copperline.net.", rnd.Below(9000)+1000))
	case reverse || kind == "PTR" || !s.registered(apex(name)):
		return add()
	case strings.HasPrefix(name, "_"):
		return add(service(name, kind)...)
	case strings.HasPrefix(name, "www.") && kind == "CNAME":
		return add(apex(name) + ".")
	case name != apex(name) && kind != "A" && kind != "AAAA":
		return add()
	}
	return add(ownRecords(name, kind, rnd)...)
}

// service returns the data of names such as _dmarc and _imaps._tcp.
func service(name, kind string) []string {
	switch {
	case kind == "TXT" && strings.HasPrefix(name, "_dmarc."):
		return []string{"v=DMARC1; p=quarantine; rua=mailto:dmarc@" + apex(name)}
	case kind == "SRV" && strings.Contains(name, "._tcp."):
		return []string{"10 5 993 imap." + apex(name) + "."}
	}
	return nil
}

// ownRecords returns the data of a domain's own records.
func ownRecords(name, kind string, rnd *simkit.Seed) []string {
	switch kind {
	case "A":
		out := []string{}
		for range 1 + rnd.Below(2) {
			out = append(out, fmt.Sprintf("198.51.100.%d", 1+rnd.Below(254)))
		}
		return out
	case "AAAA":
		return []string{fmt.Sprintf("2001:db8:%x::%x", rnd.Below(0xffff), 1+rnd.Below(0xfff))}
	case "MX":
		return []string{"10 mx1." + name + ".", "20 mx2." + name + "."}
	case "NS":
		pattern := simkit.Pick(rnd, nameServers)
		return []string{fmt.Sprintf(pattern, 1) + ".", fmt.Sprintf(pattern, 2) + "."}
	case "TXT":
		return []string{"v=spf1 include:_spf." + name + " ~all", fmt.Sprintf("site-verification=%08x", rnd.Below(1<<30))}
	case "CAA":
		return []string{`0 issue "letsencrypt.org"`}
	case "SOA":
		return []string{soa(name).Data}
	}
	return nil
}

func soa(zone string) record {
	rnd := simkit.SeedOf("soa " + zone)
	return record{zone, dnsTypes["SOA"], 1800, fmt.Sprintf("ns1.%s. hostmaster.%s. %d 7200 3600 1209600 300", zone, zone, 2024000000+rnd.Below(1000000))}
}

// apex returns the last two labels of name: the simulated registry sells
// nothing deeper.
func apex(name string) string {
	labels := strings.Split(name, ".")
	return strings.Join(labels[max(0, len(labels)-2):], ".")
}
