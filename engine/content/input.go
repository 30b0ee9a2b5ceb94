package content

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/schema"
)

// Input is the `with` of core.read.
type Input struct {
	Blob    Reference
	Options Options
}

// Reference is a large value as it stands in inputs and outputs.
type Reference struct {
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
	MediaType string `json:"media_type"`
	Name      string `json:"name"`
}

// ParseReference reads a value that refers to a large value; false for every other.
func ParseReference(raw json.RawMessage) (Reference, bool) {
	const shortest, longest = len(`{"digest":"sha256:"}`), 64 << 10
	if len(raw) < shortest || len(raw) > longest || schema.BlobRef().Check(raw) != nil {
		return Reference{}, false
	}
	var ref Reference
	err := json.Unmarshal(raw, &ref)
	return ref, err == nil
}

// ParseInput reads the input of a call of core.read.
func ParseInput(raw json.RawMessage) (Input, error) {
	var written struct {
		Blob      Reference       `json:"blob"`
		As        Format          `json:"as"`
		Answer    json.RawMessage `json:"answer"`
		Encoding  Encoding        `json:"encoding"`
		MaxBytes  int             `json:"max_bytes"`
		Columns   []string        `json:"columns"`
		Delimiter string          `json:"delimiter"`
	}
	if err := json.Unmarshal(raw, &written); err != nil {
		return Input{}, err
	}
	in := Input{Blob: written.Blob, Options: Options{
		Format: written.As, Encoding: written.Encoding, MaxBytes: written.MaxBytes, Columns: written.Columns,
	}}
	if written.Delimiter != "" {
		in.Options.Delimiter, _ = utf8.DecodeRuneInString(written.Delimiter)
	}
	if answer := bytes.TrimSpace(written.Answer); len(answer) > 0 && string(answer) != "null" {
		t, err := schema.FromJSON(answer)
		if err != nil {
			return Input{}, fmt.Errorf("answer: %w", err)
		}
		in.Options.Answer = t
	}
	return in, nil
}

// Answer reads what the input asks for: the page at cursor where the step reads page by
// page, else all of it.
func (in Input) Answer(source Source, paged bool, cursor string) (Page, error) {
	if paged {
		return ReadPage(source, in.Options, cursor)
	}
	output, err := Read(source, in.Options)
	return Page{Output: output}, err
}
