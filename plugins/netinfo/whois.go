package netinfo

import (
	"errors"
	"math"
	"strconv"
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
		domain := plainDomain(in.Domain)
		found, err := get(c, "/domain", nil, "whois", domain)
		if in.MissingOK && unregistered(err) {
			fields, _ := sdk.ReadMembers(missing)
			return fields.With("domain", sdk.Text(domain)).JSON(), nil
		}
		if err != nil {
			return nil, err
		}
		registered, err := record[registration](found, "domain")
		if err != nil {
			return nil, err
		}
		days, problemText := daysUntil(registered.ExpirationDate, now())
		if problemText != "" {
			c.Log().Warn(problemText, "domain", domain)
		}
		left := sdk.Value("null")
		if days != nil {
			left = strconv.AppendInt(nil, *days, 10)
		}
		fields, _ := sdk.ReadMembers(found.data)
		return fields.With("days_to_expiry", left).With("found", sdk.Value("true")).JSON(), nil
	}
}

// missing is the output for a name that the registry does not know.
var missing = sdk.Value(`{"domain":null,"registrar":null,"creation_date":null,"expiration_date":null,"last_updated":null,
	"name_servers":null,"status":null,"rdap_link":null,"days_to_expiry":null,"found":false}`)

// unregistered reports whether err is the service's own word that the name is
// not in the registry (I-18). A 404 of something else, such as a proxy or a wrong
// base_url, must not make a domain look lost.
func unregistered(err error) bool {
	var e *sdk.Error
	return errors.As(err, &e) && e.Code == sdk.CodeNotFound && errors.Is(err, errRefused)
}

// timestampLayouts are the forms of ISO 8601 that are read; one without an
// offset counts as UTC, which is our choice (I-17).
var timestampLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700"}

// daysUntil returns the whole days from now to the timestamp, rounded down: 0 is
// less than a day, -1 is past. A date without a time counts to its end, so that
// today is 0. It is nil without a timestamp, and says so when there is one that
// can't be read.
func daysUntil(timestamp *string, now time.Time) (*int64, string) {
	if timestamp == nil || *timestamp == "" {
		return nil, ""
	}
	at, ok := parseTimestamp(*timestamp)
	if day, err := time.Parse(time.DateOnly, *timestamp); err == nil {
		at, ok = day.AddDate(0, 0, 1).Add(-time.Second), true
	}
	if !ok {
		return nil, "expiration_date is no ISO 8601 timestamp, days_to_expiry stays empty"
	}
	days := int64(math.Floor(float64(at.Unix()-now.Unix()) / (24 * 60 * 60)))
	return &days, ""
}

// parseTimestamp reads a date with its time.
func parseTimestamp(text string) (time.Time, bool) {
	for _, layout := range timestampLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
