package sdk

import (
	"errors"
	"net/url"
	"strings"
)

// secretParams are names of query parameters whose values are never shown,
// compared in lower case without - and _.
var secretParams = []string{
	"token", "secret", "password", "passwd", "apikey", "key", "signature", "sig", "code", "auth", "credential", "session",
}

// redactURL writes a URL for messages: without user, fragment, and values of
// parameters that may be secret (N3 of section 0).
func redactURL(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if u.RawQuery == "" {
		return shown.String()
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return shown.String() + "?..."
	}
	for name, values := range query {
		if !isSecretParam(name) {
			continue
		}
		for i := range values {
			values[i] = maskText
		}
	}
	// the mask would be escaped, which is harder to read and says the same
	return shown.String() + "?" + strings.ReplaceAll(query.Encode(), url.QueryEscape(maskText), maskText)
}

func isSecretParam(name string) bool {
	name = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
	for _, word := range secretParams {
		if name == word || strings.HasSuffix(name, word) {
			return true
		}
	}
	return false
}

// stripURL takes the URL out of an error of net/http, which prints it whole.
func stripURL(err error) error {
	var withURL *url.Error
	for errors.As(err, &withURL) {
		err = withURL.Err
	}
	return err
}

// encodedForms returns a secret as URLs and JSON write it.
func encodedForms(secret string) []string {
	quoted := string(encoded(secret))
	return []string{url.QueryEscape(secret), url.PathEscape(secret), quoted[1 : len(quoted)-1]}
}
