package boltstore_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// child is what the test program does in place of the tests when it is started
// as a child process. A role is a verb and the store's path.
func child(role string) int {
	verb, path, _ := strings.Cut(role, " ")
	if verb == "damage" {
		var o damageOptions
		if err := json.Unmarshal([]byte(path), &o); err != nil {
			fmt.Println("error", err)
			return 1
		}
		return damageFiles(o)
	}
	if verb == "flips" {
		var o flipOptions
		if err := json.Unmarshal([]byte(path), &o); err != nil {
			fmt.Println("error", err)
			return 1
		}
		return flipBits(o)
	}
	s, err := boltstore.Open(path, boltstore.Options{InitialMmapSize: smallMap})
	if err != nil {
		fmt.Println("refused", err)
		return 0
	}
	return appendForever(s)
}

// appendForever goes on with run 1 and prints every acknowledged record.
func appendForever(s *boltstore.Store) int {
	if _, err := s.CreateRun(context.Background(), storetest.Row(1), storetest.PlanBytes(), "", storetest.Started(1)); err != nil && !errors.Is(err, store.ErrRunExists) {
		fmt.Println("error", err)
		return 1
	}
	stored, err := s.Records(storetest.ID(1), 0, 0)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	acks := make(chan uint64, 100)
	go func() {
		for seq := uint64(len(stored) + 1); ; seq++ {
			s.Append(storetest.ID(1), []*journal.Record{storetest.Completed(seq, fmt.Sprintf(`{"seq":%d}`, seq))}, nil, nil, func(err error) {
				if err == nil {
					acks <- seq
				}
			})
			if seq%7 == 0 {
				_ = s.Flush(context.Background())
			}
		}
	}()
	for seq := range acks {
		fmt.Println("ack", seq)
	}
	return 0
}

// readAll compares what fill wrote.
func readAll(s *boltstore.Store) string {
	for n := range filledRuns {
		got, err := s.Records(storetest.ID(n), 0, 0)
		if err != nil {
			return "refused " + err.Error()
		}
		if !reflect.DeepEqual(got, filledJournal(n)) {
			return fmt.Sprint("changed ", n)
		}
		stored, err := s.Run(storetest.ID(n))
		if err != nil {
			return "refused " + err.Error()
		}
		if !reflect.DeepEqual(stored, storetest.Row(n)) {
			return fmt.Sprint("changed the row of ", n)
		}
	}
	return "whole"
}

func startChild(t *testing.T, role string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// testSeed is the same at every commit; FLOWRUN_SEED=random, or a number, takes
// another.
func testSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(1)
	switch text := os.Getenv("FLOWRUN_SEED"); text {
	case "":
	case "random":
		seed = uint64(time.Now().UnixNano())
	default:
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatalf("FLOWRUN_SEED=%s: %v", text, err)
		}
	}
	t.Logf("seed %d", seed)
	return seed
}

func TestNoAckIsLostByKill(t *testing.T) { // P1
	path := filepath.Join(t.TempDir(), "flowrun.db")
	seed := testSeed(t)
	source := rand.New(rand.NewPCG(seed, 0))
	total := uint64(0)
	for cycle := range 20 {
		cmd, out := startChild(t, "append "+path)
		// Every other child dies at any moment from its start on, the others at one
		// after some acknowledgements, however slow the machine is.
		after, early := 1+source.IntN(40), time.Hour
		if cycle%2 == 1 {
			early = time.Duration(10+source.IntN(90)) * time.Millisecond
		}
		kill := time.AfterFunc(early, func() { _ = cmd.Process.Kill() })
		acked, lines := uint64(0), 0
		for out.Scan() {
			if _, err := fmt.Sscanf(out.Text(), "ack %d", &acked); err != nil {
				t.Fatalf("cycle %d: child says %q", cycle, out.Text())
			}
			if lines++; lines == after {
				go func() { _ = cmd.Process.Kill() }()
			}
		}
		_ = cmd.Wait()
		kill.Stop()
		total = max(total, acked)
		if total > 0 {
			checkAcked(t, path, total)
		}
	}
	if total < 20 {
		t.Errorf("only %d records were acknowledged", total)
	}
}

