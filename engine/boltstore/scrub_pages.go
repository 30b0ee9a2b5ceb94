package boltstore

import (
	"context"
	"errors"
	"sync"
	"time"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
)

// How fast the pages of a file that was opened by its seal are compared with their
// sums. A short command compares one piece when it ends; the seal remembers how far
// they came. A longer one goes on behind what it does (ADR 73).
const (
	scrubPages = 256 // of a piece: 1 MiB
	scrubAfter = time.Second
	scrubPause = 10 * time.Millisecond
)

// scrubPages compares every page once.
func (s *Store) scrubPages(ctx context.Context) {
	for covered, pause := uint64(0), scrubAfter; covered < s.pageCheck.guard.Pages(); covered, pause = covered+scrubPages, scrubPause {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if !s.comparePages(ctx) {
			return
		}
	}
	s.pageCheck.guard.Complete()
}

// comparePages compares the next piece; it reports whether that went well.
func (s *Store) comparePages(ctx context.Context) bool {
	check := &s.pageCheck
	next, differs, err := check.guard.Scrub(ctx, s.file, s.pageSize, check.next, scrubPages)
	check.next = next
	if err == nil && differs {
		err = s.view(func(tx *bolt.Tx) error { return tx.Look(next) })
	}
	if err != nil {
		s.stopOver(s.named(err))
	}
	return err == nil
}

// scrubPiece begins to compare one piece of a file that is being closed, while the last
// commit is at the disk. Who has begun it calls ended before there is a seal. Damage is
// told by the error of the next open, which reads all of the file: there is no seal then.
func (s *Store) scrubPiece() (ended func()) {
	check := &s.pageCheck
	if check.opened == nil || check.guard.Whole() || s.queue.hasFailed() {
		return func() {}
	}
	var piece sync.WaitGroup
	var next uint64
	var differs bool
	var err error
	piece.Go(func() {
		next, differs, err = check.guard.Scrub(context.Background(), s.file, s.pageSize, check.next, scrubPages)
	})
	return func() {
		piece.Wait()
		check.next = next
		if err != nil || differs {
			check.keeps = false
			dropSeal(s.path)
		}
	}
}

// pageDamaged stops the store over a damaged page that a read has met.
func (s *Store) pageDamaged(recovered any, damage error) {
	if err, ok := recovered.(error); ok && s.queue.changed != nil && errors.As(err, new(*bolt.Damage)) {
		s.stopOver(damage)
	}
}

// UnreadPages is how many pages of the file have not been compared yet since it was
// opened: 0 where all were read at the start.
func (s *Store) UnreadPages() uint64 { return s.pageCheck.guard.Unread() }
