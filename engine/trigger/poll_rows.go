package trigger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// pollBucket is the store's bucket of what polls have seen.
const pollBucket = "polls"

// maxPollKeys is how many keys a poll remembers: those that it saw last.
const maxPollKeys = 10_000

// digest is the beginning of a SHA-256: enough to tell keys and items apart.
type digest [16]byte

func digestOf(data []byte) digest {
	sum := sha256.Sum256(data)
	return digest(sum[:16])
}

// seenKey is a key that a poll has seen, with the item that it had then.
type seenKey struct {
	item digest
	poll uint64 // the number of the poll that saw it last
}

// pollRow is what is stored of a poll between two calls.
type pollRow struct {
	Hash     string    `json:"hash"`               // of the definition that the keys belong to
	Epoch    uint64    `json:"epoch"`              // of the store
	Poll     uint64    `json:"poll"`               // how often the row was changed
	At       time.Time `json:"at"`                 // of the poll that wrote it
	Failures int       `json:"failures,omitempty"` // in a row, since the poll was resumed
	Error    string    `json:"error,omitempty"`    // of the last poll, where it failed
	FailedAt time.Time `json:"failed_at,omitzero"` // of that poll
	Keys     int       `json:"keys"`

	seen map[digest]seenKey
}

const seenSize = 16 + 16 + 8

// encode writes the row: a line of JSON and behind it the keys, in order.
func (r *pollRow) encode() ([]byte, error) {
	keys := slices.SortedFunc(maps.Keys(r.seen), func(a, b digest) int { return bytes.Compare(a[:], b[:]) })
	r.Keys = len(keys)
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the keys of a poll: %w", err)
	}
	data = append(data, '\n')
	for _, key := range keys {
		seen := r.seen[key]
		data = append(data, key[:]...)
		data = append(data, seen.item[:]...)
		data = binary.BigEndian.AppendUint64(data, seen.poll)
	}
	return data, nil
}

var errPollRow = errors.New("what a poll has seen can't be read")

func decodePollRow(data []byte) (*pollRow, error) {
	head, rest, ok := bytes.Cut(data, []byte{'\n'})
	row := &pollRow{}
	if !ok || json.Unmarshal(head, row) != nil || row.Keys < 0 || len(rest) != row.Keys*seenSize {
		return nil, errPollRow
	}
	row.seen = make(map[digest]seenKey, row.Keys)
	for ; len(rest) > 0; rest = rest[seenSize:] {
		row.seen[digest(rest[:16])] = seenKey{item: digest(rest[16:32]), poll: binary.BigEndian.Uint64(rest[32:seenSize])}
	}
	return row, nil
}

// forget drops the keys that were seen longest ago where there are too many.
func (r *pollRow) forget(most int) {
	if len(r.seen) <= most {
		return
	}
	keys := slices.SortedFunc(maps.Keys(r.seen), func(a, b digest) int {
		return cmp.Or(cmp.Compare(r.seen[b].poll, r.seen[a].poll), bytes.Compare(a[:], b[:]))
	})
	for _, key := range keys[most:] {
		delete(r.seen, key)
	}
}

// pollRow reads what a poll has seen; nil where it has seen nothing yet. A row that
// can't be read counts as none: the next poll notes what is there.
func (tr *Triggers) pollRow(workflow, trigger string) (*pollRow, error) {
	data, _, ok, err := tr.store.KV().Get(pollBucket, runs.TriggerID(workflow, trigger))
	if err != nil {
		return nil, tr.fault(fmt.Errorf("read what the poll %s/%s has seen: %w", workflow, trigger, err))
	}
	if !ok {
		return nil, nil
	}
	row, err := decodePollRow(data)
	if err != nil {
		tr.config.Log.Warn("poll begins anew", "workflow", workflow, "trigger", trigger, "error", err)
		return nil, nil
	}
	return row, nil
}

func (tr *Triggers) putPollRow(workflow, trigger string, row *pollRow) error {
	row.forget(maxPollKeys)
	data, err := row.encode()
	if err != nil {
		return err
	}
	if _, err := tr.store.KV().Put(pollBucket, runs.TriggerID(workflow, trigger), data, nil); err != nil {
		return tr.fault(fmt.Errorf("store what the poll %s/%s has seen: %w", workflow, trigger, err))
	}
	return nil
}