func checkAcked(t *testing.T, path string, acked uint64) {
	t.Helper()
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	records, err := s.Records(storetest.ID(1), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if uint64(len(records)) < acked {
		t.Fatalf("%d records, %d were acknowledged", len(records), acked)
	}
	for i, record := range records[1:] {
		if want := storetest.Completed(uint64(i+2), fmt.Sprintf(`{"seq":%d}`, i+2)); !reflect.DeepEqual(record, want) {
			t.Fatalf("record %d is %+v", i+2, record)
		}
	}
}

// mutators damage a file of which the first used bytes count.
var mutators = map[string]func(source *rand.Rand, content []byte, used int) []byte{
	"truncate": func(r *rand.Rand, c []byte, used int) []byte { return c[:r.IntN(used)] },
	"zero a page": func(r *rand.Rand, c []byte, used int) []byte {
		at := r.IntN(used/4096) * 4096
		clear(c[at : at+4096])
		return c
	},
	"64 random bytes": func(r *rand.Rand, c []byte, used int) []byte {
		at := r.IntN(used - 64)
		for i := range 64 {
			c[at+i] = byte(r.Uint32())
		}
		return c
	},
	"swap pages": func(r *rand.Rand, c []byte, used int) []byte {
		a, b := r.IntN(used/4096)*4096, r.IntN(used/4096)*4096
		page := append([]byte(nil), c[a:a+4096]...)
		copy(c[a:a+4096], c[b:b+4096])
		copy(c[b:b+4096], page)
		return c
	},
	"spoil a meta": func(r *rand.Rand, c []byte, _ int) []byte {
		c[r.IntN(2)*4096+16+r.IntN(64)] ^= byte(1 + r.IntN(255))
		return c
	},
	"flip a bit": func(r *rand.Rand, c []byte, used int) []byte {
		c[r.IntN(used)] ^= 1 << r.IntN(8)
		return c
	},
}

// damageOptions are what a child that damages files is told, as JSON behind its
// verb.
type damageOptions struct {
	Dir         string // holds whole.db
	Seed        uint64
	From, Files int // of each mutator
}

// damageFiles spoils and reads files one after another, and says of each what
// came out. The process may die over one: the test sees which.
func damageFiles(o damageOptions) int {
	content, err := os.ReadFile(filepath.Join(o.Dir, "whole.db"))
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	path := filepath.Join(o.Dir, "damaged.db")
	for i, name := range slices.Sorted(maps.Keys(mutators)) {
		for n := o.From; n < o.From+o.Files; n++ {
			source := rand.New(rand.NewPCG(o.Seed, uint64(i)<<32|uint64(n)))
			damaged := mutators[name](source, append([]byte(nil), content[:usedBytes(content)]...), usedBytes(content))
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				fmt.Println("error", err)
				return 1
			}
			fmt.Printf("file %d of %q\n", n, name)
			fmt.Println(readDamaged(path))
		}
	}
	return 0
}

func readDamaged(path string) string {
	s, err := boltstore.Open(path, quick())
	if err != nil {
		return "refused " + err.Error()
	}
	defer s.Close()
	return readAll(s)
}

// TestP14DamageNeverGivesWrongRecords spoils files with every mutator. A child does
// it: bbolt checks pages on a goroutine of its own, whose fault nobody could
// catch. FLOWRUN_DAMAGED_FILES is how many of each mutator; FLOWRUN_SEED draws
// others, and replays.
func TestP14DamageNeverGivesWrongRecords(t *testing.T) {
	t.Parallel()
	seed, files := testSeed(t), 40
	if text := os.Getenv("FLOWRUN_DAMAGED_FILES"); text != "" {
		if _, err := fmt.Sscan(text, &files); err != nil {
			t.Fatalf("FLOWRUN_DAMAGED_FILES=%s: %v", text, err)
		}
	}
	dir := t.TempDir()
	copyStore(t, closedStore(t), filepath.Join(dir, "whole.db"))
	results := map[string]int{}
	const each = 50 // files of each mutator for one child
	for from := 0; from < files; from += each {
		told, err := json.Marshal(damageOptions{Dir: dir, Seed: seed, From: from, Files: min(each, files-from)})
		if err != nil {
			t.Fatal(err)
		}
		damageInChild(t, string(told), results)
	}
	t.Logf("%d files: %v", files*len(mutators), results)
	if results["refused"]+results["whole"] != files*len(mutators) {
		t.Errorf("results: %v", results)
	}
}

func damageInChild(t *testing.T, told string, results map[string]int) {
	t.Helper()
	cmd, out := startChild(t, "damage "+told)
	limit := time.AfterFunc(5*time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	last := ""
	for out.Scan() {
		if strings.HasPrefix(out.Text(), "file ") {
			last = out.Text()
			continue
		}
		result, _, _ := strings.Cut(out.Text(), " ")
		if results[result]++; result != "refused" && result != "whole" {
			t.Errorf("%s: %s", last, out.Text())
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: the process ended: %v", last, err)
	}
}

// Every stored value is guarded by its checksum: a change of any byte of it is
// found by whoever reads it.
func TestChangedValuesAreFound(t *testing.T) { // P14
	path := closedStore(t)
	boltstore.EditValuesForTest(t, path, func(bucket string, value []byte) []byte {
		if bucket == "journal" || bucket == "plans" || bucket == "runs" {
			value[len(value)-1] ^= 1
		}
		return value
	})
	if s, err := boltstore.Open(path, quick()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a start takes them: %v, %v", s, err)
	}
	s, err := boltstore.OpenUnreadForTest(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for n := range filledRuns {
		_, err := s.Records(storetest.ID(n), 0, 0)
		var corrupt *store.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Bucket != "journal" || corrupt.Key == "" || corrupt.Path != path {
			t.Errorf("records: %v", err)
		}
		if _, err := s.Run(storetest.ID(n)); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("row: %v", err)
		}
	}
	if _, err := s.Plan(storetest.PlanHash()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("plan: %v", err)
	}
	if _, _, err := s.Runs(runs.Filter{}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("list: %v", err)
	}
	// A damaged row refuses its own run's changes; the store goes on.
	if err := storetest.Append(s, storetest.ID(1), nil, storetest.Row(1)); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("append: %v", err)
	}
	storetest.Create(t, s, storetest.Row(100), 100)
}
