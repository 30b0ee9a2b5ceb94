package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// forms returns all texts by which a secret may show up.
func forms(value string) []string {
	parts := []string{value}
	if trimmed := strings.TrimSpace(value); trimmed != value {
		parts = append(parts, trimmed)
	}
	if strings.ContainsAny(value, "\r\n") {
		for line := range strings.Lines(value) {
			parts = append(parts, strings.TrimSpace(line))
		}
	}
	var all []string
	for _, part := range parts {
		if len(part) < MinRedacted {
			continue
		}
		for _, form := range encodings(part) {
			if len(form) >= MinRedacted {
				all = append(all, form)
			}
		}
	}
	return all
}

func encodings(part string) []string {
	all := []string{part}
	all = append(all, base64Forms(part)...)
	for _, escaped := range []string{url.QueryEscape(part), url.PathEscape(part)} {
		all = append(all, escaped, lowerEscapes(escaped))
	}
	digits := hex.EncodeToString([]byte(part))
	all = append(all, digits, strings.ToUpper(digits))
	return append(all, jsonForms(part)...)
}

// base64Forms returns the middle of the text in base64 for the three places at
// which it may begin in a longer text: the characters that depend on it alone.
func base64Forms(part string) []string {
	var all []string
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before, skip := range []int{0, 2, 3} {
			encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + part))
			end := (before + len(part)) * 8 / 6
			if skip < end {
				all = append(all, encoded[skip:end])
			}
		}
	}
	return all
}

// jsonForms returns the text inside a JSON string: as encoding/json writes it,
// with and without its HTML escapes, and with "\/" as others do.
func jsonForms(part string) []string {
	html, err := json.Marshal(part)
	if err != nil {
		return nil
	}
	var plain strings.Builder
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(part); err != nil {
		return nil
	}
	var all []string
	for _, quoted := range []string{string(html), strings.TrimSuffix(plain.String(), "\n")} {
		inner := quoted[1 : len(quoted)-1]
		all = append(all, inner, strings.ReplaceAll(inner, "/", `\/`), asciiForm(inner))
	}
	return all
}

// asciiForm is what stands inside a JSON string of writers that keep to ASCII.
func asciiForm(inner string) string {
	var form strings.Builder
	for _, r := range inner {
		switch {
		case r < utf8.RuneSelf:
			form.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&form, `\u%04x`, r)
		default:
			first, second := utf16.EncodeRune(r)
			fmt.Fprintf(&form, `\u%04x\u%04x`, first, second)
		}
	}
	return form.String()
}

func lowerEscapes(text string) string {
	return regexp.MustCompile(`%[0-9A-F]{2}`).ReplaceAllStringFunc(text, strings.ToLower)
}
