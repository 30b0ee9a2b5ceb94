package boltstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// maxStepLog bounds the log of one step of one run. What comes after is counted,
// not kept.
const maxStepLog = quota.MaxStepLog

// logLine is an encoded line.
type logLine struct {
	step    string
	encoded []byte
}

func encodeLogs(logs []runs.Log) (lines []logLine, size int, err error) {
	for i := range logs {
		encoded, err := json.Marshal(&logs[i])
		if err != nil {
			return nil, 0, fmt.Errorf("encode log line of %s: %w", logs[i].Step, err)
		}
		lines = append(lines, logLine{step: logs[i].Step, encoded: encoded})
		size += len(encoded)
	}
	return lines, size, nil
}

// logSize is what a step of a run has logged.
type logSize struct{ bytes, dropped uint64 }

func (s *Store) putLogs(w *writer, run []byte, lines []logLine) error {
	if len(lines) == 0 {
		return nil
	}
	seq := lastLog(w.Bucket(bucketLogs), run)
	sizes := map[string]*logSize{}
	for _, line := range lines {
		size := sizes[line.step]
		if size == nil {
			var err error
			if size, err = getLogSize(w.Tx, run, line.step); err != nil {
				return err
			}
			sizes[line.step] = size
		}
		if size.bytes+uint64(len(line.encoded)) > maxStepLog {
			size.dropped++
			continue
		}
		size.bytes += uint64(len(line.encoded))
		seq++
		if err := w.putNew(bucketLogs, seqKey(run, seq), line.encoded); err != nil {
			return err
		}
	}
	for step, size := range sizes {
		if err := putLogSize(w, run, step, size); err != nil {
			return err
		}
	}
	return nil
}

// lastLog returns the number of a run's last line, 0 when it has none.
func lastLog(b *bolt.Bucket, run []byte) uint64 {
	cursor := b.Cursor()
	key, _ := cursor.Seek(seqKey(run, 1<<64-1))
	if key == nil {
		key, _ = cursor.Last()
	} else if !bytes.HasPrefix(key, run) {
		key, _ = cursor.Prev()
	}
	if !bytes.HasPrefix(key, run) {
		return 0
	}
	return keySeq(key)
}

// logSizeKey uses the hash of long step paths: a key of bbolt is bounded, and a
// loop's key may be any text.
func logSizeKey(run []byte, step string) []byte {
	if len(step) > 1024 {
		return append(join(run, []byte{1}), hashKey([]byte(step))...)
	}
	return append(join(run, []byte{0}), step...)
}

func getLogSize(tx *bolt.Tx, run []byte, step string) (*logSize, error) {
	key := logSizeKey(run, step)
	stored, err := getSealed(tx.Bucket(bucketLogSizes), bucketLogSizes, key)
	if err != nil || stored == nil {
		return &logSize{}, err
	}
	if len(stored) < 16 {
		return nil, &store.CorruptError{Bucket: string(bucketLogSizes), Key: hexKey(key), Detail: "too short"}
	}
	return &logSize{bytes: binary.BigEndian.Uint64(stored), dropped: binary.BigEndian.Uint64(stored[8:])}, nil
}

// putLogSize keeps the step's path in the value, since the key may be a hash.
func putLogSize(w *writer, run []byte, step string, size *logSize) error {
	value := binary.BigEndian.AppendUint64(nil, size.bytes)
	value = binary.BigEndian.AppendUint64(value, size.dropped)
	return w.put(bucketLogSizes, logSizeKey(run, step), append(value, step...))
}

// Logs is that of store.Logs.
func (s *Store) Logs(runID, step string, from uint64, limit int) (lines []runs.Log, next uint64, err error) {
	run, err := runKey(runID)
	if err != nil {
		return nil, 0, err
	}
	next = max(from, 1)
	for more := true; more; {
		var part [][]byte
		err := s.view(func(tx *bolt.Tx) (err error) {
			if tx.Bucket(bucketRuns).Get(run) == nil {
				return fmt.Errorf("run %s: %w", runID, store.ErrRunNotFound)
			}
			part, next, more, err = readLogs(tx, run, next)
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		first := next - uint64(len(part))
		for i, encoded := range part {
			var line runs.Log
			if err := json.Unmarshal(encoded, &line); err != nil {
				key := seqKey(run, first+uint64(i))
				return nil, 0, &store.CorruptError{Path: s.path, Bucket: string(bucketLogs), Key: hexKey(key), Detail: err.Error()}
			}
			if step != "" && line.Step != step {
				continue
			}
			lines = append(lines, line)
			if limit > 0 && len(lines) == limit {
				return lines, first + uint64(i) + 1, nil
			}
		}
	}
	dropped, err := s.droppedLines(run, step)
	if err != nil {
		return nil, 0, err
	}
	return append(lines, dropped...), next, nil
}

// readLogs copies lines out; their numbers have no holes.
func readLogs(tx *bolt.Tx, run []byte, from uint64) (part [][]byte, next uint64, more bool, err error) {
	cursor := tx.Bucket(bucketLogs).Cursor()
	size := 0
	for key, value := cursor.Seek(seqKey(run, from)); bytes.HasPrefix(key, run); key, value = cursor.Next() {
		if len(part) == viewRecords || size > viewBytes {
			return part, from + uint64(len(part)), true, nil
		}
		line, err := unseal(bucketLogs, key, value)
		if err != nil {
			return nil, 0, false, err
		}
		part = append(part, bytes.Clone(line))
		size += len(line)
	}
	return part, from + uint64(len(part)), false, nil
}

func (s *Store) droppedLines(run []byte, step string) (lines []runs.Log, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		cursor := tx.Bucket(bucketLogSizes).Cursor()
		for key, value := cursor.Seek(run); bytes.HasPrefix(key, run); key, value = cursor.Next() {
			stored, err := unseal(bucketLogSizes, key, value)
			if err != nil {
				return err
			}
			if len(stored) < 16 {
				return &store.CorruptError{Bucket: string(bucketLogSizes), Key: hexKey(key), Detail: "too short"}
			}
			count, of := binary.BigEndian.Uint64(stored[8:]), string(stored[16:])
			if count > 0 && (step == "" || step == of) {
				lines = append(lines, store.DroppedLine(of, count, s.options.Now))
			}
		}
		return nil
	})
	return lines, err
}
