package netinfo

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// WhoisInput is the input of whois.
type WhoisInput struct {
	Domain    string `json:"domain" min:"1" doc:"Registered domain name, in ASCII." example:"example.com"`
	MissingOK bool   `json:"missing_ok" default:"false" doc:"A name that the registry does not know is an answer with found false instead of the error not_found."`
}

// registration is the data of /whois/:domain (I-17).
type registration struct {
	Domain         string   `json:"domain"`
	Registrar      *string  `json:"registrar"`
	CreationDate   *string  `json:"creation_date"`
	ExpirationDate *string  `json:"expiration_date"`
	LastUpdated    *string  `json:"last_updated"`
	NameServers    []string `json:"name_servers"`
	Status         []string `json:"status"`
	RDAPLink       *string  `json:"rdap_link"`
}

// whois returns action netinfo.whois. now is read after the answer has come.
func whois(now func() time.Time) func(*sdk.Call[Config], WhoisInput) (sdk.Value, error) {
	return func(c *sdk.Call[Config], in WhoisInput) (sdk.Value, error) {
		domain, problem := checkDomain(in.Domain)
		if problem != nil {
			return nil, sdk.Invalid(problem.Pointer, "%s", problem.Summary).WithHint("%s", problem.Detail)
		}
		found, err := get(c, "/domain", nil, "whois", domain)
		if in.MissingOK && unregistered(err) {
			return withFields(missing, map[string]any{"domain": domain})
		}
		if err != nil {
			return nil, err
		}
		record, err := decodeRecord[registration](found, "domain")
		if err != nil {
			return nil, err
		}
		days, problemText := daysUntil(record.ExpirationDate, now())
		if problemText != "" {
			c.Log().Warn(problemText, "domain", domain)
		}
		return withFields(found.data, map[string]any{"days_to_expiry": days, "found": true})
	}
}

// missing is the output for a name that the registry does not know.
var missing = json.RawMessage(`{"creation_date":null,"days_to_expiry":null,"expiration_date":null,"found":false,"last_updated":null,
	"name_servers":null,"rdap_link":null,"registrar":null,"status":null}`)

// unregistered reports whether err is the service's own word that the name is
// not in the registry (I-18). A 404 of something else, such as a proxy or a wrong
// base_url, must not make a domain look lost.
func unregistered(err error) bool {
	var e *sdk.Error
	return errors.As(err, &e) && e.Code == sdk.CodeNotFound && errors.Is(err, errRefused)
}

// timestampLayouts are the forms of ISO 8601 that are read; one without an
// offset counts as UTC, which is our choice (I-17).
var timestampLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700", time.DateOnly}

// daysUntil returns the whole days from now to the timestamp, rounded down: 0 is
// less than a day, -1 is past. It is nil without a timestamp, and says so when
// there is one that can't be read.
func daysUntil(timestamp *string, now time.Time) (*int64, string) {
	if timestamp == nil || *timestamp == "" {
		return nil, ""
	}
	for _, layout := range timestampLayouts {
		at, err := time.Parse(layout, *timestamp)
		if err != nil {
			continue
		}
		days := int64(math.Floor(float64(at.Unix()-now.Unix()) / (24 * 60 * 60)))
		return &days, ""
	}
	return nil, "expiration_date is no ISO 8601 timestamp, days_to_expiry stays empty"
}

func whoisProblems(in WhoisInput, unknown []string) []sdk.Problem {
	return domainProblems(in.Domain, unknown)
}

// withFields returns the object data with some fields set. The values of all
// others stay byte for byte.
func withFields(data json.RawMessage, fields map[string]any) (sdk.Value, error) {
	if len(fields) == 0 {
		return data, nil
	}
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, sdk.UnexpectedResponse("the record is no object")
	}
	for name, value := range fields {
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		object[name] = encoded
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(object); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}
