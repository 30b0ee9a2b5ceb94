package netinfosim

import (
	"net/http"
	"net/netip"

	"github.com/flowrun/flowrun/internal/simkit"
)

// place is a row of the simulated geolocation table.
type place struct {
	city, region, country, countryName, continent, zone, postal string
	lat, lon                                                    float64
	eu                                                          bool
}

var places = []place{
	{"Berlin", "Berlin", "DE", "Germany", "EU", "Europe/Berlin", "10115", 52.5244, 13.4105, true},
	{"Lyon", "Auvergne-Rhône-Alpes", "FR", "France", "EU", "Europe/Paris", "69001", 45.7485, 4.8467, true},
	{"São Paulo", "São Paulo", "BR", "Brazil", "SA", "America/Sao_Paulo", "01000-000", -23.5475, -46.6361, false},
	{"Portland", "Oregon", "US", "United States", "NA", "America/Los_Angeles", "97201", 45.5234, -122.6762, false},
	{"Toronto", "Ontario", "CA", "Canada", "NA", "America/Toronto", "M5A", 43.7064, -79.3986, false},
	{"Osaka", "Ōsaka", "JP", "Japan", "AS", "Asia/Tokyo", "530-0001", 34.6937, 135.5022, false},
	{"Nairobi", "Nairobi", "KE", "Kenya", "AF", "Africa/Nairobi", "00100", -1.2833, 36.8167, false},
	{"Wellington", "Wellington", "NZ", "New Zealand", "OC", "Pacific/Auckland", "6011", -41.2866, 174.7756, false},
	{"Gdańsk", "Pomerania", "PL", "Poland", "EU", "Europe/Warsaw", "80-001", 54.3523, 18.6491, true},
	{"成都", "四川", "CN", "China", "AS", "Asia/Shanghai", "610000", 30.6667, 104.0667, false},
}

// carrier is a row of the simulated table of networks. One number is above
// 2^31, since autonomous system numbers have 32 bits.
type carrier struct {
	asn              int64
	isp, org, asName string
	kind             string // privacy.type
}

var carriers = []carrier{
	{64496, "Lakeside Fibre", "Lakeside Fibre Residential", "LAKESIDE-FIBRE", "residential"},
	{64499, "Copperline Telecom", "Copperline Telecom AG", "COPPERLINE", "residential"},
	{64511, "Granite Hosting", "Granite Hosting BV", "GRANITE-DC", "datacenter"},
	{65551, "Veiled Networks", "Veiled Networks Ltd", "VEILED-VPN", "vpn"},
	{4200000017, "Harbor Mobile", "Harbor Mobile plc", "HARBOR-MOBILE", "residential"},
}

type location struct {
	City       string  `json:"city"`
	Region     string  `json:"region"`
	Country    string  `json:"country"`
	Continent  string  `json:"continent"`
	Latitude   float64 `json:"latitude"`
	Longitude  float64 `json:"longitude"`
	Timezone   string  `json:"timezone"`
	PostalCode string  `json:"postal_code"`
	IsEU       bool    `json:"is_eu"`
}

type network struct {
	ASN            int64  `json:"asn"`
	ISP            string `json:"isp"`
	ConnectionType string `json:"connection_type"`
	TLSVersion     string `json:"tls_version"`
}

type privacy struct {
	Type          string `json:"type"`
	Score         int    `json:"score"`
	Grade         string `json:"grade"`
	Label         string `json:"label"`
	IsVPN         bool   `json:"is_vpn"`
	IsDatacenter  bool   `json:"is_datacenter"`
	IsResidential bool   `json:"is_residential"`
}

// myIP answers GET /api/v1/ip (I-05 to I-07). A caller on a private or loopback
// address, which is every caller of a sandbox, is shown a documentation address.
func (s *Sim) myIP(w http.ResponseWriter, r *http.Request) {
	addr := s.caller(r)
	rnd := simkit.SeedOf("ip " + addr.String())
	p, c := simkit.Pick(rnd, places), simkit.Pick(rnd, carriers)
	succeed(w, struct {
		IP       string   `json:"ip"`
		Location location `json:"location"`
		Network  network  `json:"network"`
		Privacy  privacy  `json:"privacy"`
		IPv6     bool     `json:"ipv6"`
	}{
		IP: addr.String(), IPv6: addr.Is6(),
		Location: location{p.city, p.region, p.country, p.continent, p.lat, p.lon, p.zone, p.postal, p.eu},
		Network:  network{c.asn, c.isp, connectionType(c.kind), "TLSv1.3"},
		Privacy:  privacyOf(c.kind, rnd),
	})
}

func connectionType(kind string) string {
	if kind == "residential" {
		return "broadband"
	}
	return "hosting"
}

func (s *Sim) caller(r *http.Request) netip.Addr {
	addr, err := netip.ParseAddr(simkit.Client(r))
	if err != nil || addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() {
		return netip.MustParseAddr("203.0.113.42")
	}
	return addr.Unmap()
}

func privacyOf(kind string, rnd *simkit.Seed) privacy {
	p := privacy{Type: kind, IsVPN: kind == "vpn", IsDatacenter: kind == "datacenter", IsResidential: kind == "residential"}
	switch kind {
	case "residential":
		p.Score, p.Grade, p.Label = 85+rnd.Below(16), "A", "Clean"
	case "datacenter":
		p.Score, p.Grade, p.Label = 45+rnd.Below(15), "C", "Hosting"
	default:
		p.Score, p.Grade, p.Label = 10+rnd.Below(25), "D", "Anonymized"
	}
	return p
}

// lookupIP answers GET /api/v1/ip/{address}: another record than the caller's
// own (I-08), and the one documented 400 (I-10).
func (s *Sim) lookupIP(w http.ResponseWriter, r *http.Request) {
	addr, err := netip.ParseAddr(r.PathValue("address"))
	if err != nil || addr.Zone() != "" {
		fail(w, http.StatusBadRequest, "Please provide a valid IPv4 or IPv6 address.")
		return
	}
	rnd := simkit.SeedOf("ip " + addr.String())
	p, c := simkit.Pick(rnd, places), simkit.Pick(rnd, carriers)
	succeed(w, map[string]any{
		"ip": addr.String(),
		"location": map[string]any{
			"city": p.city, "region": p.region, "country": p.country, "country_name": p.countryName,
			"latitude": p.lat, "longitude": p.lon, "timezone": p.zone, "postal_code": p.postal,
		},
		"network": map[string]any{"asn": c.asn, "isp": c.isp, "org": c.org, "as_name": c.asName},
	})
}
