package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// boundSize is how much of the digest of its list a cursor holds.
const boundSize = 8

// makeCursor returns the cursor of a place in a list. It is good for the list that
// it was made of alone: that of the same run with the same filters.
func makeCursor(place uint64, list ...string) *string {
	raw := append(binary.BigEndian.AppendUint64(nil, place), boundTo(list)...)
	text := base64.RawURLEncoding.EncodeToString(raw)
	return &text
}

// readCursor returns the place of a cursor; "" is the list's begin.
func readCursor(text string, list ...string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != 8+boundSize || !bytes.Equal(raw[8:], boundTo(list)) {
		return 0, wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("cursor %q is not the next_cursor of this list", shorten(text))).
			With(diag.Say("a cursor is good with the path and the filters that it was made with"))
	}
	return binary.BigEndian.Uint64(raw), nil
}

func boundTo(list []string) []byte {
	hash := sha256.New()
	for _, part := range list {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return hash.Sum(nil)[:boundSize]
}
