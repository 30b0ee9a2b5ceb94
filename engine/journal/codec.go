package journal

import (
	"encoding/json"
	"fmt"
)

// codecVersion stands first in every encoded record.
const codecVersion byte = 1

// Encode returns the stored form of a record. Nobody may change it.
func Encode(r *Record) ([]byte, error) {
	if r.encoded != nil {
		return r.encoded, nil
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode record %d: %w", r.Seq, err)
	}
	return append([]byte{codecVersion}, body...), nil
}

// JSON returns what json.Marshal writes of the record. Of one that was stored as it was drafted that
// is there already: nobody may change it.
func (r *Record) JSON() (json.RawMessage, error) {
	if r.encoded != nil {
		return r.encoded[1:], nil
	}
	return json.Marshal(r)
}

// Decode reads what Encode wrote; a version that is not known is refused.
func Decode(data []byte) (*Record, error) {
	if len(data) == 0 || data[0] != codecVersion {
		return nil, fmt.Errorf("decode record: unknown version")
	}
	record := new(Record)
	if err := json.Unmarshal(data[1:], record); err != nil {
		return nil, fmt.Errorf("decode record: %w", err)
	}
	return record, nil
}
