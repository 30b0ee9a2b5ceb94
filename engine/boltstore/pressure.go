package boltstore

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// The watermarks (P12; docs/reliability.md, "Limits"): of the disk in bytes and in
// percent, of the file in percent of its MaxSize.
const (
	admissionFree    = 512 << 20
	admissionPercent = 5
	dispatchFree     = 128 << 20
	admissionFull    = 90
	dispatchFull     = 98
)

// A file never shrinks while it is open. What is free inside it, in percent of
// MaxSize, lifts the marks again: not the first page that is free, since a large
// value needs pages side by side, and free ones lie scattered.
const (
	admissionRoom = 20
	dispatchRoom  = 5
)

// pressureAge is how long an answer of the file system is good.
const pressureAge = time.Second

// space watches the room of the file and of its disk.
type space struct {
	mu       sync.Mutex
	at       time.Time // of the last look; zero = none
	pressure store.Pressure
	ballast  ballast

	// Of the file, kept up by the committer: bbolt knows its free pages only
	// after the first transaction that wrote.
	fileBytes, freeBytes atomic.Int64
}

func (p *space) start(s *Store, state *fileState) {
	p.fileBytes.Store(state.size)
	p.freeBytes.Store(state.freeBytes() + max(0, state.size-int64(state.pages)*state.pageSize))
	p.ballast = ballast{path: s.path + ".ballast", size: s.options.Ballast}
	if s.options.Ballast > 0 {
		s.Pressure() // puts the ballast where it belongs
	}
}

// grew takes over the figures of a commit.
func (p *space) grew(s *Store) {
	stats := s.db.Stats()
	size := s.fileSize()
	p.fileBytes.Store(size)
	p.freeBytes.Store(int64(stats.FreePageN+stats.PendingPageN) * int64(s.pageSize))
}

func (p *space) dropBallast() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ballast.drop()
}

// Usage is that of store.Upkeep. The figures of a disk that does not answer are 0.
func (s *Store) Usage() store.Usage {
	u := store.Usage{
		FileBytes: s.space.fileBytes.Load(), MaxBytes: int64(s.options.MaxSize),
		FreeBytes: s.space.freeBytes.Load(),
	}
	u.DiskFree, u.DiskTotal, _ = s.options.FreeSpace(filepath.Dir(s.path))
	return u
}

// Pressure says whether space is short. An answer is kept for a second where
// Options.Now is given. The ballast beside the store is made while there is
// room, and given up at PauseDispatch. Safe for concurrent use.
func (s *Store) Pressure() store.Pressure {
	p := &s.space
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.options.Now != nil {
		now := s.options.Now()
		if age := now.Sub(p.at); !p.at.IsZero() && age >= 0 && age < pressureAge {
			return p.pressure
		}
		p.at = now
	}
	p.pressure = pressureOf(s.Usage(), s.path)
	switch p.pressure.Level {
	case store.None:
		p.ballast.lay()
	case store.PauseDispatch:
		p.ballast.drop()
	}
	return p.pressure
}

// pressureOf compares with the watermarks; the worst counts.
func pressureOf(u store.Usage, path string) store.Pressure {
	var pressure store.Pressure
	worse := func(is bool, level store.Level, format string, args ...any) {
		if is && level > pressure.Level {
			pressure = store.Pressure{Level: level, Reason: fmt.Sprintf(format, args...)}
		}
	}
	dir := filepath.Dir(path)
	if u.DiskTotal > 0 {
		const left = "%d bytes are free on the disk of %s, %d are wanted"
		worse(u.DiskFree < dispatchFree, store.PauseDispatch, left, u.DiskFree, dir, uint64(dispatchFree))
		worse(u.DiskFree < admissionFree, store.StopAdmission, left, u.DiskFree, dir, uint64(admissionFree))
		share := u.DiskTotal / 100 * admissionPercent
		worse(u.DiskFree < share, store.StopAdmission, left, u.DiskFree, dir, share)
	}
	if u.MaxBytes > 0 {
		const full = "store %s has %d bytes, %d of them free, its limit is %d: remove old runs"
		over := func(share, room int64) bool {
			return u.FileBytes > u.MaxBytes/100*share && u.FreeBytes < u.MaxBytes/100*room
		}
		worse(over(dispatchFull, dispatchRoom), store.PauseDispatch, full, path, u.FileBytes, u.FreeBytes, u.MaxBytes)
		worse(over(admissionFull, admissionRoom), store.StopAdmission, full, path, u.FileBytes, u.FreeBytes, u.MaxBytes)
	}
	return pressure
}

// admits refuses a new run while space is short (P12). A request that was seen
// before still gets its answer, and a run that belongs to another one is part of
// what is in flight.
func (s *Store) admits(run *runs.Run, requestID string) (existing string, err error) {
	pressure := s.Pressure()
	if pressure.Level == store.None || run.Parent != nil {
		return "", nil
	}
	err = s.view(func(tx *bolt.Tx) error {
		if existing, err = requestedRun(tx, requestID); err == nil && existing == "" {
			existing, err = firedRun(tx, run.Fire)
		}
		return err
	})
	if err != nil || existing != "" {
		return existing, err
	}
	return "", &store.PressureError{Reason: pressure.Reason}
}

// diskSpace asks the file system of a folder.
func diskSpace(dir string) (free, total uint64, err error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, 0, fmt.Errorf("ask for the free space of %s: %w", dir, err)
	}
	size := uint64(stat.Bsize)
	return stat.Bavail * size, stat.Blocks * size, nil
}
