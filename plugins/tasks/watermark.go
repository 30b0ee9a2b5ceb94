package tasks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/flowrun/flowrun/sdk"
)

// watermark is where an incremental reading of the ledger ended (T-62). Ids of
// entries are not documented, so it holds digests of whole entries: all those
// with the newest created_at, since several may share one.
type watermark struct {
	Newest  string   `json:"newest"`         // created_at as the service wrote it; "" = the entries had none
	Entries []string `json:"entries"`        // digests of the entries with it
	Open    bool     `json:"open,omitempty"` // there may be more of them: they filled a first page
}

// readWatermark reads the stored watermark; nil = none, read everything.
func readWatermark(raw []byte) (*watermark, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	mark := &watermark{}
	if err := json.Unmarshal(raw, mark); err != nil || len(mark.Entries) == 0 {
		return nil, sdk.Invalid("", "the stored position of this incremental reading can't be read").
			WithHint("give the step's `incremental` another cursor name: the ledger is then read from its beginning")
	}
	return mark, nil
}

// encode returns the stored form; nil for none.
func (w *watermark) encode() []byte {
	if w == nil {
		return nil
	}
	encoded, err := json.Marshal(w)
	if err != nil {
		return nil // texts and a flag always can be written
	}
	return encoded
}

// next is the watermark after a reading whose first page has these entries,
// newest first; nil = the ledger is empty, the old one stays.
func (w *watermark) next(entries []sdk.Value, more bool) *watermark {
	if len(entries) == 0 {
		return nil
	}
	mark := &watermark{Newest: createdAt(entries[0])}
	for _, entry := range entries {
		if createdAt(entry) != mark.Newest {
			break
		}
		mark.Entries = append(mark.Entries, entryDigest(entry))
	}
	mark.Open = more && len(mark.Entries) == len(entries)
	if w == nil || w.Newest != mark.Newest {
		return mark
	}
	// no later moment yet: what was read of this one before stays known
	for _, digest := range w.Entries {
		if !slices.Contains(mark.Entries, digest) {
			mark.Entries = append(mark.Entries, digest)
		}
	}
	mark.Open = mark.Open || w.Open
	return mark
}

// fresh returns the entries that were not read before, in their order, and
// whether the reading ends with this page: at the first entry that the watermark
// holds. Entries of the same moment behind it are new when the watermark is
// known to hold all that there were; an older one ends the reading too, for a
// held entry may have changed since.
func (w *watermark) fresh(entries []sdk.Value) (kept []sdk.Value, ended bool) {
	if w == nil {
		return entries, false
	}
	kept = []sdk.Value{}
	for _, entry := range entries {
		at := createdAt(entry)
		switch {
		case w.holds(entry):
			ended = true
		case w.isOlder(at), ended && (w.Open || at != w.Newest):
			return kept, true
		default:
			kept = append(kept, entry)
		}
	}
	return kept, ended
}

func (w *watermark) holds(entry sdk.Value) bool {
	return slices.Contains(w.Entries, entryDigest(entry))
}

// isOlder reports whether a moment is before the watermark's; false when one of
// them can't be read.
func (w *watermark) isOlder(at string) bool {
	moment, ok := parseTime(at)
	newest, okNewest := parseTime(w.Newest)
	return ok && okNewest && moment.Before(newest)
}

// createdAt reads the one documented field of an entry; "" when it is not there.
func createdAt(entry sdk.Value) string {
	var fields struct {
		CreatedAt json.RawMessage `json:"created_at"`
	}
	var text string
	if json.Unmarshal(entry, &fields) != nil || json.Unmarshal(fields.CreatedAt, &text) != nil {
		return ""
	}
	return text
}

// entryDigest names an entry by its canonical bytes: without whitespace, its
// members sorted, numbers as they were written.
func entryDigest(entry sdk.Value) string {
	canonical := []byte(entry)
	decoder := json.NewDecoder(bytes.NewReader(entry))
	decoder.UseNumber()
	var tree any
	if decoder.Decode(&tree) == nil {
		if encoded, err := json.Marshal(tree); err == nil {
			canonical = encoded
		}
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:16])
}
