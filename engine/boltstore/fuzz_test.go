package boltstore

import (
	"bytes"
	"errors"
	"testing"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/store"
)

// Whatever stands in the file: reading it is an error that says so, or gives
// back what was sealed.
func FuzzUnseal(f *testing.F) {
	f.Add(seal([]byte("b"), []byte("k"), []byte("payload")), []byte("k"))
	f.Add([]byte{}, []byte("k"))
	f.Add([]byte{1, 0, 0, 0, 0}, []byte{})
	f.Fuzz(func(t *testing.T, value, key []byte) {
		payload, err := unseal([]byte("b"), key, value)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("err = %v", err)
			}
			return
		}
		if !bytes.Equal(seal([]byte("b"), key, payload), value) {
			t.Error("another value has the same payload")
		}
	})
}

func FuzzStoredRecord(f *testing.F) {
	encoded, err := journal.Encode(&journal.Record{Seq: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append([]byte{0}, encoded...))
	f.Add([]byte{200, 200, 200})
	f.Add(append([]byte{4}, append([]byte("[{}]"), encoded...)...))
	f.Fuzz(func(t *testing.T, payload []byte) {
		if bytes.ContainsAny(payload, "{") && payload[0] != 0 {
			return // a cut list: its blobs need a transaction
		}
		read, _, err := copyRecord(nil, []byte("key"), payload)
		if err == nil {
			_, err = read.decode()
		}
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("err = %v", err)
		}
	})
}

// A damaged page is found without a panic, whatever stands in it.
func FuzzCheckPages(f *testing.F) {
	page := make([]byte, 3*1024)
	page[2*1024] = 2
	page[2*1024+8] = leafPage
	f.Add(page)
	f.Fuzz(func(t *testing.T, file []byte) {
		pages := uint64(len(file) / 1024)
		if _, err := walkPages(bytes.NewReader(file), 1024, pages, 2, true, nil); err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("err = %v", err)
		}
	})
}
