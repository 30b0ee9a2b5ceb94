package boltstore_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// storeOf closes a store of so many ended runs.
func storeOf(t testing.TB, count int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	const at = 64 // once: they share their commits
	for from := range at {
		writers.Go(func() {
			for n := from; n < count; n += at {
				storetest.Create(t, s, storetest.Row(n), n)
				ended := storetest.Closed(*storetest.Row(n))
				record := storetest.Completed(2, fmt.Sprintf(`{"text":%q}`, strings.Repeat("answer ", 70)))
				if err := storetest.Append(s, storetest.ID(n), []*journal.Record{record}, ended); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// restamp makes the seal of a file fit it again, as it would if the disk had changed
// what it holds: nothing else leaves the kernel's times as they were.
func restamp(t testing.TB, path string) {
	t.Helper()
	beside, err := os.OpenFile(path+".seal", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	seal, err := sealedpages.ReadSeal(beside)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	now, err := sealedpages.IdentityOf(file)
	if err != nil {
		t.Fatal(err)
	}
	now.Metas = seal.Metas
	seal.Identity = now
	if err := sealedpages.WriteSeal(beside, seal, sealedpages.NewSums(beside)); err != nil {
		t.Fatal(err)
	}
}

// readSoFar is how many bytes this process has read with system calls.
func readSoFar(t *testing.T) (bytes int64) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	if _, err := fmt.Sscanf(string(data), "rchar: %d", &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}

// openCost counts what an open and a close after it read: with system calls, and of
// the pages that bbolt has mapped.
func openCost(t *testing.T, path string) (read, mapped, pages int64) {
	t.Helper()
	before := readSoFar(t)
	s, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	read = readSoFar(t) - before
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	pages = info.Size() / 4096
	if unread := int64(s.UnreadPages()); unread > 0 {
		mapped = (s.UsedPagesForTest() - unread) * 4096
	} else {
		mapped = info.Size()
	}
	if n := s.TransactionsForTest(); n > openTransactions {
		t.Errorf("an open begins %d transactions: bbolt looks for free pages itself", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return read, mapped, pages
}

// openTransactions are those of an open: bbolt's own look for free pages would be one
// more.
const openTransactions = 2

// The gate of an open: what it reads does not grow with the store. It is no parallel
// test, since it counts what the process reads.
func TestGateAnOpenReadsTheSameOfAnyStore(t *testing.T) { // ADR 73
	few, many := storeOf(t, 10), storeOf(t, 10_000)
	if read, mapped, _ := openCost(t, few); read+mapped > 256<<10 {
		t.Errorf("an open reads %d bytes, and %d of what is mapped", read, mapped)
	}
	fewRead, fewMapped, _ := openCost(t, few)
	manyRead, manyMapped, pages := openCost(t, many)
	t.Logf("10 runs: %d bytes read, %d mapped; 10,000 runs, %d pages: %d, %d", fewRead, fewMapped, pages, manyRead, manyMapped)
	if pages < 5000 {
		t.Errorf("the large store has %d pages only", pages)
	}
	const most = 256 << 10
	if manyRead+manyMapped > most {
		t.Errorf("an open of 10,000 runs reads %d bytes, and %d of what is mapped: at most %d", manyRead, manyMapped, most)
	}
	// Trees are a page or two higher, and their pages' sums lie in blocks of their own.
	if more := manyRead + manyMapped - fewRead - fewMapped; more > 64<<10 {
		t.Errorf("an open of 10,000 runs reads %d bytes more than one of 10", more)
	}
	// The control: without a seal all of it is read.
	if err := os.Remove(many + ".seal"); err != nil {
		t.Fatal(err)
	}
	if read, _, _ := openCost(t, many); read < pages*4096/2 {
		t.Errorf("without a seal %d bytes of %d pages were read: the count sees nothing", read, pages)
	}
}

// closeCost counts what a close behind one change reads with system calls.
func closeCost(t *testing.T, path string) (read, pages int64) {
	t.Helper()
	s, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.KV().Put("a", "b", []byte("c"), nil); err != nil {
		t.Fatal(err)
	}
	if pages, err = s.PagesForTest(); err != nil {
		t.Fatal(err)
	}
	before := readSoFar(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return readSoFar(t) - before, pages
}

// The gate of a close: it reads a small file once at most, and of a large one a piece and
// what the session has changed. It is no parallel test, as the one of an open.
func TestGateACloseReadsAFileOnceAtMost(t *testing.T) { // ADR 73
	few, many := storeOf(t, 10), storeOf(t, 10_000)
	const piece = 1 << 20
	read, pages := closeCost(t, few)
	t.Logf("10 runs, %d pages: %d bytes read", pages, read)
	if pages*4096 > piece/2 {
		t.Fatalf("%d pages are no small store", pages)
	}
	if read > pages*4096 {
		t.Errorf("a close of %d pages reads %d bytes", pages, read)
	}
	read, pages = closeCost(t, many)
	t.Logf("10,000 runs, %d pages: %d bytes read", pages, read)
	if read > piece+256<<10 {
		t.Errorf("a close of %d pages reads %d bytes", pages, read)
	}
	if read < piece/4 {
		t.Errorf("%d bytes of %d pages were read: the scrub does not go on, or the count sees nothing", read, pages)
	}
}

func TestOnlyAFileAsItWasClosedIsTakenBySeal(t *testing.T) {
	t.Parallel()
	made := storeOf(t, 200)
	for name, change := range map[string]func(t *testing.T, path string) (sealed bool){
		"as it was": func(*testing.T, string) bool { return true },
		"restamped": func(t *testing.T, path string) bool { restamp(t, path); return true },
		"written over with the same bytes": func(t *testing.T, path string) bool {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond) // a tick of the kernel's clock
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			return false
		},
		"without a seal": func(t *testing.T, path string) bool { _ = os.Remove(path + ".seal"); return false },
		"with a torn seal": func(t *testing.T, path string) bool {
			spoil(t, path+".seal", 100)
			return false
		},
		"with an empty seal": func(t *testing.T, path string) bool {
			if err := os.Truncate(path+".seal", 0); err != nil {
				t.Fatal(err)
			}
			return false
		},
		"written to and killed": func(t *testing.T, path string) bool {
			s, err := boltstore.Open(path, quick())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.KV().Put("a", "b", []byte("c"), nil); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			beside, err := os.ReadFile(path + ".seal")
			if err := errors.Join(err, s.Close(), os.WriteFile(path, content, 0o600), os.WriteFile(path+".seal", beside, 0o600)); err != nil {
				t.Fatal(err)
			}
			restamp(t, path)
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "flowrun.db")
			copyStore(t, made, path)
			copyStore(t, made+".seal", path+".seal")
			restamp(t, path)
			sealed := change(t, path)
			s, err := boltstore.Open(path, quick())
			if err != nil {
				t.Fatal(err)
			}
			if got := s.UnreadPages() > 0; got != sealed {
				t.Errorf("taken by its seal: %t", got)
			}
			if _, err := s.KV().Put("one", "more", []byte("row"), nil); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			whole(t, path)
			again, err := boltstore.Open(path, quick())
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if again.UnreadPages() == 0 {
				t.Error("the close after it has left no seal")
			}
		})
	}
}

func spoil(t *testing.T, path string, at int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	one := make([]byte, 1)
	if _, err := file.ReadAt(one, at); err != nil {
		t.Fatal(err)
	}
	one[0] ^= 0x10
	_, err = file.WriteAt(one, at)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// spoiledLeaf changes a record in the last page in use that holds a text, and returns
// the page.
func spoiledLeaf(t *testing.T, path, text string) (page int64) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page = int64(len(content))/4096 - 1; page > 1; page-- {
		data := content[page*4096 : (page+1)*4096]
		if at := strings.Index(string(data), text); at > 0 && binary.NativeEndian.Uint64(data) == uint64(page) {
			spoil(t, path, page*4096+int64(at))
			report, err := boltstore.CheckFile(t.Context(), path, quick())
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Problems) > 0 {
				restamp(t, path)
				return page
			}
			spoil(t, path, page*4096+int64(at)) // it is free
		}
	}
	t.Fatal("no page holds it")
	return 0
}

// A damaged page that a read meets stops the store with its name; one that nobody
// needs is met by the scrub of one of the next commands, and refused from then on.
func TestP14DamageBehindASealIsTold(t *testing.T) {
	t.Parallel()
	path := storeOf(t, 600)
	spoiledLeaf(t, path, "answer answer")
	failed := make(chan error, 1)
	options := quick()
	options.OnFail = func(err error) { failed <- err }
	s, err := boltstore.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 600 {
		if _, err = s.Records(storetest.ID(n), 0, 0); err != nil {
			break
		}
	}
	if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), path) {
		t.Errorf("read: %v", err)
	}
	select {
	case err := <-failed:
		if !errors.Is(err, store.ErrCorrupt) || !errors.Is(err, store.ErrFailed) {
			t.Errorf("the store has stopped with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the store has not stopped")
	}
	_ = s.Close()
	if _, err := boltstore.Open(path, quick()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("the next open: %v", err)
	}
}

func TestP14TheScrubGoesOnOverShortCommands(t *testing.T) {
	t.Parallel()
	path := storeOf(t, 2000)
	spoiledLeaf(t, path, "answer answer")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	commands, most := 0, int(info.Size()/(1<<20))+2
	for ; commands <= most; commands++ {
		s, err := boltstore.Open(path, quick())
		if errors.Is(err, store.ErrCorrupt) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if commands < 2 || commands > most {
		t.Errorf("told after %d commands of %d bytes", commands, info.Size())
	}
}

// A longer command compares all pages behind what it does. No commit but the last one
// stores the list of free pages, whether they are compared or not.
func TestTheScrubOfALongCommandEnds(t *testing.T) {
	t.Parallel()
	path := storeOf(t, 600)
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	if s.UnreadPages() == 0 {
		t.Fatal("it was read whole at the start")
	}
	listed := func() bool {
		if _, err := s.KV().Put("a", "b", []byte("c"), nil); err != nil {
			t.Fatal(err)
		}
		return s.ListsFreePagesForTest()
	}
	if listed() {
		t.Error("a commit stores the free pages while pages are unread")
	}
	for deadline := time.Now().Add(20 * time.Second); s.UnreadPages() > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d pages are unread", s.UnreadPages())
		}
	}
	if listed() {
		t.Error("a commit stores the free pages when all pages are read")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if again, err := boltstore.Open(path, quick()); err != nil || again.UnreadPages() == 0 {
		t.Errorf("the close has not stored them: %v", err)
	} else {
		_ = again.Close()
	}
}
