//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/internal/suitesize"
)

// filling is what a child does on a disk that becomes full: it fills the store
// until that stops, opens it again, compares, removes rows, and goes on when
// there is room again.
type filling struct {
	Path   string
	Script script
	Map    int
	Limit  uint64 // bytes of a file (RLIMIT_FSIZE), or of the disk
	Disk   string // where a disk of that size is mounted; "" = the limit is one of files
	Early  bool   // control: acknowledges before the store has answered
}

// fill prints lines: "full TEXT" for the store's refusal, "wrong TEXT" for each
// fault that it finds, "end".
func fill(argument string) int {
	var f filling
	if err := json.Unmarshal([]byte(argument), &f); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	wrong := func(format string, args ...any) { say("wrong "+format, args...) }
	if err := f.shrink(); err != nil {
		say("cannot %v", err)
		return 0
	}
	acks, failed := f.untilFull(wrong)
	if failed == nil {
		wrong("it never became full")
	} else if say("full %v", failed); acks[opened] > 0 {
		f.reopened(acks, wrong)
	}
	say("end")
	return 0
}

func (f filling) shrink() error {
	if f.Disk == "" {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		limit.Cur = f.Limit
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
	}
	return f.mount(f.Limit, 0)
}

func (f filling) mount(size uint64, flags uintptr) error {
	if err := syscall.Mount("tmpfs", f.Disk, "tmpfs", flags, fmt.Sprintf("size=%d", size)); err != nil {
		return fmt.Errorf("mount a disk: %w", err)
	}
	return nil
}

// room makes the disk large again.
func (f filling) room() error {
	if f.Disk != "" {
		return f.mount(256<<20, syscall.MS_REMOUNT)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}

func (f filling) options() boltstore.Options { return storeOptions(f.Map) }

// untilFull goes on with all writers in turn until the store refuses.
func (f filling) untilFull(wrong func(string, ...any)) (acknowledged, error) {
	acks := acknowledged{}
	s, err := boltstore.Open(f.Path, f.options())
	if err != nil {
		if !errors.Is(err, store.ErrNoSpace) && !fullFailure(err) {
			wrong("open tells of no want of space: %v", err)
		}
		return acks, err
	}
	acks[opened] = 1
	defer func() {
		if err := s.Close(); err != nil {
			say("close %v", err)
		}
	}()
	for n := range 20 {
		if _, err := s.KV().Put(spareRows, fmt.Sprint(n), []byte("spare"), nil); err != nil {
			if !fullFailure(err) {
				wrong("spare row: not a failure for want of space: %v", err)
			}
			return acks, err
		}
	}
	var mu sync.Mutex
	for op := range f.Script.Ops {
		for _, w := range f.Script.writers() {
			acknowledge := func() {
				mu.Lock()
				defer mu.Unlock()
				acks[w]++
			}
			if f.Early {
				acknowledge()
				acknowledge = func() {}
			}
			err := f.Script.apply(s, w, op, acknowledge)
			if err == nil {
				continue
			}
			if !fullFailure(err) {
				wrong("%s %d: not a failure for want of space: %v", w, op, err)
			}
			if again := f.Script.apply(s, w, op, func() {}); !errors.Is(again, store.ErrFailed) {
				wrong("the store did not stop: %v", again)
			}
			return acks, err
		}
	}
	return acks, nil
}

func fullFailure(err error) bool {
	var failed *store.FailedError
	return errors.As(err, &failed) && failed.Full
}

// reopened looks at the store while the disk is still full, removes rows, and
// then goes on with room.
func (f filling) reopened(acks acknowledged, wrong func(string, ...any)) {
	pages := f.freePages(wrong)
	f.compare("on the full disk", acks, wrong, func(s *boltstore.Store) error {
		err := s.KV().Delete(spareRows, "0", nil)
		if fullFailure(err) && pages < pagesOfRemoval {
			say("stuck %v", err)
			return nil // it stopped again, and lost nothing
		}
		if err != nil {
			return fmt.Errorf("a row cannot be removed with %d free pages: %w", pages, err)
		}
		say("removed %d", pages)
		if _, _, there, err := s.KV().Get(spareRows, "0"); err != nil || there {
			return fmt.Errorf("a removed row is there: %w", err)
		}
		return nil
	})
	if err := f.room(); err != nil {
		wrong("make room: %v", err)
		return
	}
	f.compare("with room again", acks, wrong, func(s *boltstore.Store) error {
		_, err := s.KV().Put("after", "full", bytes.Repeat([]byte("x"), 1<<20), nil)
		return err
	})
	if detail := check(f.Path, f.options()); detail != "" {
		wrong("with room again: %s", detail)
	}
}

// spareRows are small ones, to be removed on the full disk: large ones beside a
// row would need as much room, side by side, to be written anew.
const spareRows = "spare"

// pagesOfRemoval is how many free pages of the file are enough to remove a row:
// each page from the row to the root is written anew, and so is that of the
// census.
const pagesOfRemoval = 12

// freePages checks the file and returns how many of its pages are free.
func (f filling) freePages(wrong func(string, ...any)) int {
	report, err := boltstore.CheckFile(context.Background(), f.Path, f.options())
	if err != nil {
		wrong("check on the full disk: %v", err)
		return 0
	}
	if len(report.Problems) > 0 {
		wrong("check on the full disk: %+v", report.Problems)
	}
	return report.FreePages
}

func (f filling) compare(when string, acks acknowledged, wrong func(string, ...any), then func(*boltstore.Store) error) {
	s, err := boltstore.Open(f.Path, f.options())
	if err != nil {
		wrong("%s: %v", when, err)
		return
	}
	v := &verifier{store: s, path: f.Path, script: f.Script, acks: acks, slack: 1, cache: new(memo)}
	v.verify()
	for _, fault := range slices.Concat(v.changed, v.told, v.broken) {
		wrong("%s: %s", when, fault)
	}
	if err := then(s); err != nil {
		wrong("%s: %v", when, err)
	}
	if err := s.Close(); err != nil && !strings.Contains(err.Error(), f.Path) {
		wrong("%s: %v", when, err)
	}
}

// runFilling starts the child; with a disk of its own in a namespace of its own.
func runFilling(t *testing.T, f filling) (lines []string, err error) {
	t.Helper()
	argument, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = childEnv("fill", string(argument))
	var problems tail
	cmd.Stderr = &problems
	if f.Disk != "" {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
	}
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, problems.String())
	}
	scanner := bufio.NewScanner(bytes.NewReader(output))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	return lines, nil
}

