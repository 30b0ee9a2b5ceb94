package boltstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/store"
)

// A record is stored as [length of the cut list][cut list][record as encoded].
// The cut list names the values that lie in blobs (cut); it is empty for nearly all
// records.
type storedRecord struct {
	seq     uint64
	cuts    []byte // JSON of []cut, or empty
	encoded []byte
	blobs   []largeBlob
}

// encodeRecords appends the stored form of records to into, which has room for one of
// them, mostly all there are.
func encodeRecords(into []storedRecord, records []*journal.Record) (encoded []storedRecord, size int, err error) {
	encoded = slices.Grow(into, len(records))
	for _, record := range records {
		stored, err := encodeRecord(record)
		if err != nil {
			return nil, 0, err
		}
		encoded = append(encoded, stored)
		size += len(stored.encoded)
		for _, blob := range stored.blobs {
			size += len(blob.data)
		}
	}
	return encoded, size, nil
}

func encodeRecord(record *journal.Record) (storedRecord, error) {
	stored := storedRecord{seq: record.Seq}
	small, cuts, blobs, err := cutRecord(record)
	if err != nil {
		return storedRecord{}, err
	}
	if len(cuts) > 0 {
		if stored.cuts, err = json.Marshal(cuts); err != nil {
			return storedRecord{}, fmt.Errorf("encode record %d: %w", record.Seq, err)
		}
		stored.blobs = blobs
	}
	stored.encoded, err = journal.Encode(small)
	return stored, err
}

// checkNext refuses records that do not follow the last stored one: a journal
// has no holes and never changes. known is the number of the next record; 0 = the
// journal is looked at.
func checkNext(tx *bolt.Tx, run []byte, records []storedRecord, known uint64) error {
	if len(records) == 0 {
		return nil
	}
	first := records[0].seq
	for i, record := range records {
		if record.seq != first+uint64(i) {
			return fmt.Errorf("record %d follows record %d", record.seq, first+uint64(i)-1)
		}
	}
	if first == known {
		return nil
	}
	cursor := tx.Bucket(bucketJournal).Cursor()
	last := seqKey(run, first-1)
	key, _ := cursor.Seek(last)
	follows := first == 1
	if bytes.Equal(key, last) {
		follows = true
		key, _ = cursor.Next()
	}
	switch {
	case bytes.Equal(key, seqKey(run, first)):
		return fmt.Errorf("record %d is stored already", first)
	case !follows:
		return fmt.Errorf("record %d comes without record %d", first, first-1)
	}
	return nil
}

func putRecords(w *writer, run []byte, records []storedRecord) error {
	for _, record := range records {
		for _, blob := range record.blobs {
			if err := putBlob(w, run, blob); err != nil {
				return err
			}
		}
		var number [8]byte
		binary.BigEndian.PutUint64(number[:], record.seq)
		var room [binary.MaxVarintLen64]byte
		length := room[:binary.PutUvarint(room[:], uint64(len(record.cuts)))]
		if err := w.putNew(bucketJournal, w.key(run, number[:]), length, record.cuts, record.encoded); err != nil {
			return err
		}
	}
	return nil
}

// follow remembers where the journal of a run goes on.
func follow(w *writer, run []byte, records []storedRecord) error {
	if len(records) > 0 {
		w.open.follow(run, records[len(records)-1].seq+1)
	}
	return nil
}

// The bounds of one read transaction: it copies out and ends, since a long one
// keeps the committer from reusing pages.
const (
	viewRecords = 1000
	viewBytes   = 4 << 20
)

// Records is that of store.Runs.
func (s *Store) Records(runID string, from uint64, limit int) ([]*journal.Record, error) {
	run, err := runKey(runID)
	if err != nil {
		return nil, err
	}
	from = max(from, 1)
	var records []*journal.Record
	for more := true; more; {
		wanted := viewRecords
		if limit > 0 {
			wanted = min(wanted, limit-len(records))
		}
		var part []readRecord
		err := s.view(func(tx *bolt.Tx) (err error) {
			if tx.Bucket(bucketRuns).Get(run) == nil {
				return fmt.Errorf("run %s: %w", runID, store.ErrRunNotFound)
			}
			part, more, err = readRecords(tx, run, from+uint64(len(records)), wanted)
			return err
		})
		if err != nil {
			return nil, err
		}
		s.counters.records.Add(uint64(len(part)))
		for _, read := range part {
			record, err := read.decode()
			if err != nil {
				return nil, s.named(err)
			}
			records = append(records, record)
		}
		more = more && (limit <= 0 || len(records) < limit)
	}
	return records, nil
}

