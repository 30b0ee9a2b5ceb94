package boltstore_test

import (
	"bufio"
	"context"
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
)

// child is what the test program does in place of the tests when it is started
// as a child process. A role is a verb and the store's path.
func child(role string) int {
	verb, path, _ := strings.Cut(role, " ")
	s, err := boltstore.Open(path, boltstore.Options{InitialMmapSize: smallMap})
	if err != nil {
		fmt.Println("refused", err)
		return 0
	}
	if verb == "append" {
		return appendForever(s)
	}
	return readAll(s)
}

// appendForever goes on with run 1 and prints every acknowledged record.
func appendForever(s *boltstore.Store) int {
	if _, err := s.CreateRun(context.Background(), row(1), planBytes, "", started(1)); err != nil && !errors.Is(err, boltstore.ErrRunExists) {
		fmt.Println("error", err)
		return 1
	}
	stored, err := s.Records(id(1), 0, 0)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	acks := make(chan uint64, 100)
	go func() {
		for seq := uint64(len(stored) + 1); ; seq++ {
			s.Append(id(1), []*journal.Record{completed(seq, fmt.Sprintf(`{"seq":%d}`, seq))}, nil, nil, func(err error) {
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
func readAll(s *boltstore.Store) int {
	for n := range filledRuns {
		got, err := s.Records(id(n), 0, 0)
		if err != nil {
			fmt.Println("refused", err)
			return 0
		}
		if !reflect.DeepEqual(got, filledJournal(n)) {
			fmt.Println("changed", n)
			return 0
		}
	}
	fmt.Println("whole")
	return 0
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
		kill := time.AfterFunc(time.Duration(10+source.IntN(90))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		acked := uint64(0)
		for out.Scan() {
			if _, err := fmt.Sscanf(out.Text(), "ack %d", &acked); err != nil {
				t.Fatalf("cycle %d: child says %q", cycle, out.Text())
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
	records, err := s.Records(id(1), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if uint64(len(records)) < acked {
		t.Fatalf("%d records, %d were acknowledged", len(records), acked)
	}
	for i, record := range records[1:] {
		if want := completed(uint64(i+2), fmt.Sprintf(`{"seq":%d}`, i+2)); !reflect.DeepEqual(record, want) {
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

// A child reads the damaged files: bbolt checks pages on a goroutine of its own,
// whose fault nobody could catch.
func TestDamageNeverGivesWrongRecords(t *testing.T) { // P14
	content, err := os.ReadFile(closedStore(t))
	if err != nil {
		t.Fatal(err)
	}
	seed := testSeed(t)
	for i, name := range slices.Sorted(maps.Keys(mutators)) {
		source := rand.New(rand.NewPCG(seed, uint64(i)))
		mutate := mutators[name]
		t.Run(name, func(t *testing.T) {
			results := map[string]int{}
			for range 10 {
				path := filepath.Join(t.TempDir(), "flowrun.db")
				damaged := mutate(source, append([]byte(nil), content...), usedBytes(content))
				if err := os.WriteFile(path, damaged, 0o600); err != nil {
					t.Fatal(err)
				}
				said := readDamaged(t, path)
				result, _, _ := strings.Cut(said, " ")
				if results[result]++; result != "refused" && result != "whole" {
					t.Log(said)
				}
			}
			t.Logf("%v", results)
			if results["refused"]+results["whole"] != 10 {
				t.Errorf("results: %v", results)
			}
		})
	}
}

func readDamaged(t *testing.T, path string) string {
	t.Helper()
	cmd, out := startChild(t, "read "+path)
	hung := false
	timeout := time.AfterFunc(20*time.Second, func() { hung = true; _ = cmd.Process.Kill() })
	defer timeout.Stop()
	said := "died"
	for out.Scan() {
		said = out.Text()
	}
	_ = cmd.Wait()
	if !timeout.Stop() && hung {
		return "hung"
	}
	return said
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
	s := openStore(t, path)
	for n := range filledRuns {
		_, err := s.Records(id(n), 0, 0)
		var corrupt *boltstore.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Bucket != "journal" || corrupt.Key == "" || corrupt.Path != path {
			t.Errorf("records: %v", err)
		}
		if _, err := s.Run(id(n)); !errors.Is(err, boltstore.ErrCorrupt) {
			t.Errorf("row: %v", err)
		}
	}
	if _, err := s.Plan(planHash); !errors.Is(err, boltstore.ErrCorrupt) {
		t.Errorf("plan: %v", err)
	}
	if _, _, err := s.Runs(boltstore.Filter{}); !errors.Is(err, boltstore.ErrCorrupt) {
		t.Errorf("list: %v", err)
	}
	// A damaged row refuses its own run's changes; the store goes on.
	if err := appendWait(s, id(1), nil, row(1)); !errors.Is(err, boltstore.ErrCorrupt) {
		t.Errorf("append: %v", err)
	}
	create(t, s, row(100), 100)
}
