package boltstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// EachRunUse is that of store.Upkeep. Each run is measured in a transaction of its own.
func (s *Store) EachRunUse(visit func(store.RunUse) error) error {
	for cursor := ""; ; {
		rows, next, err := s.Runs(runs.Filter{Limit: scanRows, Cursor: cursor})
		if err != nil {
			return err
		}
		for i := range rows {
			runUse := store.RunUse{Run: rows[i]}
			run, err := runKey(rows[i].ID)
			if err != nil {
				return err
			}
			err = s.view(func(tx *bolt.Tx) (err error) {
				runUse.Records, err = recordBytes(tx, run)
				if err != nil {
					return err
				}
				runUse.Logs = logBytes(tx, run)
				runUse.Blobs, err = s.largeBytes(tx, run)
				return err
			})
			if err != nil {
				return err
			}
			if err := visit(runUse); err != nil {
				return err
			}
		}
		if cursor = next; next == "" {
			return nil
		}
	}
}

// glance is what tells whose a record or a line is.
type glance struct {
	Event struct {
		Path string `json:"path"`
	} `json:"event"`
	Commands []struct {
		Path string `json:"path"`
		Call *struct {
			Step   string `json:"step"`
			Action string `json:"action"`
		} `json:"call"`
	} `json:"commands"`
	Step string `json:"step"` // of a line
}

// PluginBytes is that of store.Upkeep.
func (s *Store) PluginBytes(id string) (by map[string]int64, err error) {
	run, err := runKey(id)
	if err != nil {
		return nil, err
	}
	by = map[string]int64{}
	err = s.view(func(tx *bolt.Tx) error {
		operations, steps := map[string]string{}, map[string]string{}
		blobs := tx.Bucket(bucketBlobs)
		cursor := tx.Bucket(bucketJournal).Cursor()
		for key, value := cursor.Seek(run); bytes.HasPrefix(key, run); key, value = cursor.Next() {
			size, seen, err := glanceRecord(blobs, key, value)
			if err != nil {
				return err
			}
			path := runs.OperationOf(seen.Event.Path)
			by[operations[path]] += size
			for _, command := range seen.Commands {
				if command.Call != nil {
					plugin, _, _ := strings.Cut(command.Call.Action, ".")
					operations[command.Path], steps[command.Call.Step] = plugin, plugin
				}
			}
		}
		cursor = tx.Bucket(bucketLogs).Cursor()
		for key, value := cursor.Seek(run); bytes.HasPrefix(key, run); key, value = cursor.Next() {
			var seen glance
			if len(value) > sealHeader && json.Unmarshal(value[sealHeader:], &seen) == nil {
				by[steps[seen.Step]] += int64(len(value))
			}
		}
		return nil
	})
	return by, err
}

// glanceRecord reads what a record says of its owner; large values stay where
// they are.
func glanceRecord(blobs *bolt.Bucket, key, value []byte) (size int64, seen glance, err error) {
	payload, err := unseal(bucketJournal, key, value)
	if err != nil {
		return 0, seen, err
	}
	cuts, encoded, err := splitRecord(key, payload)
	if err != nil {
		return 0, seen, err
	}
	size = int64(len(value)) + bytesOfCuts(blobs, cuts)
	if len(encoded) == 0 {
		return size, seen, &store.CorruptError{Bucket: string(bucketJournal), Key: hexKey(key), Detail: "an empty record"}
	}
	if err := json.Unmarshal(encoded[1:], &seen); err != nil {
		return 0, seen, fmt.Errorf("read record %d of run %s: %w", keySeq(key), runID(key), err)
	}
	return size, seen, nil
}
