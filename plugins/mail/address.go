package mail

import (
	"encoding/json"
	"net/mail"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/flowrun/flowrun/plugins/internal/naming"
	"github.com/flowrun/flowrun/sdk"
)

// Bounds of an address, in bytes (RFC 5321, 4.5.3.1), and of a name before it.
const (
	mostLocal   = 64
	mostDomain  = 253
	mostName    = 320
	mostMailbox = 1000 // of an address with its name, as it is written
)

// mailbox is an address with the name of who has it.
type mailbox struct {
	name    string
	address string // its domain in ASCII and lower case
}

// header is the mailbox as the library writes it.
func (m mailbox) header() *mail.Address { return &mail.Address{Name: m.name, Address: m.address} }

// key is what two addresses of one mailbox have in common, for lists and to send once.
func (m mailbox) key() string { return strings.ToLower(m.address) }

// domain is the part of the address behind the @.
func (m mailbox) domain() string { return m.address[strings.LastIndexByte(m.address, '@')+1:] }

// beyondASCII reports whether a server must have SMTPUTF8 for the address.
func (m mailbox) beyondASCII() bool { return !isASCII(m.address) }

// readMailbox reads a mailbox of an input: a text, or an object with address and name. wrong
// says why it is none, "" where it is one.
func readMailbox(value sdk.Value) (m mailbox, wrong string) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return parseMailbox(text)
	}
	var object struct{ Address, Name string }
	if json.Unmarshal(value, &object) != nil {
		return mailbox{}, "is no address"
	}
	return named(object.Name, object.Address)
}

// parseMailbox reads "ann@example.com" or "Ann <ann@example.com>".
func parseMailbox(text string) (mailbox, string) {
	switch {
	case hasControl(text):
		return mailbox{}, "must not hold line breaks or control characters"
	case len(text) > mostMailbox:
		return mailbox{}, "is too long for an address"
	}
	if _, wrong := parseAddress(text); wrong == "" {
		return named("", text)
	}
	if !strings.HasSuffix(text, ">") {
		return named("", text)
	}
	parsed, err := mail.ParseAddress(text)
	if err != nil {
		return mailbox{}, "is no address, or several"
	}
	return named(parsed.Name, parsed.Address)
}

func named(name, address string) (mailbox, string) {
	switch {
	case hasControl(name):
		return mailbox{}, "the name must not hold line breaks or control characters"
	case len(name) > mostName:
		return mailbox{}, "the name is too long"
	}
	plain, wrong := parseAddress(address)
	return mailbox{name: strings.Join(strings.Fields(name), " "), address: plain}, wrong
}

// parseAddress checks an address without a name, and returns it as it is sent. Of what
// RFC 5321 allows, quoted local parts and literals of IP addresses are not taken: programs
// read them differently.
func parseAddress(text string) (address, wrong string) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return "", "is no address: it has no @"
	}
	local, domain := text[:at], text[at+1:]
	switch {
	case local == "" || len(local) > mostLocal || strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, ".."):
		return "", "is no address: what stands before the @ is empty, too long or has dots where none may be"
	case strings.ContainsFunc(local, func(r rune) bool { return !isLocal(r) }):
		return "", "is no address: there is a character before the @ that may not be there"
	}
	domain, ok := asciiDomain(domain)
	if !ok {
		return "", "is no address: what stands behind the @ is no name of a domain"
	}
	return local + "@" + domain, ""
}

// isLocal reports a character of a dot-atom (RFC 5322, 3.2.3), or a letter beyond ASCII
// (RFC 6532).
func isLocal(r rune) bool {
	switch {
	case r >= utf8.RuneSelf:
		return r != utf8.RuneError && unicode.IsPrint(r) && !unicode.IsSpace(r)
	case r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		return true
	}
	return strings.ContainsRune(".!#$%&'*+-/=?^_`{|}~", r)
}

var label = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$`)
})

// asciiDomain is the name of a domain in ASCII and lower case.
func asciiDomain(domain string) (string, bool) {
	if !isASCII(domain) {
		converted, err := idna.Lookup.ToASCII(domain)
		if err != nil {
			return "", false
		}
		domain = converted
	}
	domain = strings.ToLower(domain)
	if domain == "" || len(domain) > mostDomain {
		return "", false
	}
	for _, part := range strings.Split(domain, ".") {
		if !label().MatchString(part) {
			return "", false
		}
	}
	return domain, true
}

// isHelo reports a name to greet with: of a host, or an address in brackets.
func isHelo(text string) bool {
	inner, is := strings.CutPrefix(text, "[")
	if is {
		inner, is = strings.CutSuffix(inner, "]")
		return is && inner != "" && strings.Trim(inner, "0123456789abcdefABCDEF.:IPv") == ""
	}
	_, ok := asciiDomain(text)
	return ok && isASCII(text)
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// hasControl reports whether a text has line breaks or other control characters.
func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' })
}

// pattern is an entry of a list of addresses.
type pattern struct{ local, domain string }

// parsePattern reads an address in which * stands for anything within its side of the @.
func parsePattern(text string) (pattern, string) {
	at := strings.LastIndexByte(text, '@')
	if at <= 0 || at == len(text)-1 || hasControl(text) || strings.ContainsAny(text[:at], "@<> \"(),:;\\[]") {
		return pattern{}, "is no address, and no pattern of addresses"
	}
	domain, ok := asciiDomain(strings.ReplaceAll(text[at+1:], "*", "x"))
	if !ok {
		return pattern{}, "is no pattern: what stands behind the @ is no name of a domain"
	}
	if strings.Contains(text[at+1:], "*") {
		if !isASCII(text) {
			return pattern{}, "is no pattern: write a domain with * in ASCII, xn--…"
		}
		domain = strings.ToLower(text[at+1:])
	}
	return pattern{local: strings.ToLower(text[:at]), domain: domain}, ""
}

func (p pattern) takes(m mailbox) bool {
	at := strings.LastIndexByte(m.key(), '@')
	return naming.Matches(p.local, m.key()[:at]) && naming.Matches(p.domain, m.key()[at+1:])
}

// takes reports whether a list, which was checked, has an address.
func takes(patterns []string, m mailbox) bool {
	for _, text := range patterns {
		if p, wrong := parsePattern(text); wrong == "" && p.takes(m) {
			return true
		}
	}
	return false
}
