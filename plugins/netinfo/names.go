package netinfo

import (
	"net/netip"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// Limits of a domain name (RFC 1035), as I-11 asks for them.
const (
	maxName  = 253
	maxLabel = 63
)

// plainDomain returns a name as it is sent: without the trailing dot (I-11).
func plainDomain(name string) string { return strings.TrimSuffix(name, ".") }

// domainProblems says what is wrong with a domain name.
func domainProblems(name string) []sdk.Problem {
	refuse := func(hint, format string, args ...any) []sdk.Problem {
		return []sdk.Problem{sdk.Problemf("/domain", format, args...).WithDetail("%s", hint)}
	}
	const hint = "give a domain name such as example.com"
	trimmed := plainDomain(name)
	switch {
	case name == "":
		return refuse(hint, "must not be empty")
	case trimmed == "" || trimmed == ".":
		return refuse(hint, "%q is no domain name", name)
	case strings.Contains(name, "://"):
		return refuse("give the name alone, without https:// and path", "is a URL, not a domain name")
	}
	if i := strings.IndexAny(name, "/?#: \t\r\n"); i >= 0 {
		return refuse("give the name alone, without path, port or space", "%q may not stand in a domain name", name[i:i+1])
	}
	for _, r := range name {
		if r > '~' {
			return refuse("write an international name in its ASCII form, which begins with xn--", "%q is not ASCII", r)
		}
		if r < ' ' {
			return refuse(hint, "has a control character")
		}
	}
	if len(trimmed) > maxName {
		return refuse(hint, "has %d characters, at most %d are allowed", len(trimmed), maxName)
	}
	for label := range strings.SplitSeq(trimmed, ".") {
		if label == "" {
			return refuse(hint, "has an empty part between two dots")
		}
		if len(label) > maxLabel {
			return refuse(hint, "has a part of %d characters, at most %d are allowed", len(label), maxLabel)
		}
	}
	return nil
}

// addressProblems says what is wrong with an address. The message asks for the
// same as the service does (I-10).
func addressProblems(text string) []sdk.Problem {
	refuse := func(format string, args ...any) []sdk.Problem {
		return []sdk.Problem{sdk.Problemf("/address", "must be a valid IPv4 or IPv6 address").WithDetail(format, args...)}
	}
	addr, err := netip.ParseAddr(text)
	switch {
	case err == nil && addr.Zone() != "":
		return refuse("leave out the zone %q: it means something on one machine only", "%"+addr.Zone())
	case err == nil:
		return nil
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		return refuse("give one address, not a network: without the / and what follows")
	}
	if _, err := netip.ParseAddrPort(text); err == nil {
		return refuse("leave out the port")
	}
	return refuse("such as 192.0.2.1 or 2001:db8::1")
}
