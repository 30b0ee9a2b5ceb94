package netinfo

import (
	"net/url"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// DNSInput is the input of dns. The type has no default here: without one none
// is sent, and the service takes A (I-12).
type DNSInput struct {
	Domain string `json:"domain" min:"1" doc:"Name to resolve, in ASCII; underscores are allowed, as in _dmarc.example.com." example:"example.com"`
	Type   string `json:"type,omitempty" enum:"A,AAAA,CNAME,MX,NS,TXT,SOA,SRV,CAA,PTR,a,aaaa,cname,mx,ns,txt,soa,srv,caa,ptr" doc:"Record type, in capitals or small letters. Without it the service takes A." example:"MX"`
}

// dnsRecord is one record (I-14): here the type is a number.
type dnsRecord struct {
	Name string `json:"name" doc:"Owner name."`
	Type int64  `json:"type" doc:"Record type as its number: 1 is A, 15 is MX."`
	TTL  int64  `json:"ttl" doc:"Time to live in seconds."`
	Data string `json:"data" doc:"The record's data as text."`
}

// dnsAnswer is the data of /dns/:domain (I-13, I-14). The shape of authority is
// not shown.
type dnsAnswer struct {
	Domain    string      `json:"domain" doc:"The name that was asked for."`
	Type      string      `json:"type" doc:"The record type as text, as asked for."`
	Records   []dnsRecord `json:"records" doc:"The records; empty when there are none."`
	Authority []sdk.Value `json:"authority" doc:"As the service gives it; its shape is not documented."`
}

// resolve is action netinfo.dns. No records is a success with an empty list
// (I-15); a null or missing list counts as an empty one.
func resolve(c *sdk.Call[Config], in DNSInput) (sdk.Value, error) {
	query := url.Values{}
	if in.Type != "" {
		query.Set("type", strings.ToUpper(in.Type))
	}
	found, err := get(c, "/domain", query, "dns", plainDomain(in.Domain))
	if err != nil {
		return nil, err
	}
	if _, err := record[dnsAnswer](found, "domain", "type"); err != nil {
		return nil, err
	}
	fields, _ := sdk.ReadMembers(found.data)
	for _, list := range []string{"records", "authority"} {
		if sdk.IsNull(fields.Get(list)) {
			fields = fields.With(list, sdk.Value("[]"))
			found.data = fields.JSON()
		}
	}
	return found.data, nil
}
