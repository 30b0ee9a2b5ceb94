package netinfo

import (
	"net/netip"

	"github.com/flowrun/flowrun/sdk"
)

// The records are passed on as the service wrote them, so that fields it adds
// later are kept; leaves may be null or missing, since the service's document does
// not promise them for every address. What an enumeration names is not enforced
// on answers, so there is no enum here.

// callerRecord is the record of /ip (I-05 to I-07): 22 fields.
type callerRecord struct {
	IP       string `json:"ip" doc:"Public IPv4 or IPv6 address of the caller."`
	Location struct {
		City       *string  `json:"city,omitempty" doc:"City."`
		Region     *string  `json:"region,omitempty" doc:"State or region."`
		Country    *string  `json:"country,omitempty" doc:"ISO 3166-1 alpha-2 code."`
		Continent  *string  `json:"continent,omitempty" doc:"Continent code: NA, EU, AS and so on."`
		Latitude   *float64 `json:"latitude,omitempty" doc:"Approximate latitude in degrees."`
		Longitude  *float64 `json:"longitude,omitempty" doc:"Approximate longitude in degrees."`
		Timezone   *string  `json:"timezone,omitempty" doc:"IANA time zone."`
		PostalCode *string  `json:"postal_code,omitempty" doc:"Postal or ZIP code."`
		IsEU       *bool    `json:"is_eu,omitempty" doc:"Whether the address is in an EU country."`
	} `json:"location"`
	Network struct {
		ASN            *int64  `json:"asn,omitempty" doc:"Autonomous system number."`
		ISP            *string `json:"isp,omitempty" doc:"ISP or organization name."`
		ConnectionType *string `json:"connection_type,omitempty" doc:"Connection type."`
		TLSVersion     *string `json:"tls_version,omitempty" doc:"TLS version."`
	} `json:"network"`
	Privacy struct {
		Type          *string  `json:"type,omitempty" doc:"residential, vpn or datacenter."`
		Score         *float64 `json:"score,omitempty" doc:"Cleanliness, 0 to 100."`
		Grade         *string  `json:"grade,omitempty" doc:"A, B, C or D."`
		Label         *string  `json:"label,omitempty" doc:"Text label."`
		IsVPN         *bool    `json:"is_vpn,omitempty" doc:"VPN provider detected."`
		IsDatacenter  *bool    `json:"is_datacenter,omitempty" doc:"Datacenter or hosting address detected."`
		IsResidential *bool    `json:"is_residential,omitempty" doc:"Residential address."`
	} `json:"privacy"`
	IPv6 *bool `json:"ipv6,omitempty" doc:"Whether the address is IPv6."`
}

// LookupInput is the input of ip_lookup.
type LookupInput struct {
	Address string `json:"address" min:"1" doc:"IPv4 or IPv6 address, without zone, port or network length." example:"2001:db8::1"`
}

// addressRecord is the record of /ip/:address (I-08), another one than /ip's.
type addressRecord struct {
	IP       string `json:"ip" doc:"The address that was looked up."`
	Location struct {
		City        *string  `json:"city,omitempty" doc:"City."`
		Region      *string  `json:"region,omitempty" doc:"State or region."`
		Country     *string  `json:"country,omitempty" doc:"ISO 3166-1 alpha-2 code."`
		CountryName *string  `json:"country_name,omitempty" doc:"Name of the country."`
		Latitude    *float64 `json:"latitude,omitempty" doc:"Approximate latitude in degrees."`
		Longitude   *float64 `json:"longitude,omitempty" doc:"Approximate longitude in degrees."`
		Timezone    *string  `json:"timezone,omitempty" doc:"IANA time zone."`
		PostalCode  *string  `json:"postal_code,omitempty" doc:"Postal or ZIP code."`
	} `json:"location"`
	Network struct {
		ASN    *int64  `json:"asn,omitempty" doc:"Autonomous system number."`
		ISP    *string `json:"isp,omitempty" doc:"ISP name."`
		Org    *string `json:"org,omitempty" doc:"Organization name."`
		ASName *string `json:"as_name,omitempty" doc:"Name of the autonomous system."`
	} `json:"network"`
}

// myIP is action netinfo.my_ip: the record as the service wrote it.
func myIP(c *sdk.Call[Config], _ sdk.NoInput) (sdk.Value, error) {
	found, err := get(c, "", nil, "ip")
	if err != nil {
		return nil, err
	}
	if _, err := record[callerRecord](found, "ip"); err != nil {
		return nil, err
	}
	return withParts(found, "location", "network", "privacy")
}

// lookupIP is action netinfo.ip_lookup. The address is sent in its canonical form
// (I-09).
func lookupIP(c *sdk.Call[Config], in LookupInput) (sdk.Value, error) {
	address, err := netip.ParseAddr(in.Address)
	if err != nil {
		return nil, err
	}
	found, err := get(c, "/address", nil, "ip", address.String())
	if err != nil {
		return nil, err
	}
	if _, err := record[addressRecord](found, "ip"); err != nil {
		return nil, err
	}
	return withParts(found, "location", "network")
}

// withParts returns a record whose parts are there. One that is null, as for an
// address of which nothing is known, is an empty object (I-05): its fields read
// as null then, as they do where single ones are.
func withParts(found reply, parts ...string) (sdk.Value, error) {
	fields, _ := sdk.ReadMembers(found.data)
	for _, part := range parts {
		switch value := fields.Get(part); {
		case value == nil:
			return nil, found.response.Fail(sdk.CodeUnexpectedResponse, "the record has no `%s`", part)
		case sdk.IsNull(value):
			fields = fields.With(part, sdk.Value("{}"))
			found.data = fields.JSON()
		}
	}
	return found.data, nil
}
