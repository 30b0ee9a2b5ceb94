package sdk

import (
	"net/netip"
	"net/url"
	"regexp"
	"sync"
	"time"
)

var (
	uuidGrammar = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	})
	durationGrammar = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:(?:[0-9]+(?:ms|s|m|h|d))+|P(?:[0-9]+W|(?:[0-9]+D)?(?:T(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?))$`)
	})
)

// formats are what texts of a format must be, in words for people. Formats that are
// not here are not checked.
var formats = map[string]struct {
	fits func(text string) bool
	must string
}{
	"date-time": {isTime(time.RFC3339Nano), "must be a time such as 2026-01-31T09:00:00Z"},
	"date":      {isTime(time.DateOnly), "must be a date such as 2026-01-31"},
	"duration":  {func(text string) bool { return durationGrammar().MatchString(text) && text != "P" }, "must be a duration such as 30s, 6h or PT20M"},
	"uri":       {isAbsoluteURL, "must be an absolute URL"},
	"url":       {isAbsoluteURL, "must be an absolute URL"},
	"ipv4":      {func(text string) bool { return addressOf(text).Is4() }, "must be an IPv4 address"},
	"ipv6":      {func(text string) bool { a := addressOf(text); return a.Is6() && a.Zone() == "" }, "must be an IPv6 address"},
	"uuid":      {func(text string) bool { return uuidGrammar().MatchString(text) }, "must be a UUID"},
}

// checkFormat returns what is wrong with a text of a format, or "".
func checkFormat(format, text string) string {
	if f, ok := formats[format]; ok && !f.fits(text) {
		return f.must
	}
	return ""
}

func isTime(layout string) func(text string) bool {
	return func(text string) bool {
		_, err := time.Parse(layout, text)
		return err == nil
	}
}

func isAbsoluteURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.IsAbs()
}

// addressOf reads an IP address; one that is none is neither of version 4 nor 6.
func addressOf(text string) netip.Addr {
	a, _ := netip.ParseAddr(text)
	return a
}
