package sdk

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"sync"
)

// minMasked is the shortest secret that is masked: shorter ones would mask
// ordinary words (RELIABILITY 2).
const minMasked = 6

const maskText = "[redacted]"

// masker replaces the clear secrets that one call knows. The host masks again
// with all it knows; this keeps them off the wire. Immutable; nil masks nothing.
type masker struct {
	replacer *strings.Replacer
	longest  int // bytes of the longest text that is masked
}

// masks grows while a call learns secrets, such as a token. The zero value
// masks nothing. Safe for concurrent use.
type masks struct {
	mu      sync.Mutex
	secrets []string
	current *masker
}

func (m *masks) add(secrets ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.secrets = append(m.secrets, secrets...)
	m.current = newMasker(slices.Clone(m.secrets))
}

func (m *masks) now() *masker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

func newMasker(secrets []string) *masker {
	var pairs []string
	// longest first: a secret may be the start of another
	sort.Slice(secrets, func(i, j int) bool { return len(secrets[i]) > len(secrets[j]) })
	for _, secret := range secrets {
		if len(secret) < minMasked {
			continue
		}
		pairs = append(pairs, secret, maskText)
		for _, form := range encodedForms(secret) {
			if form != secret {
				pairs = append(pairs, form, maskText)
			}
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	longest := 0
	for i := 0; i < len(pairs); i += 2 {
		longest = max(longest, len(pairs[i]))
	}
	return &masker{strings.NewReplacer(pairs...), longest}
}

// start is the masked start of a long text, of about n bytes. It ends before a
// secret that the cut went through: masks are shorter than what they stand for, so
// that the end of a text comes nearer to its start.
func (m *masker) start(s string, n int) string {
	if m == nil || len(s) <= n+m.longest {
		return m.text(s)
	}
	masked := m.text(s[:n+m.longest])
	return masked[:max(len(masked)-m.longest, 0)]
}

func (m *masker) text(s string) string {
	if m == nil {
		return s
	}
	return m.replacer.Replace(s)
}

func (m *masker) bytes(b []byte) []byte {
	if m == nil || len(b) == 0 {
		return b
	}
	return []byte(m.replacer.Replace(string(b)))
}

func (m *masker) error(e *Error) *Error {
	if m == nil {
		return e
	}
	masked := *e
	masked.Message, masked.Hint, masked.Reason = m.text(e.Message), m.text(e.Hint), m.text(e.Reason)
	if len(e.Details) > 0 {
		if encoded, err := marshalJSON(e.Details); err == nil {
			masked.Details = map[string]any{}
			if json.Unmarshal(m.bytes(encoded), &masked.Details) != nil {
				masked.Details = nil
			}
		}
	}
	return &masked
}

// secretValues collects the text at the secret fields of a document.
func secretValues(s *schema, raw []byte) []string {
	var values []string
	s.secretsIn(raw, func(_ string, v any) { values = append(values, leaves(v)...) })
	return values
}

func leaves(v any) []string {
	var all []string
	switch typed := v.(type) {
	case string:
		all = append(all, typed)
	case json.Number:
		all = append(all, typed.String())
	case []any:
		for _, item := range typed {
			all = append(all, leaves(item)...)
		}
	case map[string]any:
		for _, item := range typed {
			all = append(all, leaves(item)...)
		}
	}
	return all
}
