package boltstore

import (
	"errors"
	"io/fs"
	"os"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// sealSuffix is appended to the store's path: the file beside it that says that the
// store was closed well, with a sum of each of its pages. While it fits, an open reads
// no more than the pages that it needs (ADR 73). It is an aid: without it, and
// wherever it does not fit, every page is read.
const sealSuffix = ".seal"

// sealFull is from which percent of MaxSize on no list of free pages is stored: the
// room for it may not be there.
const sealFull = 90

// openedSeal is the seal of a file that was found to fit.
type openedSeal struct {
	file *os.File
	seal bolt.Seal
	list *freeList
}

func dropSeal(path string) { _ = os.Remove(path + sealSuffix) }

// readSealed returns the state of a file that was closed well and is as it was then;
// nil = that is not known, and its pages must be read. It reads the two meta pages, the
// seal and the list of free pages, whose sums must be right.
func readSealed(file *os.File, path string, o Options) *fileState {
	if o.walks {
		return nil
	}
	m, err := readMetas(file)
	if err != nil || m.freeList == noFreeList || m.size > int64(o.MaxSize)/100*sealFull {
		return nil
	}
	beside, err := os.OpenFile(path+sealSuffix, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		beside, err = os.Open(path + sealSuffix)
	}
	if err != nil {
		return nil
	}
	state := fitSeal(file, beside, m)
	if state == nil {
		_ = beside.Close()
	}
	return state
}

func fitSeal(file, beside *os.File, m *metas) *fileState {
	seal, err := bolt.ReadSeal(beside)
	if err != nil {
		return nil
	}
	now, err := identity(file, m)
	if err != nil || now != seal.Identity {
		return nil
	}
	list, data, err := readFreeList(file, m.pageSize, m.pages, m.freeList)
	if err != nil || len(list.ids) > mostFree {
		return nil
	}
	sums := bolt.NewSums(beside)
	for id := list.first; id <= list.last; id++ {
		at := int64(id-list.first) * m.pageSize
		if sum, ok := sums.Of(id); !ok || sum != bolt.SumOf(data[at:at+m.pageSize]) {
			return nil
		}
	}
	return &fileState{
		size: m.size, pageSize: m.pageSize, pages: m.pages, txid: m.txid, schema: schemaVersion, closed: true, verified: true,
		used: m.pages - 2 - uint64(len(list.ids)), sums: sums, free: list.ids,
		sealed: &openedSeal{file: beside, seal: seal, list: list},
	}
}

func identity(file *os.File, m *metas) (bolt.Identity, error) {
	id, err := bolt.IdentityOf(file)
	for i := range m.both {
		copy(id.Metas[i][:], m.both[i])
	}
	return id, err
}

// closedCensus returns what the last transaction counted, of a file that it closed.
func closedCensus(tx *bolt.Tx) (census, error) {
	stored, err := getSealed(tx.Bucket(bucketMeta), bucketMeta, keyCensus)
	if err != nil {
		return nil, err
	}
	counted, closed, at, err := decodeCensus(stored)
	if err == nil && (!closed || at != uint64(tx.ID())) {
		err = &store.CorruptError{Bucket: string(bucketMeta), Key: hexKey(keyCensus), Detail: "its seal says that it was closed, its census does not"}
	}
	return counted, err
}

// pageCheck is how a store keeps the sums of its pages.
type pageCheck struct {
	guard   *bolt.Guard // nil = every page is trusted
	opened  *openedSeal // that the file was opened with; nil = every page was read
	keeps   bool        // the next close seals the file
	closing bool        // the next transaction is the last one
	next    uint64      // the page where the scrub goes on
}

func (p *pageCheck) close() {
	if p.opened != nil {
		_ = p.opened.file.Close()
	}
}

// watch lets the pages of the file be compared before they are used, where they were
// not read yet.
func (s *Store) watch(state *fileState) {
	if state.sums == nil {
		return
	}
	s.pageCheck.opened = state.sealed
	free := state.free
	if state.sealed != nil {
		free = append(free, state.sealed.list.pages()...)
		s.pageCheck.next = state.sealed.seal.Scrubbed
	}
	s.pageCheck.guard = bolt.NewGuard(state.sums, state.pages, free, state.sealed == nil, s.lookAtAll)
	s.db.Watch(s.pageCheck.guard)
	state.sums, state.free = nil, nil
}

// lookAtAll reads all that a transaction sees, since one of its pages is not what it
// was at the last close: what is damaged is told as if it had been read at the start.
// Where nothing is, the difference was of no meaning.
func (s *Store) lookAtAll(at bolt.Snapshot) error {
	err := lookAtAll(s.file, int64(s.pageSize), at)
	if err != nil {
		dropSeal(s.path) // the next open tells it too, before anything else
	}
	return err
}

func lookAtAll(file *os.File, pageSize int64, at bolt.Snapshot) error {
	walk, err := walkPages(file, pageSize, at.Pages, at.Root, true, nil)
	if err != nil {
		return err
	}
	stored, err := walk.meta(keyCensus)
	if err != nil {
		return err
	}
	written, _, _, err := decodeCensus(stored)
	if err != nil {
		return err
	}
	return written.compare(walk.found)
}

// wantsSeal reports whether a file that nothing was written to is worth a commit at
// its close, since its free pages are not listed yet.
func (s *Store) wantsSeal() bool {
	if !s.options.Marks || !s.sealable() || s.pageCheck.opened != nil {
		return false
	}
	m, err := readMetas(s.file)
	return err == nil && m.freeList == noFreeList
}

// sealable reports whether the file can be sealed: there is room for the list of its
// free pages, and it is not too long.
func (s *Store) sealable() bool {
	usage := s.Usage()
	return s.pageCheck.keeps && s.pageCheck.guard != nil && !s.queue.hasFailed() &&
		usage.FileBytes <= usage.MaxBytes/100*sealFull && usage.FreeBytes/int64(s.pageSize) <= mostFree/2 &&
		s.Pressure().Level == store.None
}

// keepSeal writes the seal of a file that was closed well. Where that fails there is
// none.
func (s *Store) keepSeal() {
	if !s.pageCheck.keeps || s.pageCheck.guard == nil || s.queue.hasFailed() {
		return
	}
	if err := s.writeSeal(); err != nil {
		dropSeal(s.path)
	}
}

func (s *Store) writeSeal() error {
	m, err := readMetas(s.file)
	if err != nil || m.freeList == noFreeList {
		return errors.Join(err, bolt.ErrNoSeal)
	}
	id, err := identity(s.file, m)
	if err != nil {
		return err
	}
	seal := bolt.Seal{Identity: id, Scrubbed: s.pageCheck.next}
	opened := s.pageCheck.opened
	if opened != nil && opened.seal == seal {
		return nil
	}
	if opened == nil || opened.seal.Identity != id || s.pageCheck.guard.Doubt() {
		if err := s.sumPages(m); err != nil {
			return err
		}
	}
	file := (*os.File)(nil)
	if opened != nil {
		file = opened.file
	} else {
		if file, err = os.OpenFile(s.path+sealSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
			return err
		}
		defer file.Close()
	}
	return bolt.WriteSeal(file, seal, s.pageCheck.guard.Sums())
}

// sumPages brings the sums up to the file: those of the pages that this session may
// have replaced are made anew.
func (s *Store) sumPages(m *metas) error {
	list, _, err := readFreeList(s.file, m.pageSize, m.pages, m.freeList)
	if err != nil {
		return err
	}
	guard, free := s.pageCheck.guard, list.ids
	sums := pageSummer{file: s.file, size: m.pageSize, sums: guard.Sums()}
	for id := range guard.Stale(m.pages) {
		for len(free) > 0 && free[0] < id {
			free = free[1:]
		}
		if len(free) > 0 && free[0] == id {
			continue
		}
		if err := sums.add(id); err != nil {
			return err
		}
	}
	return sums.flush()
}
