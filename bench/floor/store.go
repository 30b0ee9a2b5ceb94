package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
)

// The buckets of the floor's file.
const (
	bucketRuns    = "runs"    // run id → row
	bucketIndex   = "index"   // status and run id
	bucketJournal = "journal" // run id and number → record
)

// put is one change of a transaction; a nil value deletes the key.
type put struct {
	bucket     string
	key, value []byte
}

// group is what one caller wants stored together.
type group struct {
	puts []put
	done chan error // nil = nobody waits for it
}

// committer stores groups: one goroutine takes all that waits into one transaction, which
// is on the disk before anybody hears of it. Groups are stored in their order.
type committer struct {
	db      *bolt.DB
	mu      sync.Mutex
	waiting []group
	wake    chan struct{} // has room for one
	stop    chan struct{}
	stopped chan error
	failed  error

	commits atomic.Uint64
}

// openStore opens the file, makes the buckets where there are none, and starts the
// committer.
func openStore(path string) (*committer, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", path, err)
	}
	c := &committer{db: db, wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan error, 1)}
	if err := c.buckets(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	go c.run()
	return c, nil
}

func (c *committer) buckets() error {
	names := []string{bucketRuns, bucketIndex, bucketJournal}
	there := true
	err := c.db.View(func(tx *bolt.Tx) error {
		for _, name := range names {
			there = there && tx.Bucket([]byte(name)) != nil
		}
		return nil
	})
	if err != nil || there {
		return err
	}
	return c.db.Update(func(tx *bolt.Tx) error {
		for _, name := range names {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// run commits until stop, and then what still waits.
func (c *committer) run() {
	for {
		select {
		case <-c.wake:
			c.drain()
		case <-c.stop:
			c.drain()
			c.stopped <- c.failed
			return
		}
	}
}

// drain commits until nothing waits.
func (c *committer) drain() {
	for {
		c.mu.Lock()
		groups := c.waiting
		c.waiting = nil
		c.mu.Unlock()
		if len(groups) == 0 {
			return
		}
		err := c.db.Update(func(tx *bolt.Tx) error {
			for _, g := range groups {
				for _, p := range g.puts {
					if err := apply(tx, p); err != nil {
						return err
					}
				}
			}
			return nil
		})
		c.commits.Add(1)
		if err != nil && c.failed == nil {
			c.failed = err
		}
		for _, g := range groups {
			if g.done != nil {
				g.done <- err
			}
		}
	}
}

func apply(tx *bolt.Tx, p put) error {
	bucket := tx.Bucket([]byte(p.bucket))
	if p.value == nil {
		return bucket.Delete(p.key)
	}
	return bucket.Put(p.key, p.value)
}

// later stores without waiting: the next group that is waited for comes after it.
func (c *committer) later(puts ...put) { c.add(group{puts: puts}) }

// now stores and returns when it is on the disk.
func (c *committer) now(puts ...put) error {
	done := make(chan error, 1)
	c.add(group{puts: puts, done: done})
	return <-done
}

func (c *committer) add(g group) {
	c.mu.Lock()
	c.waiting = append(c.waiting, g)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// close stores what waits and closes the file.
func (c *committer) close() error {
	close(c.stop)
	return errors.Join(<-c.stopped, c.db.Close())
}

// committed is how many transactions were stored.
func (c *committer) committed() uint64 { return c.commits.Load() }

// written is how many bytes of pages the file was given, with the meta page of each
// transaction, which bbolt does not count.
func (c *committer) written() uint64 {
	stats := c.db.Stats()
	return uint64(stats.TxStats.GetPageAlloc()) + c.committed()*uint64(c.db.Info().PageSize)
}