// EachRecord is that of store.Journal. It reads part by part.
func (s *Store) EachRecord(runID string, from uint64, visit func(*journal.Record) error) error {
	run, err := runKey(runID)
	if err != nil {
		return err
	}
	next := max(from, 1)
	for more := true; more; {
		var part []readRecord
		err := s.view(func(tx *bolt.Tx) (err error) {
			if tx.Bucket(bucketRuns).Get(run) == nil {
				return fmt.Errorf("run %s: %w", runID, store.ErrRunNotFound)
			}
			part, more, err = readRecords(tx, run, next, viewRecords)
			return err
		})
		if err != nil {
			return err
		}
		s.counters.records.Add(uint64(len(part)))
		for i := range part {
			record, err := part[i].decode()
			if err != nil {
				return s.named(err)
			}
			part[i] = readRecord{} // visit may keep the record, nobody else does
			if err := visit(record); err != nil {
				return err
			}
			next = record.Seq + 1
		}
	}
	return nil
}

// readRecord is a stored record, copied out of its transaction.
type readRecord struct {
	key     []byte
	cuts    []cut
	values  [][]byte // that were cut out
	encoded []byte
}

func readRecords(tx *bolt.Tx, run []byte, from uint64, wanted int) (part []readRecord, more bool, err error) {
	cursor := tx.Bucket(bucketJournal).Cursor()
	size := 0
	for key, value := cursor.Seek(seqKey(run, from)); bytes.HasPrefix(key, run); key, value = cursor.Next() {
		if len(part) == wanted || size > viewBytes {
			return part, true, nil
		}
		if want := from + uint64(len(part)); keySeq(key) != want {
			return nil, false, &store.CorruptError{Bucket: string(bucketJournal), Key: hexKey(seqKey(run, want)), Detail: "record is missing"}
		}
		payload, err := unseal(bucketJournal, key, value)
		if err != nil {
			return nil, false, err
		}
		read, readSize, err := copyRecord(tx, key, payload)
		if err != nil {
			return nil, false, err
		}
		part = append(part, read)
		size += readSize
	}
	return part, false, nil
}

func copyRecord(tx *bolt.Tx, key, payload []byte) (read readRecord, size int, err error) {
	read.key = bytes.Clone(key)
	cuts, encoded, err := splitRecord(key, payload)
	if err != nil {
		return read, 0, err
	}
	read.cuts, read.encoded = cuts, bytes.Clone(encoded)
	size = len(read.encoded)
	for _, c := range read.cuts {
		value, err := c.read(tx)
		if err != nil {
			return read, 0, err
		}
		read.values = append(read.values, value)
		size += len(value)
	}
	return read, size, nil
}

// splitRecord returns a stored record's cut list and the rest.
func splitRecord(key, payload []byte) (cuts []cut, encoded []byte, err error) {
	damaged := func(detail string) error {
		return &store.CorruptError{Bucket: string(bucketJournal), Key: hexKey(key), Detail: detail}
	}
	length, n := binary.Uvarint(payload)
	if n <= 0 || length > uint64(len(payload)-n) {
		return nil, nil, damaged("bad length of its cut list")
	}
	if list := payload[n : n+int(length)]; len(list) > 0 {
		if err := json.Unmarshal(list, &cuts); err != nil {
			return nil, nil, damaged(err.Error())
		}
	}
	return cuts, payload[n+int(length):], nil
}

func (r *readRecord) damaged(detail string) error {
	return &store.CorruptError{Bucket: string(bucketJournal), Key: hexKey(r.key), Detail: detail}
}

func (r *readRecord) decode() (*journal.Record, error) {
	record, err := journal.Decode(r.encoded)
	if err != nil {
		return nil, r.damaged(err.Error())
	}
	if err := fillRecord(record, r.cuts, r.values); err != nil {
		return nil, r.damaged(err.Error())
	}
	return record, nil
}
