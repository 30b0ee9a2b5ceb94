package boltstore

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"
)

// suffixRows is how many ids one list compares with an ending: the keys alone are read.
const suffixRows = 20_000

// within keeps a scan to the runs whose id begins so: they stand together in each index.
func (sc *scan) within(prefix string) error {
	if prefix == "" {
		return nil
	}
	least, err := padded(prefix, '0')
	if err != nil {
		return err
	}
	greatest, err := padded(prefix, 'z')
	if err != nil {
		return err
	}
	if bytes.Compare(least, sc.oldest) > 0 {
		sc.oldest = least
	}
	if above := next(greatest); above != nil && (sc.before == nil || bytes.Compare(above, sc.before) < 0) {
		sc.before = above
	}
	return nil
}

// padded is the key of the id that begins so and goes on with one letter alone.
func padded(prefix string, letter byte) ([]byte, error) {
	if len(prefix) > ulid.EncodedSize || prefix != strings.ToLower(prefix) {
		return nil, fmt.Errorf("list runs: %q is no beginning of a run's id", prefix)
	}
	id, err := ulid.ParseStrict(prefix + strings.Repeat(string(letter), ulid.EncodedSize-len(prefix)))
	if err != nil {
		return nil, fmt.Errorf("list runs: %q is no beginning of a run's id", prefix)
	}
	return id[:], nil
}

// next is the key behind a key; nil where there is none.
func next(key []byte) []byte {
	above := bytes.Clone(key)
	for i := len(above) - 1; i >= 0; i-- {
		if above[i]++; above[i] != 0 {
			return above
		}
	}
	return nil
}

// mayEnd reports whether the row of a run is to be read: its id ends as the filter says.
func (sc *scan) mayEnd(run []byte) bool {
	if sc.filter.IDSuffix == "" {
		return true
	}
	sc.looked++
	var text [ulid.EncodedSize]byte
	if err := ulid.ULID(run).MarshalTextTo(text[:]); err != nil || len(sc.filter.IDSuffix) > len(text) {
		return false
	}
	return bytes.EqualFold(text[len(text)-len(sc.filter.IDSuffix):], []byte(sc.filter.IDSuffix))
}

// spent reports whether a list has compared as many ids as one may.
func (sc *scan) spent() bool { return sc.looked >= suffixRows }
