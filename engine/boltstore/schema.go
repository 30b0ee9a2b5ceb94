package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// schemaVersion is the version of the file's layout. A newer file is refused; an
// older one would be moved up step by step, in one transaction.
const schemaVersion = 1

// schemaNeeds is the first flowrun version that reads schemaVersion: an older
// program names it when it refuses the file (P19).
const schemaNeeds = "0.1.0"

// The buckets. Keys are binary ULIDs of 16 bytes, so that the newest run is the
// last key and a run's records lie side by side.
var (
	bucketMeta       = []byte("meta")             // schema_version, needs
	bucketRuns       = []byte("runs")             // run -> row
	bucketByWorkflow = []byte("runs_by_workflow") // len16 workflow run -> nothing
	bucketByStatus   = []byte("runs_by_status")   // status 0 run -> nothing
	bucketOpen       = []byte("runs_open")        // run -> nothing: what a start must take up
	bucketRequests   = []byte("requests")         // sha256 of the request id -> run
	bucketJournal    = []byte("journal")          // run seq64 -> record
	bucketLogs       = []byte("logs")             // run seq64 -> line
	bucketLogSizes   = []byte("log_sizes")        // run step -> bytes, dropped lines
	bucketPlans      = []byte("plans")            // sha256 -> plan
	bucketBlobs      = []byte("blobs")            // sha256 -> large value
	bucketKV         = []byte("kv")               // one bucket inside for each of KV's

	bucketByLabel      = []byte("runs_by_label") // len16 name len16 value run -> nothing
	bucketSlots        = []byte("slots")         // len16 key, h(eld) or q(ueued), run -> nothing
	bucketState        = []byte("state")         // len16 workflow name -> value
	bucketCursors      = []byte("cursors")       // plan.CursorKey -> watermark
	bucketStateHistory = []byte("state_history") // bucket 0 key -> changes
)

func buckets() [][]byte {
	return [][]byte{
		bucketMeta, bucketRuns, bucketByWorkflow, bucketByStatus, bucketOpen, bucketRequests,
		bucketJournal, bucketLogs, bucketLogSizes, bucketPlans, bucketBlobs, bucketKV,
	}
}

// laterBuckets are those that a store of the same schema may lack: they are
// added when it is opened.
func laterBuckets() [][]byte {
	return [][]byte{bucketByLabel, bucketSlots, bucketState, bucketCursors, bucketStateHistory}
}

var (
	keySchemaVersion = []byte("schema_version")
	keyNeeds         = []byte("needs")
)

func initSchema(tx *bolt.Tx) error {
	for _, name := range append(buckets(), laterBuckets()...) {
		if _, err := tx.CreateBucket(name); err != nil {
			return fmt.Errorf("create bucket %s: %w", name, err)
		}
	}
	version := binary.BigEndian.AppendUint64(nil, schemaVersion)
	if err := putSealed(tx.Bucket(bucketMeta), bucketMeta, keySchemaVersion, version); err != nil {
		return err
	}
	return putSealed(tx.Bucket(bucketMeta), bucketMeta, keyNeeds, []byte(schemaNeeds))
}

// checkSchema refuses a file of a newer schema, and one that is no store.
func (s *Store) checkSchema() error {
	return s.view(func(tx *bolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			return &CorruptError{Detail: "it is a bbolt file, but not one of flowrun: no bucket meta"}
		}
		version, err := getSealed(meta, bucketMeta, keySchemaVersion)
		if err != nil {
			return err
		}
		if len(version) != 8 {
			return &CorruptError{Bucket: string(bucketMeta), Key: hexKey(keySchemaVersion), Detail: "no schema version"}
		}
		if found := binary.BigEndian.Uint64(version); found > schemaVersion {
			needs, _ := getSealed(meta, bucketMeta, keyNeeds)
			return &NewerError{Schema: found, Known: schemaVersion, Needs: string(needs)}
		}
		for _, name := range buckets() {
			if tx.Bucket(name) == nil {
				return &CorruptError{Detail: fmt.Sprintf("bucket %s is missing", name)}
			}
		}
		return nil
	})
}

// named puts the store's path into the typed errors of a read.
func (s *Store) named(err error) error {
	var corrupt *CorruptError
	if errors.As(err, &corrupt) && corrupt.Path == "" {
		corrupt.Path = s.path
	}
	var newer *NewerError
	if errors.As(err, &newer) && newer.Path == "" {
		newer.Path = s.path
	}
	return err
}