// bytesNamed finds a number of bytes in a message.
var bytesNamed = regexp.MustCompile(`\d+ bytes`)

// fullFaults returns what is wrong with what the child said.
func fullFaults(f filling, lines []string) (wrong []string) {
	full := ""
	for _, text := range lines {
		if fault, ok := strings.CutPrefix(text, "wrong "); ok {
			wrong = append(wrong, fault)
		}
		if said, ok := strings.CutPrefix(text, "full "); ok {
			full = said
		}
	}
	if !strings.Contains(full, f.Path) || !strings.Contains(full, "no space") || !bytesNamed.MatchString(full) {
		wrong = append(wrong, fmt.Sprintf("the message does not name path and bytes: %q", full))
	}
	if len(lines) == 0 || lines[len(lines)-1] != "end" {
		wrong = append(wrong, fmt.Sprintf("the child did not end well: %v", lines))
	}
	return wrong
}

func countLines(lines []string, prefix string) (n int) {
	for _, text := range lines {
		if strings.HasPrefix(text, prefix) {
			n++
		}
	}
	return n
}

// sizes are limits from less than an empty store to some MiB.
func sizes(source *rand.Rand, count int) (limits []uint64) {
	for range count {
		limits = append(limits, uint64(16<<10)<<source.IntN(8)+uint64(source.IntN(16<<10)))
	}
	return limits
}

func TestP12_AFullDiskLosesNothing(t *testing.T) {
	seed := testSeed(t)
	source := rand.New(rand.NewPCG(seed, 2))
	count := suitesize.Of(t, "FLOWRUN_FULL_DISKS", 30)
	maps := mapSizes()
	for _, kind := range []string{"file limit", "disk"} {
		t.Run(kind, func(t *testing.T) {
			full, removed, stuck := 0, 0, 0
			for i, limit := range sizes(source, count) {
				f := filling{Script: script{Seed: seed + uint64(i), Ops: 400}, Map: maps[i%len(maps)], Limit: limit}
				folder := scratch(t)
				f.Path = filepath.Join(folder, "flowrun.db")
				if kind == "disk" {
					f.Disk = folder
				}
				lines, err := runFilling(t, f)
				if kind == "disk" && (errors.Is(err, syscall.EPERM) || len(lines) > 0 && strings.HasPrefix(lines[0], "cannot")) {
					t.Skipf("SKIPPED, this system gives no disk of its own: %v %v", err, lines)
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, fault := range fullFaults(f, lines) {
					t.Errorf("limit %d, map %d, FLOWRUN_SEED=%d: %s", limit, f.Map, f.Script.Seed, fault)
				}
				full++
				removed += countLines(lines, "removed ")
				stuck += countLines(lines, "stuck ")
				_ = os.RemoveAll(folder)
			}
			t.Logf("%d sizes of %s became full; rows were removed in %d, %d had too few free pages for it and stopped", full, kind, removed, stuck)
			if removed == 0 {
				t.Error("no row was removed on a full disk")
			}
		})
	}
}

// TestP12_ControlWithEarlyAcksIsCaught acknowledges each write before the store
// has answered: the one that no longer fits must be missed.
func TestP12_ControlWithEarlyAcksIsCaught(t *testing.T) {
	seed := testSeed(t)
	f := filling{Script: script{Seed: seed, Ops: 400}, Map: mapSizes()[0], Limit: 1 << 20, Early: true}
	f.Path = filepath.Join(scratch(t), "flowrun.db")
	lines, err := runFilling(t, f)
	if err != nil {
		t.Fatal(err)
	}
	faults := fullFaults(f, lines)
	t.Logf("%d faults are told, the first: %.300s", len(faults), strings.Join(faults, ""))
	if len(faults) == 0 {
		t.Error("an acknowledgement of what was never stored is not missed")
	}
}
