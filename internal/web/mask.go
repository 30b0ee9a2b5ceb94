package web

import (
	"regexp"
	"strings"
	"sync"
)

// secretKey matches the settings whose values are secrets.
var secretKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(token|secret|password|passwd|api_?key|webhook|headers\.)`)
})

// publicKey matches those of them that only look so: where a token comes from,
// goes to, or is put.
var publicKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|\.)(token_from(\.connection)?|(token|revocation|device_authorization)_endpoint|revoke_token_in|token_in)$`)
})

// SecretSetting reports whether the value of a setting is a secret in clear,
// which nobody is shown. Key is the setting's full name; a value that refers to
// a secret is none.
func SecretSetting(key, value string) bool {
	return secretKey().MatchString(key) && !publicKey().MatchString(key) && !strings.HasPrefix(value, "${{") && value != ""
}
