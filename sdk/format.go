package sdk

import (
	"net/netip"
	"net/url"
	"regexp"
	"time"
)

var (
	uuidGrammar     = regexp.MustCompile(`^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	durationGrammar = regexp.MustCompile(`^(?:(?:[0-9]+(?:ms|s|m|h|d))+|P(?:[0-9]+W|(?:[0-9]+D)?(?:T(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?))$`)
)

// checkFormat returns what is wrong with a text of a format, or "". Formats
// that are not known here are not checked.
func checkFormat(format, text string) string {
	switch format {
	case "date-time":
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			return "must be a time such as 2026-01-31T09:00:00Z"
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return "must be a date such as 2026-01-31"
		}
	case "duration":
		if !durationGrammar.MatchString(text) || text == "P" {
			return "must be a duration such as 30s, 6h or PT20M"
		}
	case "uri", "url":
		if u, err := url.Parse(text); err != nil || !u.IsAbs() {
			return "must be an absolute URL"
		}
	case "ipv4":
		if a, err := netip.ParseAddr(text); err != nil || !a.Is4() {
			return "must be an IPv4 address"
		}
	case "ipv6":
		if a, err := netip.ParseAddr(text); err != nil || !a.Is6() || a.Zone() != "" {
			return "must be an IPv6 address"
		}
	case "uuid":
		if !uuidGrammar.MatchString(text) {
			return "must be a UUID"
		}
	}
	return ""
}
