package boltstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// An entry is stored as [run][entry in JSON], so that those of a run are found
// without decoding.

// dropRows is how many entries one transaction takes out.
const dropRows = 1000

// Outbox is that of store.Outbox.
func (s *Store) Outbox(after uint64, limit int) (entries []runs.OutboxEntry, err error) {
	if limit <= 0 {
		limit = store.DefaultLimit
	}
	err = s.view(func(tx *bolt.Tx) error {
		cursor := tx.Bucket(bucketOutbox).Cursor()
		for key, stored := cursor.Seek(outboxKey(after + 1)); key != nil && len(entries) < limit; key, stored = cursor.Next() {
			entry, err := decodeEntry(key, stored)
			if err != nil {
				return err
			}
			entries = append(entries, *entry)
		}
		return nil
	})
	return entries, err
}

// DropOutbox is that of store.Outbox.
func (s *Store) DropOutbox(upTo uint64) error {
	for more := true; more; {
		err := s.do(0, func(w *writer) (bool, error) {
			var keys [][]byte
			cursor := w.Bucket(bucketOutbox).Cursor()
			for key, _ := cursor.First(); key != nil && binary.BigEndian.Uint64(key) <= upTo && len(keys) < dropRows; key, _ = cursor.Next() {
				keys = append(keys, bytes.Clone(key))
			}
			more = len(keys) == dropRows
			return len(keys) > 0, inTx(func() error {
				for _, key := range keys {
					if err := w.remove(bucketOutbox, key); err != nil {
						return err
					}
				}
				return nil
			})
		})
		if err != nil {
			return fmt.Errorf("take out what was handed on: %w", err)
		}
	}
	return nil
}

// tellOthers writes the outbox entry of a run that is closed or paused now. A
// sub-workflow's run is its parent's matter.
func (c *rowChange) tellOthers(w *writer) error {
	kind := store.NewsOf(c.old, c.row)
	if kind == "" || !w.tells {
		return nil
	}
	return w.tell(c.key, runs.OutboxEntry{Kind: kind, At: store.NewsAt(w.clock, c.row)}, c.encoded)
}

// tell writes an entry. run is the key of the run that it is about, or zeros; row is that
// run's row as it was encoded, which takes the place of the entry's.
func (w *writer) tell(run []byte, entry runs.OutboxEntry, row []byte) error {
	epoch, err := w.epochOf()
	if err != nil {
		return err
	}
	seq, err := w.next(bucketOutbox)
	if err != nil {
		return err
	}
	entry.Seq, entry.Epoch = seq, epoch
	encoded, err := encodeEntry(entry, row)
	if err != nil {
		return err
	}
	if err := w.putNew(bucketOutbox, w.key(outboxKey(seq)), append([][]byte{run}, encoded...)...); err != nil {
		return err
	}
	w.told = true
	return w.boundOutbox(seq)
}

// boundOutbox removes the oldest entry where there are too many. Entries are added behind
// the others: what was the oldest one is never younger than the one that is it now.
func (w *writer) boundOutbox(newest uint64) error {
	if w.oldest > 0 && newest-w.oldest < store.MaxOutbox {
		return nil
	}
	first, _ := w.Bucket(bucketOutbox).Cursor().First()
	if first == nil {
		return nil
	}
	if w.oldest = binary.BigEndian.Uint64(first); newest-w.oldest >= store.MaxOutbox {
		return w.remove(bucketOutbox, bytes.Clone(first))
	}
	return nil
}

// epochOf is getEpoch, once a transaction.
func (w *writer) epochOf() (uint64, error) {
	if w.epoch == nil {
		epoch, err := getEpoch(w.Tx)
		if err != nil {
			return 0, err
		}
		w.epoch = &epoch
	}
	return *w.epoch, nil
}

// encodeEntry returns the parts of an entry in JSON.
func encodeEntry(entry runs.OutboxEntry, row []byte) ([][]byte, error) {
	encoded, err := entry.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode outbox entry: %w", err)
	}
	if len(row) == 0 {
		return [][]byte{encoded}, nil
	}
	return [][]byte{encoded[:len(encoded)-1], []byte(`,"run":`), row, []byte("}")}, nil
}

// forgetTold takes out the entries of a run that is removed by a person's word.
func forgetTold(w *writer, run []byte) error {
	var keys [][]byte
	err := w.Bucket(bucketOutbox).ForEach(func(key, stored []byte) error {
		if len(stored) > sealHeader && bytes.HasPrefix(stored[sealHeader:], run) {
			keys = append(keys, bytes.Clone(key))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := w.remove(bucketOutbox, key); err != nil {
			return err
		}
	}
	return nil
}

func outboxKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

func decodeEntry(key, stored []byte) (*runs.OutboxEntry, error) {
	payload, err := unseal(bucketOutbox, key, stored)
	if err != nil {
		return nil, err
	}
	entry := new(runs.OutboxEntry)
	if err := json.Unmarshal(payload[min(runKeySize, len(payload)):], entry); err != nil {
		return nil, &store.CorruptError{Bucket: string(bucketOutbox), Key: hexKey(key), Detail: err.Error()}
	}
	return entry, nil
}
