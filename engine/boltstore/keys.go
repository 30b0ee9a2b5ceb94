package boltstore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// runKeySize is the length of a run's binary id.
const runKeySize = 16

// runKey is the binary form of a run id.
func runKey(id string) ([]byte, error) {
	parsed, err := store.ParseID(id)
	if err != nil {
		return nil, err
	}
	return parsed[:], nil
}

func runID(key []byte) string { return strings.ToLower(ulid.ULID(key[:runKeySize]).String()) }

// seqKey is the key of a record or log line of a run.
func seqKey(run []byte, seq uint64) []byte {
	key := make([]byte, 0, runKeySize+8)
	return binary.BigEndian.AppendUint64(append(key, run...), seq)
}

func keySeq(key []byte) uint64 { return binary.BigEndian.Uint64(key[runKeySize:]) }

// workflowPrefix is length-prefixed, so that no name can reach into another's
// rows.
func workflowPrefix(workflow string) ([]byte, error) {
	if len(workflow) > 1<<12 {
		return nil, fmt.Errorf("workflow name of %d bytes is too long", len(workflow))
	}
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(workflow))), workflow...), nil
}

func statusPrefix(status runs.Status) []byte { return append([]byte(status), 0) }

func join(prefix, key []byte) []byte { return append(prefix[:len(prefix):len(prefix)], key...) }

// hashKey is the key of something that is stored under its own SHA-256.
func hashKey(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:]
}

func decodeHash(hash string) ([]byte, bool) {
	key, err := hex.DecodeString(hash)
	return key, err == nil && len(key) == sha256.Size
}
