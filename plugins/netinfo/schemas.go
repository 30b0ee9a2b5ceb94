package netinfo

import (
	"encoding/json"
	"strings"
)

// The output schemas that no type says: that of headers, whose values may come as
// lists, and that of whois, which a workflow narrows.

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
func whoisSchema() json.RawMessage { return registrationSchema("", "") }

// narrowWhois types the timestamps as times for workflows: what to expect, since a
// registry may write another text (I-17). A step takes that with a warning, and an
// expression that needs the time fails.
func narrowWhois(WhoisInput, []string) json.RawMessage {
	return registrationSchema(`"format": "date-time", `, `"x-flowrun-expected": true, `)
}

// registrationSchema is the schema with what else is said of the timestamps and of the
// whole.
func registrationSchema(times, whole string) json.RawMessage {
	return json.RawMessage(strings.NewReplacer("TIMES", times, "WHOLE", whole).Replace(`{
	WHOLE"type": "object",
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
}`))
}
