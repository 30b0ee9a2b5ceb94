package eval

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/schema"
)

func encodingFunctions() []*function {
	return []*function{
		{
			signature: "toJSON(x: any): text", doc: "The value as indented JSON, keys in order.", example: "toJSON({a: 1})",
			result: (*call).serialised,
			run:    func(m *machine, args []any) (any, error) { return m.toJSON(args[0]) },
		},
		{
			signature: "fromJSON(text: text): any", doc: "The value of a JSON text; whole numbers stay exact.", example: `fromJSON("[1, 2]")`,
			run: func(m *machine, args []any) (any, error) { return m.fromJSON(args[0].(string)) },
		},
		{
			signature: "toBase64(text: text): text", doc: "The text's bytes in base64.", example: `toBase64("hello")`,
			run: func(m *machine, args []any) (any, error) {
				s := args[0].(string)
				if err := m.text(base64.StdEncoding.EncodedLen(len(s))); err != nil {
					return nil, err
				}
				return base64.StdEncoding.EncodeToString([]byte(s)), nil
			},
		},
		{
			signature: "fromBase64(text: text): text", doc: "The text that base64 stands for; it must be UTF-8.", example: `fromBase64("aGVsbG8=")`,
			run: func(m *machine, args []any) (any, error) { return m.fromBase64(args[0].(string)) },
		},
		{
			signature: "sha256(text: text): text", doc: "The SHA-256 sum of the text's bytes in hexadecimal digits.", example: `sha256("a")`,
			run: func(m *machine, args []any) (any, error) {
				s := args[0].(string)
				sum := sha256.Sum256([]byte(s))
				return hex.EncodeToString(sum[:]), m.text(len(s) + 2*len(sum))
			},
		},
	}
}

// toJSON measures before it writes: shared parts can make a small value long.
func (m *machine) toJSON(v any) (any, error) {
	if schema.IsSecretRef(v) {
		return nil, failf("a secret can't be written as JSON")
	}
	size, err := measure(v, m.bytes)
	if err != nil {
		return nil, err
	}
	if err := m.text(size); err != nil {
		return nil, err
	}
	encoded, err := schema.Encode(v)
	if err != nil {
		return nil, failf("%v", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, encoded, "", "  "); err != nil {
		return nil, failf("%v", err)
	}
	if err := m.text(max(0, b.Len()-size)); err != nil {
		return nil, err
	}
	return b.String(), m.step(size / 64)
}

// fromJSON counts what can become a value before it makes any.
func (m *machine) fromJSON(text string) (any, error) {
	values := 1
	for i := range len(text) {
		switch text[i] {
		case ',', '[', '{', ':':
			values++
		}
	}
	if err := m.text(len(text)); err != nil {
		return nil, err
	}
	if err := m.grow(values); err != nil {
		return nil, err
	}
	if err := m.step(len(text) / 32); err != nil {
		return nil, err
	}
	v, err := schema.Of(schema.Any).Decode([]byte(text))
	if err != nil {
		return nil, failf("fromJSON: %v", err)
	}
	return v, nil
}

func (m *machine) fromBase64(text string) (any, error) {
	if err := m.text(len(text)); err != nil {
		return nil, err
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil, failf("fromBase64: %s is not base64", shorten(text))
	}
	if !utf8.Valid(decoded) {
		return nil, failf("fromBase64: the bytes are no text")
	}
	return string(decoded), nil
}
