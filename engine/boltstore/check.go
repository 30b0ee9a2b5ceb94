package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// CheckFile looks at all of a store file that no engine has open, and changes
// nothing: pages, the checksum of every record, the census,
// every index, and every reference to plans and large values (P14). What is
// wrong with the file is in the report. Errors: *LockedError, *NewerError, ctx's
// own, those of the file system.
func CheckFile(ctx context.Context, path string, o Options) (*store.Report, error) {
	o = o.withDefaults()
	report := &store.Report{Path: path}
	file, err := openLocked(path, os.O_RDONLY, lockShared, o.Timeout)
	if errors.Is(err, errLocked) {
		return nil, &store.LockedError{Path: path}
	}
	if err != nil {
		return nil, fmt.Errorf("check store %s: %w", path, err)
	}
	defer file.Close()
	state, err := preflight(file, 0, nil) // the records are read below: all that are damaged are told
	if errors.Is(err, store.ErrCorrupt) {
		report.Add(err)
		if info, err := file.Stat(); err == nil {
			report.Bytes = info.Size()
		}
		return report, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check store %s: %w", path, err)
	}
	report.Bytes, report.Pages, report.Schema, report.Closed = state.size, int(state.pages), state.schema, state.closed
	report.FreePages = int(state.freeBytes() / state.pageSize)
	db, err := openToRead(path, o)
	if errors.Is(err, store.ErrCorrupt) {
		report.Add(err)
		return report, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check store %s: %w", path, err)
	}
	err = checkOpened(ctx, db, report, o.largeFolder(path), true)
	return report, errors.Join(err, db.Close())
}

// checkOpened adds what is wrong with the content of a file whose pages were
// walked. A deep check decodes every record too, though its checksum is right. The files of
// large values are read where their folder is named.
func checkOpened(ctx context.Context, db *bolt.DB, report *store.Report, folder string, deep bool) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			report.Add(unreadable("", p))
		}
	}()
	return db.View(func(tx *bolt.Tx) error {
		schema, err := checkSchema(tx)
		if errors.Is(err, store.ErrCorrupt) {
			report.Add(err)
			return nil
		}
		if err != nil {
			return named(report.Path, err)
		}
		report.Schema = schema
		if report.Epoch, err = getEpoch(tx); err != nil {
			report.Add(err)
		}
		c := &contentCheck{
			ctx: ctx, tx: tx, report: report, schema: schema, deep: deep, folder: folder,
			expected: map[string]uint64{}, runs: map[countDelta]int{}, large: map[string]bool{},
		}
		return c.all(ctx)
	})
}

// checkAfterCrash is the full check of a file whose last program did not close
// it, where no other process has done it.
func (s *Store) checkAfterCrash() error {
	report := &store.Report{Path: s.path}
	if err := checkOpened(context.Background(), s.db, report, "", false); err != nil {
		return err
	}
	return report.Err()
}

// contentCheck compares the records with one another.
type contentCheck struct {
	ctx      context.Context //nolint:containedctx // of the one check
	tx       *bolt.Tx
	report   *store.Report
	schema   uint64
	deep     bool
	folder   string             // of large values; "" = their files are not looked at
	large    map[string]bool    // their files that rows name
	expected map[string]uint64  // rows of each index that follow from runs and journals
	runs     map[countDelta]int // counts of runs that follow from the runs
}

func (c *contentCheck) all(ctx context.Context) error {
	var done [][]byte
	for _, part := range []struct {
		bucket []byte
		each   func(key, payload []byte)
	}{
		{bucketRuns, c.run},
		{bucketJournal, new(journalCheck).of(c)},
		{bucketPlans, c.plan},
		{bucketBlobs, func(_, _ []byte) { c.report.Blobs++ }},
		{bucketRequests, c.request},
		{bucketLogs, c.ofRun(bucketLogs)},
		{bucketLogSizes, c.ofRun(bucketLogSizes)},
		{bucketFires, c.fire},
		{bucketTriggers, c.trigger},
		{bucketOutbox, c.entry},
		{bucketCounts, c.counts},
		{bucketAttention, c.attention},
		{bucketLooks, c.look},
		{bucketSessions, c.session},
		{bucketLargeFiles, c.largeFile},
		{bucketLargeRefs, c.largeRef},
		{bucketLargeUploads, c.largeUpload},
	} {
		done = append(done, part.bucket)
		b := c.tx.Bucket(part.bucket)
		if b == nil || c.later(part.bucket) {
			continue // of a later schema
		}
		if err := c.eachRow(ctx, part.bucket, part.bucket, b, part.each); err != nil {
			return err
		}
	}
	return c.others(ctx, done)
}

// others checks what nothing else points at, then the size of the indexes.
func (c *contentCheck) others(ctx context.Context, done [][]byte) error {
	err := c.tx.ForEach(func(name []byte, b *bolt.Bucket) error {
		if slices.ContainsFunc(done, func(bucket []byte) bool { return bytes.Equal(bucket, name) }) {
			return nil
		}
		return c.eachRow(ctx, name, name, b, nil)
	})
	if err != nil {
		return err
	}
	for _, index := range [][]byte{bucketByWorkflow, bucketByStatus, bucketOpen, bucketByLabel, bucketSlots, bucketRefs, bucketFiresBySlot, bucketByWorkflowStatus, bucketAttentionBy, bucketChildren} {
		b := c.tx.Bucket(index)
		if b == nil || c.later(index) || c.schema < 2 && (bytes.Equal(index, bucketByLabel) || bytes.Equal(index, bucketRefs)) {
			continue
		}
		if got, want := uint64(b.Stats().KeyN), c.expected[string(index)]; got > want {
			c.report.Add(&store.CorruptError{Detail: fmt.Sprintf("bucket %s: it holds %d rows, %d belong to something", index, got, want)})
		}
	}
	c.sums()
	return c.largeLeft(ctx)
}

// later reports whether a bucket is of a later schema, to which a migration was on
// its way.
func (c *contentCheck) later(bucket []byte) bool {
	return c.schema < 4 && slices.ContainsFunc(bucketsOfFour(), func(of []byte) bool { return bytes.Equal(of, bucket) })
}

// checkEvery is after how many rows a check looks whether it shall end.
const checkEvery = 1000

// eachRow verifies the checksum of every record of a bucket, and of the buckets
// inside it, and shows the good ones.
func (c *contentCheck) eachRow(ctx context.Context, name, path []byte, b *bolt.Bucket, each func(key, payload []byte)) error {
	rows := 0
	return b.ForEach(func(key, value []byte) error {
		if rows++; rows%checkEvery == 0 && ctx.Err() != nil {
			return fmt.Errorf("check store %s: %w", c.report.Path, ctx.Err())
		}
		if value == nil {
			return c.eachRow(ctx, name, innerName(path, key), b.Bucket(key), each)
		}
		payload, err := unseal(path, key, value)
		if err != nil {
			c.report.Add(err)
			return nil
		}
		if each != nil {
			each(key, payload)
		}
		return nil
	})
}

// expect wants a row of an index, which holds nothing.
func (c *contentCheck) expect(bucket, key []byte, of string) {
	b := c.tx.Bucket(bucket)
	if b == nil || c.later(bucket) {
		return
	}
	c.expected[string(bucket)]++
	if b.Get(key) == nil {
		c.report.Add(&store.CorruptError{Bucket: string(bucket), Key: hexKey(key), Detail: "the row is missing: " + of})
	}
}
