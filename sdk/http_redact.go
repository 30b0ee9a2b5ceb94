package sdk

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"html"
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

// encodedForms returns a secret as URLs, JSON, pages, hex and base64 write it.
func encodedForms(secret string) []string {
	quoted := string(encoded(secret))
	escaped := html.EscapeString(secret)
	forms := []string{
		url.QueryEscape(secret), url.PathEscape(secret), quoted[1 : len(quoted)-1], hex.EncodeToString([]byte(secret)),
		escaped, strings.ReplaceAll(escaped, "+", "&#43;"), // as pages write them
	}
	for shift := range 3 {
		forms = append(forms, base64Forms(secret, shift)...)
	}
	return forms
}

// base64Forms returns the signs that a secret has in base64 when it begins at
// shift bytes after a group of three, without those that it shares with its
// neighbours. Too short ones would mask ordinary text.
func base64Forms(secret string, shift int) []string {
	var forms []string
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		text := alphabet.EncodeToString(append(make([]byte, shift), secret...))
		first, last := (shift*8+5)/6, (shift+len(secret))*8/6
		if text = text[first:last]; len(text) >= minMasked {
			forms = append(forms, text)
		}
	}
	return forms
}
