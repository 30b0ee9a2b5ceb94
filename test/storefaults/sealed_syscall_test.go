//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/internal/suitesize"
)

// filler is what the pages hold that the work of a child never needs.
const filler = "filler"

// sealedWithDamage returns the content of a store that was closed well, with its seal. A
// page of it is of no kind, which nobody but bbolt's own look for free pages meets: that
// one would end the process on a goroutine of bbolt's.
func sealedWithDamage(t *testing.T) (content, seal []byte) {
	t.Helper()
	path := filepath.Join(scratch(t), "flowrun.db")
	s, err := boltstore.Open(path, storeOptions(0))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 40 { // 10 MiB: more than a close compares
		if _, err := s.KV().Put(filler, fmt.Sprintf("%04d", n), bytes.Repeat([]byte(filler), 256<<10/len(filler)), nil); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 200 {
		if _, err := s.KV().Put(filler+" of leaves", fmt.Sprintf("%04d", n), bytes.Repeat([]byte(filler), 100), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if content, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if seal, err = os.ReadFile(path + ".seal"); err != nil {
		t.Fatal(err)
	}
	const leaf = 0x02
	for id := len(content)/pageSize - 1; id > 1; id-- {
		page := content[id*pageSize : (id+1)*pageSize]
		if binary.NativeEndian.Uint64(page) == uint64(id) && binary.NativeEndian.Uint16(page[8:]) == leaf && bytes.Count(page, []byte(filler)) > 300 &&
			binary.NativeEndian.Uint32(page[12:]) == 0 {
			spoiled := bytes.Clone(content)
			spoiled[id*pageSize+8], spoiled[id*pageSize+9] = 0xff, 0xff
			if err := os.WriteFile(path, spoiled, 0o600); err != nil {
				t.Fatal(err)
			}
			if check(path, storeOptions(0)) != "" {
				return spoiled, seal
			}
		}
	}
	t.Fatal("no leaf of the filler is in use")
	return nil, nil
}

// A write or a sync of a store that was opened by its seal fails, beside a damaged page
// that nobody has met yet: the store stops with what failed, as it does over a file in
// order. bbolt looks for free pages where a commit fails, on a goroutine of its own:
// were it to come so far, the process would die (ADR 73).
func TestP13_AFailureBehindASealMeetsNoUnreadPage(t *testing.T) {
	seed := testSeed(t)
	content, seal := sealedWithDamage(t)
	most := max(8, suitesize.Of(t, "FLOWRUN_SYSCALL_MAX", 40)/2)
	var todo []fault
	for _, name := range []string{"pwrite64", "fdatasync", "ftruncate", "fsync"} {
		for at := 1; at <= most; at++ {
			todo = append(todo, fault{name: name, result: []syscall.Errno{syscall.EIO, syscall.ENOSPC}[at%2], at: at})
		}
	}
	var mu sync.Mutex
	sealsLost := 0
	met, next := map[string]int{}, make(chan fault)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for f := range next {
				j := job{Path: filepath.Join(scratch(t), "flowrun.db"), Script: script{Seed: seed, Ops: 12}, Sessions: 1, Map: mapSizes()[f.at%3]}
				for path, data := range map[string][]byte{j.Path: content, j.Path + ".seal": seal} {
					if err := os.WriteFile(path, data, 0o600); err != nil {
						t.Error(err)
					}
				}
				if err := restamp(j.Path); err != nil {
					t.Error(err)
				}
				seen, err := strike(t, j, f)
				mu.Lock()
				if err != nil {
					t.Error(err)
				} else if seen.reached > 0 {
					met[f.name]++
					wrong := seen.faults(j, f)
					if seen.seal {
						sealsLost++
						wrong = append(wrong, sealLeft(j.Path)...)
					}
					if len(wrong) > 0 {
						t.Errorf("%s: %s", f, strings.Join(wrong, "; "))
					}
				}
				mu.Unlock()
			}
		})
	}
	for _, f := range todo {
		next <- f
	}
	close(next)
	all.Wait()
	t.Logf("faults that were met: %v, %d of them while a seal was written", met, sealsLost)
	if met["pwrite64"] == 0 || met["fdatasync"] == 0 {
		t.Error("no commit has failed")
	}
}

// sealLeft returns what is wrong with a store of which no seal could be written: it was
// closed well, and there is none, so that the next one to open it reads all pages and
// meets the damaged one.
func sealLeft(path string) (wrong []string) {
	if _, err := os.Stat(path + ".seal"); !errors.Is(err, fs.ErrNotExist) {
		wrong = append(wrong, fmt.Sprintf("a seal that could not be written is there: %v", err))
	}
	file, err := boltstore.Open(path, storeOptions(0))
	if !errors.Is(err, store.ErrCorrupt) {
		wrong = append(wrong, fmt.Sprintf("the next open did not meet the damaged page: %v", err))
	}
	if err == nil {
		_ = file.Close()
	}
	return wrong
}
