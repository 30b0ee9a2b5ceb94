package killloop

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// roleVariable makes the test program a child that drives the engine: it holds
// the role as JSON.
const roleVariable = "FLOWRUN_KILLLOOP_ROLE"

// TestMain is a plugin when the engine starts the test program as one, and a
// child when a test does.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugins" && os.Args[2] == "serve" {
		counterPlugin().Serve()
		return
	}
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(childMain(role))
	}
	os.Exit(m.Run())
}

// program is the path of this test program: children and plugins are it, too.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
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

// random is a source of its own for each purpose, so that one more draw for one
// of them does not change the others.
func random(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
