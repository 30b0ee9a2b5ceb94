package netinfo

import (
	"encoding/json"
	"strings"
)

// The output schemas. The records are passed on as the service wrote them, so
// that fields it adds later are kept; leaves may be null or missing, since the
// service's document does not promise them for every address or name.

// myIPSchema is the record of /ip (I-05 to I-07): 22 fields. What an enumeration
// names is not enforced on answers, so there is no enum here.
func myIPSchema() json.RawMessage {
	return json.RawMessage(`{
	"type": "object",
	"properties": {
		"ip": {"type": "string", "description": "Public IPv4 or IPv6 address of the caller."},
		"location": {"type": "object", "properties": {
			"city": {"type": ["string", "null"], "description": "City."},
			"region": {"type": ["string", "null"], "description": "State or region."},
			"country": {"type": ["string", "null"], "description": "ISO 3166-1 alpha-2 code."},
			"continent": {"type": ["string", "null"], "description": "Continent code: NA, EU, AS and so on."},
			"latitude": {"type": ["number", "null"], "description": "Approximate latitude in degrees."},
			"longitude": {"type": ["number", "null"], "description": "Approximate longitude in degrees."},
			"timezone": {"type": ["string", "null"], "description": "IANA time zone."},
			"postal_code": {"type": ["string", "null"], "description": "Postal or ZIP code."},
			"is_eu": {"type": ["boolean", "null"], "description": "Whether the address is in an EU country."}
		}},
		"network": {"type": "object", "properties": {
			"asn": {"type": ["integer", "null"], "description": "Autonomous system number."},
			"isp": {"type": ["string", "null"], "description": "ISP or organization name."},
			"connection_type": {"type": ["string", "null"], "description": "Connection type."},
			"tls_version": {"type": ["string", "null"], "description": "TLS version."}
		}},
		"privacy": {"type": "object", "properties": {
			"type": {"type": ["string", "null"], "description": "residential, vpn or datacenter."},
			"score": {"type": ["number", "null"], "description": "Cleanliness, 0 to 100."},
			"grade": {"type": ["string", "null"], "description": "A, B, C or D."},
			"label": {"type": ["string", "null"], "description": "Text label."},
			"is_vpn": {"type": ["boolean", "null"], "description": "VPN provider detected."},
			"is_datacenter": {"type": ["boolean", "null"], "description": "Datacenter or hosting address detected."},
			"is_residential": {"type": ["boolean", "null"], "description": "Residential address."}
		}},
		"ipv6": {"type": ["boolean", "null"], "description": "Whether the address is IPv6."}
	},
	"required": ["ip", "location", "network", "privacy"]
}`)
}

// lookupSchema is the record of /ip/:address (I-08), another one than /ip's.
func lookupSchema() json.RawMessage {
	return json.RawMessage(`{
	"type": "object",
	"properties": {
		"ip": {"type": "string", "description": "The address that was looked up."},
		"location": {"type": "object", "properties": {
			"city": {"type": ["string", "null"], "description": "City."},
			"region": {"type": ["string", "null"], "description": "State or region."},
			"country": {"type": ["string", "null"], "description": "ISO 3166-1 alpha-2 code."},
			"country_name": {"type": ["string", "null"], "description": "Name of the country."},
			"latitude": {"type": ["number", "null"], "description": "Approximate latitude in degrees."},
			"longitude": {"type": ["number", "null"], "description": "Approximate longitude in degrees."},
			"timezone": {"type": ["string", "null"], "description": "IANA time zone."},
			"postal_code": {"type": ["string", "null"], "description": "Postal or ZIP code."}
		}},
		"network": {"type": "object", "properties": {
			"asn": {"type": ["integer", "null"], "description": "Autonomous system number."},
			"isp": {"type": ["string", "null"], "description": "ISP name."},
			"org": {"type": ["string", "null"], "description": "Organization name."},
			"as_name": {"type": ["string", "null"], "description": "Name of the autonomous system."}
		}}
	},
	"required": ["ip", "location", "network"]
}`)
}

// dnsSchema is the answer of /dns/:domain (I-13, I-14). The shape of authority
// is not shown.
func dnsSchema() json.RawMessage {
	return json.RawMessage(`{
	"type": "object",
	"properties": {
		"domain": {"type": "string", "description": "The name that was asked for."},
		"type": {"type": "string", "description": "The record type as text, as asked for."},
		"records": {"type": "array", "description": "The records; empty when there are none.", "items": {
			"type": "object",
			"properties": {
				"name": {"type": "string", "description": "Owner name."},
				"type": {"type": "integer", "description": "Record type as its number: 1 is A, 15 is MX."},
				"ttl": {"type": "integer", "description": "Time to live in seconds."},
				"data": {"type": "string", "description": "The record's data as text."}
			},
			"required": ["name", "type", "ttl", "data"]
		}},
		"authority": {"type": "array", "description": "As the service gives it; its shape is not documented.", "items": {}}
	},
	"required": ["domain", "type", "records", "authority"]
}`)
}

// headersSchema is the answer of /headers (I-16).
func headersSchema() json.RawMessage {
	return json.RawMessage(`{
	"type": "object",
	"properties": {
		"method": {"type": "string", "description": "HTTP method that the service saw."},
		"url": {"type": "string", "description": "URL that the service saw."},
		"headers": {"type": "object", "description": "Header names in lower case, with their values.", "additionalProperties": {"type": ["string", "null"]}},
		"ip": {"type": "string", "description": "Address that the request came from."}
	},
	"required": ["method", "url", "headers", "ip"]
}`)
}

// whoisSchema is the record of /whois/:domain (I-17) with two outputs of ours:
// days_to_expiry and found. With found false all but domain is null. The service's
// timestamps are declared as text, which any of its answers keeps to.
func whoisSchema() json.RawMessage { return registrationSchema("") }

// narrowWhois types the timestamps as times for workflows. An answer with another
// text is taken all the same, with a warning, since it keeps to what is declared.
func narrowWhois(WhoisInput, []string) json.RawMessage {
	return registrationSchema(`"format": "date-time", `)
}

// registrationSchema is the schema with what else is said of the timestamps.
func registrationSchema(times string) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(`{
	"type": "object",
	"properties": {
		"domain": {"type": "string", "description": "The name that was looked up."},
		"registrar": {"type": ["string", "null"], "description": "Registrar of the name."},
		"creation_date": {"type": ["string", "null"], TIMES"description": "ISO 8601 timestamp as the service wrote it."},
		"expiration_date": {"type": ["string", "null"], TIMES"description": "ISO 8601 timestamp as the service wrote it."},
		"last_updated": {"type": ["string", "null"], TIMES"description": "ISO 8601 timestamp as the service wrote it."},
		"name_servers": {"type": ["array", "null"], "items": {"type": "string"}, "description": "Name servers of the name."},
		"status": {"type": ["array", "null"], "items": {"type": "string"}, "description": "RDAP status words."},
		"rdap_link": {"type": ["string", "null"], "description": "URL of the RDAP record."},
		"days_to_expiry": {"type": ["integer", "null"], "description": "Whole days from now to expiration_date, negative when it is past; null when the date is missing or can't be read."},
		"found": {"type": "boolean", "description": "Whether the name is registered; false only with missing_ok."}
	},
	"required": ["domain", "found"]
}`, "TIMES", times))
}
