//go:build linux

package canary

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// haystack is all that flowrun kept and showed, by where. Safe for concurrent use.
type haystack struct {
	mu    sync.Mutex
	parts map[string][]byte
}

func (h *haystack) add(where string, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parts[where] = append(append(h.parts[where], data...), '\n')
}

func (h *haystack) sizes() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	total := 0
	for _, data := range h.parts {
		total += len(data)
	}
	return fmt.Sprintf("%d KiB of %d kinds", total>>10, len(h.parts))
}

// needles are the forms of the canary by name, and its halves.
func needles() map[string]string {
	forms := map[string]string{
		"plain": canary, "half": canary[:12], "the other half": canary[16:],
		"hex": hex.EncodeToString([]byte(canary)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(canary))),
		"percent": url.QueryEscape(canary), "path": url.PathEscape(canary), "HTML": html.EscapeString(canary),
	}
	quoted, _ := json.Marshal(canary)
	forms["JSON"] = string(quoted[1 : len(quoted)-1])
	var escaped strings.Builder
	for _, r := range canary {
		fmt.Fprintf(&escaped, `\u%04x`, r)
	}
	forms["escapes"] = escaped.String()[:60]
	for before, skip := range []int{0, 2, 3} {
		for name, encoding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
			encoded := encoding.EncodeToString([]byte(strings.Repeat("~", before) + canary))
			forms[fmt.Sprintf("%s at %d", name, before)] = encoded[skip : len(encoded)-4]
		}
	}
	return forms
}

var toldAt = regexp.MustCompile(`at\[([A-Za-z_.]+)\] `)

// search returns where which form was found, and behind which field's name.
func (h *haystack) search() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var hits []string
	for _, where := range slices.Sorted(maps.Keys(h.parts)) {
		text := string(h.parts[where])
		for name, needle := range needles() {
			if at := strings.Index(text, needle); at >= 0 {
				hits = append(hits, fmt.Sprintf("%s: %s: …%q…", where, name, text[max(0, at-120):min(len(text), at+60)]))
			}
		}
	}
	return hits
}

// told returns the fields whose plain canary, in one of its forms, was found, and where.
func (h *haystack) told() (fields, places []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := map[string]bool{}
	half := canary[:12]
	for where, data := range h.parts {
		text := string(data)
		if strings.Contains(text, half) {
			places = append(places, where)
		}
		for _, shown := range append([]string{text}, decoded(text)...) {
			for _, match := range toldAt.FindAllStringSubmatchIndex(shown, -1) {
				if strings.HasPrefix(shown[match[1]:], half) {
					found[shown[match[2]:match[3]]] = true
				}
			}
		}
	}
	slices.Sort(places)
	return slices.Sorted(maps.Keys(found)), places
}

var base64Text = regexp.MustCompile(`[A-Za-z0-9+/]{60,}={0,2}`)

// decoded are the texts in base64, as JSON writes bytes.
func decoded(text string) []string {
	var all []string
	for _, encoded := range base64Text.FindAllString(text, -1) {
		if clear, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			all = append(all, string(clear))
		}
	}
	return all
}
