package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// Teach lets a redactor mask what the sealed rows hold: the stored secrets, the
// tokens, and the secret outputs of these runs. A value that no key opens is
// passed over: nobody can show it either.
func Teach(redactor *Redactor, kv *SealedKV, runs []string) error {
	if err := EachStored(kv, redactor.Add); err != nil {
		return err
	}
	for _, run := range runs {
		if err := eachClear(kv, vaultBucket, runPrefix+run+"/", func(clear []byte) { addTexts(redactor, clear) }); err != nil {
			return err
		}
	}
	return nil
}

// EachStored visits the stored secrets and the tokens.
func EachStored(kv *SealedKV, visit func(value string)) error {
	if err := eachClear(kv, StoredBucket, "", func(clear []byte) { visit(string(clear)) }); err != nil {
		return err
	}
	return eachClear(kv, tokensBucket, "", func(clear []byte) {
		var row tokenRow
		if json.Unmarshal(clear, &row) != nil || row.Token == nil {
			return
		}
		for _, text := range []string{row.Token.AccessToken, row.Token.RefreshToken, row.Previous} {
			visit(text)
		}
	})
}

func eachClear(kv *SealedKV, bucket, prefix string, visit func(clear []byte)) error {
	keys, err := kv.List(bucket, prefix)
	if err != nil {
		return err
	}
	for _, key := range keys {
		clear, _, ok, err := kv.Get(bucket, key)
		switch {
		case errors.Is(err, ErrUnseal), err == nil && !ok:
			continue
		case err != nil:
			return err
		}
		visit(clear)
	}
	return nil
}

// addTexts adds the texts and numbers of a JSON value.
func addTexts(redactor *Redactor, value []byte) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		switch token := token.(type) {
		case string:
			redactor.Add(token)
		case json.Number:
			redactor.Add(token.String())
		}
	}
}

// maskFrame is an object or a list that a JSON masker is in.
type maskFrame struct {
	object bool
	count  int // of keys and values so far
}

// MaskJSON masks the texts of a JSON value, keys too, and leaves its form and
// its numbers as they are; a number that is a secret becomes a text.
func MaskJSON(redactor *Redactor, value []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var out bytes.Buffer
	var frames []maskFrame
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		delim, isDelim := token.(json.Delim)
		if isDelim && (delim == '}' || delim == ']') {
			out.WriteByte(byte(delim))
			frames = frames[:len(frames)-1]
		} else {
			writeSeparator(&out, frames)
			if isDelim {
				out.WriteByte(byte(delim))
				frames = append(frames, maskFrame{object: delim == '{'})
			} else if err := writeMasked(&out, redactor, token); err != nil {
				return nil, err
			}
		}
		if len(frames) == 0 {
			return out.Bytes(), nil
		}
	}
}

// writeSeparator puts what stands before the next key or value.
func writeSeparator(out *bytes.Buffer, frames []maskFrame) {
	if len(frames) == 0 {
		return
	}
	frame := &frames[len(frames)-1]
	switch {
	case frame.object && frame.count%2 == 1:
		out.WriteByte(':')
	case frame.count > 0:
		out.WriteByte(',')
	}
	frame.count++
}

func writeMasked(out *bytes.Buffer, redactor *Redactor, token json.Token) error {
	switch value := token.(type) {
	case string:
		token = redactor.Redact(value)
	case json.Number:
		if masked := redactor.Redact(value.String()); masked != value.String() {
			token = masked
		}
	}
	var encoded strings.Builder
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(token); err != nil {
		return err
	}
	out.WriteString(strings.TrimSuffix(encoded.String(), "\n"))
	return nil
}
