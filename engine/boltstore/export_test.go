package boltstore

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"testing"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/journal"
)

// SetSchemaForTest rewrites a closed store's schema version.
func SetSchemaForTest(t *testing.T, path string, version uint64, needs string) {
	t.Helper()
	editForTest(t, path, func(tx *bolt.Tx) error {
		w := &writer{Tx: tx, census: census{}}
		return errors.Join(
			w.put(bucketMeta, keySchemaVersion, binary.BigEndian.AppendUint64(nil, version)),
			w.put(bucketMeta, keyNeeds, []byte(needs)),
		)
	})
}

// EditValuesForTest changes stored values of a closed store in place: edit gets
// every value with its bucket and returns the new one. The census is made to
// match: the change is one that only a record's own checksum can find.
func EditValuesForTest(t *testing.T, path string, edit func(bucket string, value []byte) []byte) {
	t.Helper()
	editForTest(t, path, func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error { return editBucket(string(name), b, edit) })
	})
}

func editBucket(name string, b *bolt.Bucket, edit func(string, []byte) []byte) error {
	changed := map[string][]byte{}
	err := b.ForEach(func(key, value []byte) error {
		if value == nil {
			return editBucket(name, b.Bucket(key), edit)
		}
		changed[string(key)] = edit(name, append([]byte(nil), value...))
		return nil
	})
	for key, value := range changed {
		err = errors.Join(err, b.Put([]byte(key), value))
	}
	return err
}

func editForTest(t *testing.T, path string, edit func(tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	sealed := func(tx *bolt.Tx) error {
		if err := edit(tx); err != nil {
			return err
		}
		counted, err := recount(tx)
		w := &writer{Tx: tx, census: counted}
		return errors.Join(err, w.finish(censusClosed))
	}
	if err := errors.Join(db.Update(sealed), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// FailNextCommit makes the next group that writes fail.
func (s *Store) FailNextCommit(cause error) error {
	return s.do(0, func(*writer) (bool, error) { return true, &txError{cause} })
}

// BlockCommitter holds the committer inside a transaction until the returned
// function is called, so that what follows gathers.
func (s *Store) BlockCommitter() (release func()) {
	entered, leave := make(chan struct{}), make(chan struct{})
	_ = s.queue.put(&newCall(0, func(*writer) (bool, error) {
		close(entered)
		<-leave
		return false, nil
	}).op)
	<-entered
	return func() { close(leave) }
}

// DropFirstForTest removes the first row of a bucket of a closed store, and makes
// the census match.
func DropFirstForTest(t *testing.T, path, bucket string) {
	t.Helper()
	editForTest(t, path, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		key, _ := b.Cursor().First()
		return b.Delete(key)
	})
}

// ResealForTest changes the payloads of a closed store's top-level buckets, seals
// them anew and makes the census match. It returns how many changed.
func ResealForTest(t *testing.T, path string, edit func(bucket string, payload []byte) []byte) (changed int) {
	t.Helper()
	editForTest(t, path, func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			edited := map[string][]byte{}
			err := b.ForEach(func(key, value []byte) error {
				if value == nil {
					return nil
				}
				payload, err := unseal(name, key, value)
				if now := edit(string(name), payload); string(now) != string(payload) {
					edited[string(key)] = seal(name, key, now)
				}
				return err
			})
			changed += len(edited)
			for key, value := range edited {
				err = errors.Join(err, b.Put([]byte(key), value))
			}
			return err
		})
	})
	return changed
}

// ExpireBatch is how many runs are removed side by side now.
func (s *Store) ExpireBatch() int { return s.expireBatch() }

// DropRecordForTest takes one record out of the journal of a closed store. The
// census is made to match: the change is one that only the record's neighbours
// can tell.
func DropRecordForTest(t *testing.T, path, id string, seq uint64) {
	t.Helper()
	run, err := runKey(id)
	if err != nil {
		t.Fatal(err)
	}
	editForTest(t, path, func(tx *bolt.Tx) error { return tx.Bucket(bucketJournal).Delete(seqKey(run, seq)) })
}

// OpenUnreadForTest opens a store whose records nobody looks at before they are
// asked for, as those of a large file are for a while.
func OpenUnreadForTest(path string, o Options) (*Store, error) {
	o = o.withDefaults()
	o.CheckAtStart = 1
	s, err := openOffline(path, o)
	if err != nil {
		return nil, err
	}
	s.queue.init()
	s.committer.Go(s.commitLoop)
	s.stopScrub = func() {}
	return s, nil
}

// LoseIndexRowForTest removes a row of an index as a fault of the program would:
// checksums and census hold, only the comparison of index and runs finds it.
func (s *Store) LoseIndexRowForTest() error {
	return s.do(0, func(w *writer) (bool, error) {
		key, _ := w.Bucket(bucketByWorkflow).Cursor().First()
		return true, w.remove(bucketByWorkflow, append([]byte(nil), key...))
	})
}

// PutWholeForTest stores a record as older programs did: its output in one blob.
func PutWholeForTest(s *Store, run string, record *journal.Record) error {
	key, err := runKey(run)
	if err != nil {
		return err
	}
	small, cuts, _, err := cutRecord(record)
	if err != nil {
		return err
	}
	whole := []byte(record.Event.Completed.Output)
	stored := storedRecord{seq: record.Seq, blobs: []largeBlob{{hashKey(whole), whole}}}
	if stored.cuts, err = json.Marshal([]cut{{Path: cuts[0].Path, Hash: hex.EncodeToString(hashKey(whole))}}); err != nil {
		return err
	}
	if stored.encoded, err = journal.Encode(small); err != nil {
		return err
	}
	return s.do(len(whole), func(w *writer) (bool, error) {
		return true, inTx(func() error { return putRecords(w, key, []storedRecord{stored}) })
	})
}

// BlobsForTest counts the large values and pieces of them.
func BlobsForTest(t *testing.T, s *Store) (count int) {
	t.Helper()
	err := s.view(func(tx *bolt.Tx) error {
		count = tx.Bucket(bucketBlobs).Stats().KeyN
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// Flush waits until all that was handed over before is durable, or for ctx.
func (s *Store) Flush(ctx context.Context) error {
	c := newCall(0, func(*writer) (bool, error) { return false, nil })
	if err := s.queue.put(&c.op); err != nil {
		return err
	}
	select {
	case err := <-c.answered:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// UsedPagesForTest is how many pages of the file hold something.
func (s *Store) UsedPagesForTest() int64 {
	return (s.space.fileBytes.Load()-s.space.freeBytes.Load())/int64(s.pageSize) - 2
}

// TransactionsForTest is how many transactions have read so far.
func (s *Store) TransactionsForTest() int { return s.db.Stats().TxN }

// ListsFreePagesForTest reports whether the last commit has stored the free pages.
func (s *Store) ListsFreePagesForTest() bool {
	m, err := readMetas(s.file)
	return err == nil && m.freeList != noFreeList
}

// PagesForTest is how many pages of the file were ever in use.
func (s *Store) PagesForTest() (int64, error) {
	m, err := readMetas(s.file)
	if err != nil {
		return 0, err
	}
	return int64(m.pages), nil
}
