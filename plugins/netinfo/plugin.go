// Package netinfo is the plugin of the IP-information service: IP geolocation,
// DNS records, the caller's own request headers, and domain registrations.
//
// Row ids (I-01 ...) are those of the requirements, see docs/services/coverage.md.
// What the service's document leaves open and is decided here is listed in
// docs/services/netinfo.md.
package netinfo

import (
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// limiter is the name of the service's one limit.
const limiter = "requests"

// Config is a connection's settings. The service knows no credential, so there
// is no setting for one (I-02).
type Config struct {
	sdk.HTTPSettings
}

// Options are what the plugin takes from outside.
type Options struct {
	Now func() time.Time // clock for days_to_expiry
}

// New returns the plugin with the real clock.
func New() *sdk.Plugin { return NewWith(Options{Now: time.Now}) }

// NewWith returns the plugin with what a test passes in.
func NewWith(o Options) *sdk.Plugin {
	return sdk.New("netinfo", Version, "IP geolocation, DNS, request headers and domain registrations of the IP-information service.",
		sdk.PathPrefix("/api/v1"),
		sdk.CheckConnection(checkConnection),
		// I-19: the window is fixed, bursts inside it are allowed, and it counts per
		// IP address of the caller, which is one bucket for each base_url.
		sdk.Limit(limiter, 60, time.Minute, sdk.FixedWindow(), sdk.Scope("base_url")),
		sdk.Read("my_ip", "Address, location, network and privacy of the caller itself.", myIP,
			options(sdk.OutputOf[callerRecord](), sdk.Example("the address flowrun calls from", sdk.NoInput{}, sdk.Value(callerOutput)))...),
		sdk.Read("ip_lookup", "Location and network of any IPv4 or IPv6 address.", lookupIP,
			options(sdk.OutputOf[addressRecord](), sdk.ValidateField("/address", func(in LookupInput) []sdk.Problem { return addressProblems(in.Address) }),
				sdk.Fault(sdk.CodeInvalid, "", "The address is malformed; found before anything is sent, or said by the service (400)."),
				sdk.Example("an IPv4 address", map[string]any{"address": "192.0.2.1"}, sdk.Value(lookupOutput)),
				sdk.Example("an IPv6 address", map[string]any{"address": "2001:db8::1"}, sdk.Value(lookup6Output)))...),
		sdk.Read("dns", "DNS records of one type. A name without such records gives an empty list.", resolve,
			options(sdk.OutputOf[dnsAnswer](), sdk.ValidateField("/domain", func(in DNSInput) []sdk.Problem { return domainProblems(in.Domain) }),
				sdk.Fault(sdk.CodeInvalid, "", "The name or the type is malformed; found before anything is sent."),
				sdk.Example("addresses", map[string]any{"domain": "example.com"}, sdk.Value(addressesOutput)),
				sdk.Example("mail servers", map[string]any{"domain": "example.com", "type": "MX"}, sdk.Value(mailOutput)))...),
		sdk.Read("headers", "The request as the service saw it: method, URL, headers with names in lower case, address.", headers,
			options(sdk.Output(headersSchema()), sdk.Example("what a call sends", sdk.NoInput{}, sdk.Value(headersOutput)))...),
		sdk.Read("whois", "Registration of a domain, through RDAP, with the days that are left.", whois(o.Now),
			options(sdk.Output(whoisSchema()), sdk.ValidateField("/domain", func(in WhoisInput) []sdk.Problem { return domainProblems(in.Domain) }), sdk.NarrowWith(narrowWhois),
				sdk.Fault(sdk.CodeInvalid, "", "The name is malformed; found before anything is sent."),
				sdk.Fault(sdk.CodeNotFound, "", "The registry does not know the name (404); with missing_ok this is an answer with found false."),
				sdk.Example("a registration", map[string]any{"domain": "example.com"}, sdk.Value(registrationOutput)),
				sdk.Example("a name that may be lost", map[string]any{"domain": "example.com", "missing_ok": true}, sdk.Value(lostOutput)))...),
	)
}

// options adds to an action's options what all of them have.
func options(own ...sdk.ActionOption) []sdk.ActionOption {
	return append(own,
		sdk.Limits(limiter),
		sdk.Timeout(30*time.Second),
		sdk.Fault(sdk.CodeRateLimited, "", "More than 60 requests a minute from this address (429); Retry-After says how long."),
		sdk.Fault(sdk.CodeUnavailable, "", "No connection, or the service failed (5xx)."),
		sdk.Fault(sdk.CodeUnexpectedResponse, "", "The answer is no JSON, cut short or of another shape."),
	)
}

// checkConnection asks for the caller's own address and shows it as the account:
// the service counts its limit by it.
func checkConnection(c *sdk.Call[Config]) (string, error) {
	found, err := get(c, "", nil, "ip")
	if err != nil {
		return "", err
	}
	caller, err := record[callerRecord](found, "ip")
	return caller.IP, err
}
