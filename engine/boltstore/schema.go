package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// schemaVersion is the version of the file's layout. A newer file is refused; an
// older one is moved up step by step (migrate.go).
const schemaVersion = 4

// schemaNeeds is the first flowrun version that reads schemaVersion: an older
// program names it when it refuses the file (P19).
const schemaNeeds = "0.1.0"

// The buckets. Keys are binary ULIDs of 16 bytes, so that the newest run is the
// last key and a run's records lie side by side.
var (
	bucketMeta       = []byte("meta")             // schema_version, needs, census, epoch, migrating, saved_at
	bucketRuns       = []byte("runs")             // run -> row
	bucketByWorkflow = []byte("runs_by_workflow") // len16 workflow run -> nothing, see isChild
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

	bucketRefs      = []byte("refs")      // of plans and blobs, see refs.go
	bucketDeletions = []byte("deletions") // run -> nothing: what is left of it goes

	bucketFires       = []byte("fires")         // of triggers, see fires.go
	bucketFiresBySlot = []byte("fires_by_slot") // the same in the order of time
	bucketTriggers    = []byte("triggers")      // len16 workflow len16 trigger -> state
	bucketOutbox      = []byte("outbox")        // seq64 -> what others wait to hear of a run

	bucketByWorkflowStatus = []byte("runs_by_workflow_status") // len16 workflow, status 0, run -> nothing
	bucketChildren         = []byte("runs_by_parent")          // run, run of a sub-workflow -> nothing
	bucketCounts           = []byte("run_counts")              // of workflows, statuses and hours, see counts.go
	bucketAttention        = []byte("attention")               // run -> nothing: it needs somebody, see attention.go
	bucketAttentionBy      = []byte("attention_by_workflow")   // len16 workflow, run -> nothing
	bucketLooks            = []byte("looks")                   // run -> who looked at its failure
	bucketSessions         = []byte("sessions")                // sha256 -> when it ends, and what the server notes
)

// buckets are those of a schema.
func buckets(schema uint64) [][]byte {
	first := [][]byte{
		bucketMeta, bucketRuns, bucketByWorkflow, bucketByStatus, bucketOpen, bucketRequests,
		bucketJournal, bucketLogs, bucketLogSizes, bucketPlans, bucketBlobs, bucketKV,
	}
	if schema < 2 {
		return first
	}
	second := append(first,
		bucketByLabel, bucketSlots, bucketState, bucketCursors, bucketStateHistory, bucketRefs, bucketDeletions)
	if schema < 3 {
		return second
	}
	third := append(second, bucketFires, bucketFiresBySlot, bucketTriggers, bucketOutbox)
	if schema < 4 {
		return third
	}
	return append(third, bucketsOfFour()...)
}

// bucketsOfFour are those that came with schema 4.
func bucketsOfFour() [][]byte {
	return [][]byte{bucketByWorkflowStatus, bucketChildren, bucketCounts, bucketAttention, bucketAttentionBy, bucketLooks, bucketSessions}
}

var (
	keySchemaVersion = []byte("schema_version")
	keyNeeds         = []byte("needs")
	keyCensus        = []byte("census")
	keyEpoch         = []byte("epoch")     // counts restores
	keyMigrating     = []byte("migrating") // the schema that a migration goes to: its backup is made
	keySavedAt       = []byte("saved_at")  // of a backup
	keyMark          = []byte("mark")      // see mark.go
)

// initSchema fills a new file. It counts as closed: nothing is written behind it.
func initSchema(tx *bolt.Tx) error {
	w := &writer{Tx: tx, census: census{}, mark: &mark{Count: 1}}
	for _, name := range buckets(schemaVersion) {
		if _, err := tx.CreateBucket(name); err != nil {
			return fmt.Errorf("create bucket %s: %w", name, err)
		}
	}
	if err := putSchema(w, schemaVersion); err != nil {
		return err
	}
	return w.finish(censusClosed)
}

func putSchema(w *writer, version uint64) error {
	if err := w.put(bucketMeta, keySchemaVersion, binary.BigEndian.AppendUint64(nil, version)); err != nil {
		return err
	}
	return w.put(bucketMeta, keyNeeds, []byte(schemaNeeds))
}

// checkSchema returns the schema of a file. It refuses a newer one, and a file
// that is no store.
func checkSchema(tx *bolt.Tx) (uint64, error) {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		return 0, &store.CorruptError{Detail: "it is a bbolt file, but not one of flowrun: no bucket meta"}
	}
	version, err := getSealed(meta, bucketMeta, keySchemaVersion)
	if err != nil {
		return 0, err
	}
	schema, err := decodeSchema(version)
	if err != nil {
		return 0, err
	}
	if schema > schemaVersion {
		needs, _ := getSealed(meta, bucketMeta, keyNeeds)
		return 0, &store.NewerError{Schema: schema, Known: schemaVersion, Needs: string(needs)}
	}
	for _, name := range buckets(schema) {
		if tx.Bucket(name) == nil {
			return 0, &store.CorruptError{Detail: fmt.Sprintf("bucket %s is missing", name)}
		}
	}
	return schema, nil
}

func decodeSchema(version []byte) (uint64, error) {
	if len(version) != 8 {
		return 0, &store.CorruptError{Bucket: string(bucketMeta), Key: hexKey(keySchemaVersion), Detail: "no schema version"}
	}
	return binary.BigEndian.Uint64(version), nil
}

// named puts the store's path into the typed errors of a read.
func (s *Store) named(err error) error { return named(s.path, err) }

func named(path string, err error) error {
	if corrupt, ok := errors.AsType[*store.CorruptError](err); ok && corrupt.Path == "" {
		corrupt.Path = path
	}
	if newer, ok := errors.AsType[*store.NewerError](err); ok && newer.Path == "" {
		newer.Path = path
	}
	return err
}
