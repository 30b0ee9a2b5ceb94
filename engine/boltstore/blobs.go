package boltstore

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	bolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/engine/journal"
)

// blobThreshold is the size in bytes above which a value of a record, or a plan,
// lies in a blob: rewritten pages of a big record would cost many times its size.
const blobThreshold = 64 << 10

// cut says which value of a record lies in which blob.
type cut struct {
	Path string `json:"path"` // event.completed.output, command.3.call.input
	Hash string `json:"hash"` // SHA-256 in hex
}

// putBlob stores a large value of a run, or of a plan (noRun).
func putBlob(w *writer, run, data []byte) error {
	key := hashKey(data)
	if err := w.put(bucketRefs, blobRef(key, run)); err != nil {
		return err
	}
	if w.Bucket(bucketBlobs).Get(key) != nil {
		return nil
	}
	return w.put(bucketBlobs, key, data)
}

// getBlob returns a copy.
func getBlob(tx *bolt.Tx, hash string) ([]byte, error) {
	key, ok := decodeHash(hash)
	if !ok {
		return nil, &CorruptError{Bucket: string(bucketBlobs), Key: hash, Detail: "not a hash"}
	}
	payload, err := getSealed(tx.Bucket(bucketBlobs), bucketBlobs, key)
	if err == nil && payload == nil {
		err = &CorruptError{Bucket: string(bucketBlobs), Key: hash, Detail: "blob is missing"}
	}
	return bytes.Clone(payload), err
}

// cutRecord returns the record without its large values, and those apart. A
// record without large values is returned as it is; else it is a copy, since the
// writer's record is seen by others.
func cutRecord(record *journal.Record) (*journal.Record, []cut, [][]byte, error) {
	large := false
	eachValue(record, func(_ place, value []byte, _ bool) []byte {
		large = large || len(value) > blobThreshold
		return value
	})
	if !large {
		return record, nil, nil, nil
	}
	var cuts []cut
	var blobs [][]byte
	var failure error
	small := copyForCut(record)
	eachValue(small, func(at place, value []byte, isJSON bool) []byte {
		if len(value) <= blobThreshold {
			return value
		}
		if isJSON { // the text that a small value would have in the record
			encoded, err := json.Marshal(json.RawMessage(value))
			if err != nil {
				failure = fmt.Errorf("encode record %d: %s: %w", record.Seq, at, err)
				return value
			}
			value = encoded
		}
		cuts = append(cuts, cut{Path: at.String(), Hash: hex.EncodeToString(hashKey(value))})
		blobs = append(blobs, value)
		return nil
	})
	return small, cuts, blobs, failure
}

// fillRecord puts the blobs back where they were cut out.
func fillRecord(record *journal.Record, cuts []cut, blobs [][]byte) error {
	if len(cuts) == 0 {
		return nil
	}
	waiting := make(map[string][]byte, len(cuts))
	for i, c := range cuts {
		waiting[c.Path] = blobs[i]
	}
	eachValue(record, func(at place, value []byte, _ bool) []byte {
		path := at.String()
		if blob, ok := waiting[path]; ok {
			delete(waiting, path)
			return blob
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
	copied := *record
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
