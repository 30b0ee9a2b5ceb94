package boltstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// A mark counts how a store goes on: it rises with the first change after a start, in
// each minute with changes, and at a close. It stands in the store, in the transaction
// that it belongs to, and after that in a file beside. So the file beside is never
// ahead of the store that it belongs to, whenever the process dies: where it is, an
// older copy was put in the store's place (ADR 30).
type mark struct {
	Count uint64    `json:"count"`
	At    time.Time `json:"at"` // zero where nobody tells the time
}

// markEvery is how often the mark rises while the store changes.
const markEvery = time.Minute

// markSuffix is appended to the store's path: the file beside it.
const markSuffix = ".mark"

func (m mark) encode() []byte {
	data := binary.BigEndian.AppendUint64(nil, m.Count)
	if m.At.IsZero() {
		return data
	}
	return binary.BigEndian.AppendUint64(data, uint64(m.At.UnixNano())) //nolint:gosec // kept bit for bit
}

func getMark(tx *bolt.Tx) (m mark, err error) {
	stored, err := getSealed(tx.Bucket(bucketMeta), bucketMeta, keyMark)
	if err != nil || stored == nil {
		return mark{}, err
	}
	if len(stored) != 8 && len(stored) != 16 {
		return mark{}, &store.CorruptError{Bucket: string(bucketMeta), Key: hexKey(keyMark), Detail: "no mark"}
	}
	m.Count = binary.BigEndian.Uint64(stored)
	if len(stored) == 16 {
		m.At = time.Unix(0, int64(binary.BigEndian.Uint64(stored[8:]))).UTC() //nolint:gosec // kept bit for bit
	}
	return m, nil
}

// readBeside returns the mark beside a store; none where there is no such file, or one
// that a power loss has left empty.
func readBeside(path string) (m mark, ok bool, err error) {
	data, err := os.ReadFile(path + markSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return mark{}, false, nil
	}
	if err != nil {
		return mark{}, false, err
	}
	return m, json.Unmarshal(data, &m) == nil, nil
}

// markSize is that of the file beside: so small that a disk writes it whole or not at all.
const markSize = 128

// writeBeside changes the file beside a store: in its place, so that nothing but its one
// block is made durable, no size, no name. A file of another size, of a version before, is
// replaced. On a full disk it stays as it is, which is behind the store: room must be made
// there, not be asked for.
func writeBeside(path string, m mark) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	data = append(append(data, bytes.Repeat([]byte{' '}, max(0, markSize-1-len(data)))...), '\n')
	isWritten, err := overwriteBeside(path+markSuffix, data)
	if !isWritten && err == nil {
		err = replaceBeside(path+markSuffix, data)
	}
	if err != nil && wantsSpace(err) {
		return nil
	}
	return err
}

// overwriteBeside writes into a file of the same size; false where there is none.
func overwriteBeside(path string, data []byte) (isWritten bool, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (info.Size() != int64(len(data)) || !info.Mode().IsRegular()) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false, err
	}
	if _, err = file.WriteAt(data, 0); err == nil {
		err = syncData(file)
	}
	return true, errors.Join(err, file.Close())
}

// replaceBeside puts a new file in the place of the one that is there.
func replaceBeside(path string, data []byte) error {
	temporary := path + ".new"
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(data); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(temporary)
		return err
	}
	return os.Rename(temporary, path)
}

// marks is what a store knows of its mark. It is the committer's.
type marks struct {
	kept    bool // whether this store keeps one: not copies that are checked and edited
	current mark
	risen   bool // since the start
	behind  bool // something was stored since it rose
}

// next returns the mark that the next transaction shall store; nil = none is due. A close
// behind the transaction that it has risen with needs no other: a copy from between the
// two holds all that the store does.
func (k *marks) next(now func() time.Time, closes bool) *mark {
	if !k.kept {
		return nil
	}
	m := mark{Count: k.current.Count + 1}
	if now != nil {
		m.At = now().UTC()
	}
	if k.risen && closes && !k.behind {
		return nil
	}
	if k.risen && !closes {
		if age := m.At.Sub(k.current.At); now == nil || age >= 0 && age < markEvery {
			return nil
		}
	}
	return &m
}

// keepMarks compares the store with the file beside it and keeps both from then on. A
// store that this start has made begins anew, whatever lies beside.
func (s *Store) keepMarks(created bool) error {
	var stored mark
	if err := s.view(func(tx *bolt.Tx) (err error) {
		stored, err = getMark(tx)
		return err
	}); err != nil {
		return err
	}
	beside, ok, err := readBeside(s.path)
	if err != nil {
		return fmt.Errorf("open store %s: %w", s.path, err)
	}
	s.marks.current = stored
	switch {
	case created:
		ok = false
	case stored.Count == 0: // of a version without marks: whoever goes back to it does so on purpose
		s.marks.current = beside
	case ok && stored.Count < beside.Count && !s.options.AcceptRollback:
		return &store.RolledBackError{Path: s.path, Mark: s.path + markSuffix, Stored: stored.At, Beside: beside.At, Counts: [2]uint64{stored.Count, beside.Count}}
	case ok && stored.Count < beside.Count:
		if err := s.acceptRollback(stored, beside); err != nil {
			return err
		}
	}
	s.marks.kept = true
	if ok && beside.Count == s.marks.current.Count || s.marks.current.Count == 0 {
		return nil // the first change makes both
	}
	if err := writeBeside(s.path, s.marks.current); err != nil {
		return fmt.Errorf("open store %s: note its mark: %w", s.path, err)
	}
	return nil
}

// acceptRollback makes an older copy the store: as after a restore it has an epoch of
// its own, and what was open is paused.
func (s *Store) acceptRollback(stored, beside mark) error {
	from := "an older copy"
	if !stored.At.IsZero() {
		from = "a copy of " + stored.At.Format(time.RFC3339)
	}
	r := restore{path: s.path, options: s.options, info: &store.RestoreInfo{}, from: from}
	accepted := mark{Count: beside.Count + 1, At: beside.At}
	if s.options.Now != nil {
		accepted.At = s.options.Now().UTC()
	}
	s.marks.current = accepted
	if err := s.update(func(w *writer) error {
		if err := r.edit(w); err != nil {
			return err
		}
		if err := w.put(bucketMeta, keyMark, accepted.encode()); err != nil {
			return err
		}
		return w.finish(censusRunning)
	}); err != nil {
		return fmt.Errorf("open store %s: accept that it was put back: %w", s.path, err)
	}
	s.unclosed = true
	s.rollback = &store.Rollback{Stored: stored.At, Beside: beside.At, Parked: r.info.Parked, Epoch: r.info.Epoch}
	return nil
}

// Rollback is that of store.File.
func (s *Store) Rollback() *store.Rollback { return s.rollback }
