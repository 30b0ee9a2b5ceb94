package auth

import (
	"regexp"
	"strings"
	"sync"
)

// plainHost matches a verification URL that is written without its scheme.
var plainHost = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?(/[!-~]*)?$`) })

// deviceProblem says why an answer is no device authorization, or "". A code that
// people cannot type or an address that is none must not be shown to anybody.
func (a oauthAnswer) deviceProblem() string {
	switch {
	case a.DeviceCode == "":
		return "it has no `device_code`"
	case a.UserCode == "":
		return "it has no `user_code`"
	case !isPrintable(a.UserCode):
		return "its `user_code` is not printable ASCII"
	case a.VerificationURL == "":
		return "it has no `verification_url`"
	case !isWebAddress(a.VerificationURL):
		return "its `verification_url` is no web address"
	}
	return ""
}

// isPrintable reports whether text is printable US-ASCII.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// isWebAddress reports whether text is an address with http, https or no scheme.
func isWebAddress(text string) bool {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return plainHost().MatchString(text)
	}
	scheme = strings.ToLower(scheme)
	return (scheme == "http" || scheme == "https") && rest != "" && isPrintable(rest) && !strings.ContainsAny(rest, " \"<>\\")
}

// withoutScheme is the address as it may be displayed.
func withoutScheme(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		return rest
	}
	return address
}
