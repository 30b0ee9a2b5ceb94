package netinfo

import (
	"github.com/flowrun/flowrun/sdk"
)

// LookupInput is the input of ip_lookup.
type LookupInput struct {
	Address string `json:"address" min:"1" doc:"IPv4 or IPv6 address, without zone, port or network length." example:"2001:db8::1"`
}

// place holds the JSON types that both records promise for a location (I-06).
type place struct {
	City        *string  `json:"city"`
	Region      *string  `json:"region"`
	Country     *string  `json:"country"`
	CountryName *string  `json:"country_name"`
	Continent   *string  `json:"continent"`
	Latitude    *float64 `json:"latitude"`
	Longitude   *float64 `json:"longitude"`
	Timezone    *string  `json:"timezone"`
	PostalCode  *string  `json:"postal_code"`
	IsEU        *bool    `json:"is_eu"`
}

// carrier holds the JSON types that both records promise for a network.
type carrier struct {
	ASN            *int64  `json:"asn"`
	ISP            *string `json:"isp"`
	Org            *string `json:"org"`
	ASName         *string `json:"as_name"`
	ConnectionType *string `json:"connection_type"`
	TLSVersion     *string `json:"tls_version"`
}

// addressRecord is what both address records have in common.
type addressRecord struct {
	IP       string  `json:"ip"`
	Location place   `json:"location"`
	Network  carrier `json:"network"`
}

// callerRecord is the record of /ip (I-05 to I-07).
type callerRecord struct {
	addressRecord
	Privacy struct {
		Type          *string  `json:"type"`
		Score         *float64 `json:"score"`
		Grade         *string  `json:"grade"`
		Label         *string  `json:"label"`
		IsVPN         *bool    `json:"is_vpn"`
		IsDatacenter  *bool    `json:"is_datacenter"`
		IsResidential *bool    `json:"is_residential"`
	} `json:"privacy"`
	IPv6 *bool `json:"ipv6"`
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

// lookupIP is action netinfo.ip_lookup.
func lookupIP(c *sdk.Call[Config], in LookupInput) (sdk.Value, error) {
	address, problem := checkAddress(in.Address)
	if problem != nil {
		return nil, sdk.Invalid(problem.Pointer, "%s", problem.Summary).WithHint("%s", problem.Detail)
	}
	found, err := get(c, "/address", nil, "ip", address)
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

func lookupProblems(in LookupInput, unknown []string) []sdk.Problem {
	if sdk.IsUnknown(unknown, "/address") {
		return nil
	}
	if _, p := checkAddress(in.Address); p != nil {
		return []sdk.Problem{*p}
	}
	return nil
}
