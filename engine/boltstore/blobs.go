package boltstore

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/jsontext"
	"github.com/flowrun/flowrun/engine/store"
)

// blobThreshold is the size in bytes above which a value of a record, or a plan,
// lies in a blob: rewritten pages of a big record would cost many times its size.
const blobThreshold = 64 << 10

// pieceSize is the most that one blob of a record holds: the pages of its
// neighbours are written anew with each one, and what they leave free is room in
// the file that stays.
const pieceSize = 256 << 10

// cut says which value of a record lies in which blob, or in how many pieces.
type cut struct {
	Path   string `json:"path"`             // event.completed.output, command.3.call.input
	Hash   string `json:"hash"`             // SHA-256 in hex
	Pieces int    `json:"pieces,omitempty"` // of a value above pieceSize; 0 = it lies under its hash, as all did in older programs
}

// newCut names a value, and returns what its blobs hold.
func newCut(path string, value []byte) (cut, [][]byte) {
	c := cut{Path: path, Hash: hex.EncodeToString(hashKey(value))}
	if len(value) <= pieceSize {
		return c, [][]byte{value}
	}
	pieces := slices.Collect(slices.Chunk(value, pieceSize))
	c.Pieces = len(pieces)
	return c, pieces
}

// blobs are the keys of the blobs that the value consists of; false where the cut
// names none. Pieces lie side by side: under the value's hash with their number in
// the place of its end.
func (c *cut) blobs() (keys [][]byte, ok bool) {
	hash, ok := decodeHash(c.Hash)
	if !ok || c.Pieces < 0 || c.Pieces > maxPieces {
		return nil, false
	}
	if c.Pieces == 0 {
		return [][]byte{hash}, true
	}
	for n := range c.Pieces {
		keys = append(keys, binary.BigEndian.AppendUint32(bytes.Clone(hash[:len(hash)-4]), uint32(n)))
	}
	return keys, true
}

// maxPieces is more than any value has: a journal holds 256 MiB.
const maxPieces = 1 << 20

// read returns a copy of the value.
func (c *cut) read(tx *bolt.Tx) (value []byte, err error) {
	keys, ok := c.blobs()
	if !ok {
		return nil, &store.CorruptError{Bucket: string(bucketBlobs), Key: c.Hash, Detail: "not a hash"}
	}
	for _, key := range keys {
		piece, err := getBlob(tx, key)
		if err != nil {
			return nil, err
		}
		if value == nil {
			value = make([]byte, 0, len(keys)*len(piece))
		}
		value = append(value, piece...)
		giveBack(piece)
	}
	return value, nil
}

// largeBlob is a value, or a piece of one, with its key.
type largeBlob struct{ key, data []byte }

// putBlob stores a large value of a run, or of a plan (noRun).
func putBlob(w *writer, run []byte, blob largeBlob) error {
	if err := w.put(bucketRefs, blobRef(blob.key, run)); err != nil {
		return err
	}
	if w.Bucket(bucketBlobs).Get(blob.key) != nil {
		return nil
	}
	return w.put(bucketBlobs, blob.key, blob.data)
}

// getBlob returns a blob as it lies in the file, for the length of tx.
func getBlob(tx *bolt.Tx, key []byte) ([]byte, error) {
	payload, err := getSealed(tx.Bucket(bucketBlobs), bucketBlobs, key)
	if err == nil && payload == nil {
		err = &store.CorruptError{Bucket: string(bucketBlobs), Key: hexKey(key), Detail: "blob is missing"}
	}
	return payload, err
}

// cutRecord returns the record without its large values, and those apart. A
// record without large values is returned as it is; else it is a copy, since the
// writer's record is seen by others.
func cutRecord(record *journal.Record) (*journal.Record, []cut, []largeBlob, error) {
	large := false
	eachValue(record, func(_ place, value []byte, _ bool) []byte {
		large = large || len(value) > blobThreshold
		return value
	})
	if !large {
		return record, nil, nil, nil
	}
	var cuts []cut
	var blobs []largeBlob
	var failure error
	small := copyForCut(record)
	eachValue(small, func(at place, value []byte, isJSON bool) []byte {
		if len(value) <= blobThreshold {
			return value
		}
		if isJSON && !jsontext.Plain(value) { // the text that a small value would have in the record
			encoded, err := json.Marshal(json.RawMessage(value))
			if err != nil {
				failure = fmt.Errorf("encode record %d: %s: %w", record.Seq, at, err)
				return value
			}
			value = encoded
		}
		c, pieces := newCut(at.String(), value)
		keys, _ := c.blobs()
		for i, key := range keys {
			blobs = append(blobs, largeBlob{key, pieces[i]})
		}
		cuts = append(cuts, c)
		return nil
	})
	return small, cuts, blobs, failure
}

// fillRecord puts the values back where they were cut out.
func fillRecord(record *journal.Record, cuts []cut, values [][]byte) error {
	if len(cuts) == 0 {
		return nil
	}
	waiting := make(map[string][]byte, len(cuts))
	for i, c := range cuts {
		waiting[c.Path] = values[i]
	}
	eachValue(record, func(at place, value []byte, _ bool) []byte {
		path := at.String()
		if whole, ok := waiting[path]; ok {
			delete(waiting, path)
			return whole
		}
		return value
	})
	for path := range waiting {
		return fmt.Errorf("no place for the value of %s", path)
	}
	return nil
}

// copyForCut copies all that eachValue may change.
func copyForCut(record *journal.Record) *journal.Record {
	copied := journal.Record{Seq: record.Seq, Event: record.Event, Commands: record.Commands} // without its stored form
	e := &copied.Event
	e.Start, e.Completed, e.Pending, e.Failed = clone(e.Start), clone(e.Completed), clone(e.Pending), clone(e.Failed)
	e.Signal, e.Resolution, e.Child = clone(e.Signal), clone(e.Resolution), clone(e.Child)
	if e.Child != nil {
		e.Child.Failed = clone(e.Child.Failed)
	}
	copied.Commands = append([]journal.Command(nil), record.Commands...)
	for i := range copied.Commands {
		command := &copied.Commands[i]
		command.Call, command.Finish, command.Log = clone(command.Call), clone(command.Finish), clone(command.Log)
		command.Child = clone(command.Child)
		if finish := command.Finish; finish != nil {
			finish.Error = clone(finish.Error)
			finish.Outputs, finish.State, finish.Cursors = maps.Clone(finish.Outputs), maps.Clone(finish.State), maps.Clone(finish.Cursors)
		}
	}
	return &copied
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	copied := *p
	return &copied
}
