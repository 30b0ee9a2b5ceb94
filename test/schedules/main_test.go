package schedules

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// roleVariable makes the test program a child that serves: it holds the role as
// JSON.
const roleVariable = "FLOWRUN_SCHEDULES_ROLE"

func TestMain(m *testing.M) {
	if text := os.Getenv(roleVariable); text != "" {
		var r role
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(r.serve())
	}
	os.Exit(m.Run())
}

// testSeed is the same at every commit; FLOWRUN_SEED=random, or a number, takes
// another. What the scheduler does between processes is not in its hand.
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

// random is a source of its own for each purpose.
func random(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
