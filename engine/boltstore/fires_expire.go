package boltstore

import (
	"bytes"
	"context"
	"fmt"
	"time"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// ExpireFires is that of store.Upkeep.
func (s *Store) ExpireFires(ctx context.Context, keep time.Duration, perTrigger int, now time.Time) (removed int, err error) {
	if keep > 0 {
		if removed, err = s.expireOldFires(ctx, now.Add(-keep)); err != nil {
			return removed, err
		}
	}
	if perTrigger <= 0 {
		return removed, nil
	}
	for after := []byte(nil); ; {
		prefix, excess, err := s.excessFires(ctx, after, perTrigger)
		if err != nil || prefix == nil {
			return removed, err
		}
		after = prefix
		for excess > 0 {
			n, err := s.removeFires(ctx, func(tx *bolt.Tx) ([]fireRow, error) {
				return oldestFires(tx, prefix, min(excess, dropRows)), nil
			})
			removed, excess = removed+n, excess-n
			if err != nil {
				return removed, err
			}
			if n == 0 {
				break
			}
		}
	}
}

// expireOldFires walks the fires by slot: no fire was decided before its slot, but
// for those that a backfill decided long after it, which stay.
func (s *Store) expireOldFires(ctx context.Context, before time.Time) (removed int, err error) {
	bound := slotBytes(before)
	for at, done := []byte{}, false; !done; {
		n, err := s.removeFires(ctx, func(tx *bolt.Tx) (rows []fireRow, err error) {
			cursor := tx.Bucket(bucketFiresBySlot).Cursor()
			key, _ := cursor.Seek(at)
			done = true
			for seen := 0; key != nil && bytes.Compare(key[:slotSize], bound) < 0; key, _ = cursor.Next() {
				if seen++; seen > dropRows {
					at, done = bytes.Clone(key), false
					return rows, nil
				}
				row := fireRow{key: keyOfIndex(key), index: bytes.Clone(key)}
				fire, err := getFire(tx, row.key)
				if err != nil {
					return nil, err
				}
				if fire == nil || fire.At.Before(before) {
					rows = append(rows, row)
				}
			}
			return rows, nil
		})
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// removeFires removes the rows that choose names, in one transaction.
func (s *Store) removeFires(ctx context.Context, choose func(tx *bolt.Tx) ([]fireRow, error)) (removed int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("remove old fires: %w", err)
	}
	var rows []fireRow
	if err := s.view(func(tx *bolt.Tx) (err error) {
		rows, err = choose(tx)
		return err
	}); err != nil || len(rows) == 0 {
		return 0, err
	}
	err = s.do(deleteSize, func(w *writer) (bool, error) {
		return true, inTx(func() error {
			for _, row := range rows {
				if err := row.remove(w); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return 0, fmt.Errorf("remove old fires: %w", err)
	}
	return len(rows), nil
}

// excessFires returns the prefix of the next trigger behind after, nil at the end,
// and how many fires it has above a number.
func (s *Store) excessFires(ctx context.Context, after []byte, perTrigger int) (prefix []byte, excess int, err error) {
	count := 0
	for at, more := afterPrefix(after), true; more; {
		if err := ctx.Err(); err != nil {
			return nil, 0, fmt.Errorf("remove old fires: %w", err)
		}
		err := s.view(func(tx *bolt.Tx) error {
			more = false
			cursor := tx.Bucket(bucketFires).Cursor()
			key, _ := cursor.Seek(at)
			if prefix == nil && key != nil {
				_, _, rest, ok := splitTrigger(key)
				if !ok {
					return &store.CorruptError{Bucket: string(bucketFires), Key: hexKey(key), Detail: "not the key of a fire"}
				}
				prefix = bytes.Clone(key[:len(key)-len(rest)])
			}
			for seen := 0; prefix != nil && bytes.HasPrefix(key, prefix); key, _ = cursor.Next() {
				if seen++; seen > 10*dropRows {
					at, more = bytes.Clone(key), true
					return nil
				}
				count++
			}
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
	}
	return prefix, max(0, count-perTrigger), nil
}

// afterPrefix is behind all keys of a trigger.
func afterPrefix(prefix []byte) []byte {
	if prefix == nil {
		return []byte{}
	}
	return join(prefix, bytes.Repeat([]byte{0xff}, slotSize+1))
}

func oldestFires(tx *bolt.Tx, prefix []byte, wanted int) (rows []fireRow) {
	cursor := tx.Bucket(bucketFires).Cursor()
	for key, _ := cursor.Seek(prefix); bytes.HasPrefix(key, prefix) && len(rows) < wanted; key, _ = cursor.Next() {
		index := append(bytes.Clone(key[len(prefix):]), prefix...)
		rows = append(rows, fireRow{key: bytes.Clone(key), index: index})
	}
	return rows
}
