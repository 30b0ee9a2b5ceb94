package boltstore_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// flipOptions are what a child that flips bits is told.
type flipOptions struct {
	Path string
	Seed uint64
	Bits int // 0 = all of them
}

// TestIssue13_07FlippedBits flips bits all over a store: `db check` says where the
// damage is, in words of ours, and a start refuses what the check refuses. A child
// does it, since a fault on a goroutine of bbolt ends the process.
// FLOWRUN_FLIPPED_BITS is how many bits, or "all" of heads, elements and keys.
func TestIssue13_07FlippedBits(t *testing.T) {
	t.Parallel()
	told := flipOptions{Path: filepath.Join(t.TempDir(), "flowrun.db"), Seed: testSeed(t), Bits: 300}
	switch text := os.Getenv("FLOWRUN_FLIPPED_BITS"); text {
	case "":
	case "all":
		told.Bits = 0
	default:
		if _, err := fmt.Sscan(text, &told.Bits); err != nil {
			t.Fatalf("FLOWRUN_FLIPPED_BITS=%s: %v", text, err)
		}
	}
	s := openStore(t, told.Path)
	fillFixture(t, s)
	fillTriggers(t, s)
	for n := 100; n < 170; n++ {
		storetest.Create(t, s, storetest.Row(n), n) // more than a page of most buckets: they have branches
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	role, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	cmd, out := startChild(t, "flips "+string(role))
	limit := time.AfterFunc(20*time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	last, wrong, results := "", 0, map[string]int{}
	for out.Scan() {
		word, rest, _ := strings.Cut(out.Text(), " ")
		switch word {
		case "flip":
			last = rest
		case "refused", "unseen":
			results[word]++
		default:
			if wrong++; wrong <= 20 {
				t.Errorf("%s: %s", last, out.Text())
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: the process ended: %v", last, err)
	}
	t.Logf("%v, %d wrong", results, wrong)
	if results["refused"] < 100 || results["unseen"] == 0 {
		t.Errorf("%v: the bits were not those of a store", results)
	}
}

// flipBits says of each bit what came out.
func flipBits(o flipOptions) int {
	content, err := os.ReadFile(o.Path)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	content = content[:usedBytes(content)]
	for _, at := range placesOfBits(content, o) {
		spoiled := slices.Clone(content)
		spoiled[at/8] ^= 1 << (at % 8)
		if err := os.WriteFile(o.Path, spoiled, 0o600); err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Printf("flip page %d, byte %d, bit %d\n", at/8/4096, at/8%4096, at%8)
		fmt.Println(judgeFlip(o.Path))
	}
	return 0
}

// placesOfBits chooses as many bits of heads, of elements with what they lead
// to, and of all other bytes.
func placesOfBits(content []byte, o flipOptions) (places []int) {
	var kinds [3][]int
	for page := 0; page < len(content); page += 4096 {
		count := int(binary.NativeEndian.Uint16(content[page+10:]))
		if flags := binary.NativeEndian.Uint16(content[page+8:]); flags != 1 && flags != 2 {
			count = 4 // the fields of a meta page
		}
		for at := range 4096 {
			kind := 2
			switch {
			case at < 16:
				kind = 0
			case at < 16+16*count || at < 16+16*count+600 && o.Bits > 0:
				kind = 1
			}
			for bit := range 8 {
				kinds[kind] = append(kinds[kind], (page+at)*8+bit)
			}
		}
	}
	if o.Bits == 0 {
		return append(kinds[0], kinds[1]...)
	}
	source := rand.New(rand.NewPCG(o.Seed, 13))
	for range o.Bits / len(kinds) {
		for _, kind := range kinds {
			places = append(places, kind[source.IntN(len(kind))])
		}
	}
	return places
}

func judgeFlip(path string) string {
	report, err := boltstore.CheckFile(context.Background(), path, quick())
	if err != nil {
		return "wrong: the check ends with " + err.Error()
	}
	for _, problem := range report.Problems {
		if problem.Page == 0 && problem.Bucket == "" && !strings.Contains(problem.Detail, "meta page") && !strings.Contains(problem.Detail, "bucket ") {
			return fmt.Sprintf("wrong: no place in %q", problem.Detail)
		}
		for _, raw := range []string{"runtime", "panic", "freepages", "assert", "goroutine"} {
			if strings.Contains(problem.Detail, raw) {
				return fmt.Sprintf("wrong: raw words: %q", problem.Detail)
			}
		}
	}
	s, err := boltstore.Open(path, quick())
	if err == nil {
		err = s.Close()
	}
	var corrupt *store.CorruptError
	switch {
	case err != nil && !errors.As(err, &corrupt):
		return "wrong: the start ends with " + err.Error()
	case err == nil && len(report.Problems) > 0:
		return fmt.Sprintf("wrong: a start takes what the check refuses: %+v", report.Problems[0])
	case err != nil && len(report.Problems) == 0:
		return "wrong: the check finds nothing, a start " + err.Error()
	case err != nil:
		return "refused"
	}
	return "unseen"
}
