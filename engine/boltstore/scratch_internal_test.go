package boltstore

import (
	"bytes"
	"testing"
)

// TestAnArenaGivesEachItsOwn: what is taken in one transaction lies apart, whatever its
// size and however much it is, and a transaction of the usual size allocates nothing.
func TestAnArenaGivesEachItsOwn(t *testing.T) {
	var memory arena
	for range 3 {
		memory.reset()
		var taken [][]byte
		for n := range 400 {
			size := n * 37 % (2 * arenaOwnFrom)
			b := memory.take(size)
			if len(b) != size || cap(b) != size {
				t.Fatalf("%d bytes of %d are given for %d", len(b), cap(b), size)
			}
			taken = append(taken, b)
			for i := range b {
				b[i] = byte(n)
			}
		}
		for n, b := range taken {
			if len(bytes.Trim(b, string([]byte{byte(n)}))) > 0 && n%256 != 0 {
				t.Fatalf("the bytes of value %d are another's", n)
			}
		}
	}
	if cap(memory.piece) > arenaMost {
		t.Errorf("%d bytes are kept", cap(memory.piece))
	}
	key := []byte("key")
	if n := testing.AllocsPerRun(10, func() {
		memory.reset()
		for range 100 {
			memory.join(key, key)
		}
	}); n > 0 {
		t.Errorf("%v allocations for small keys", n)
	}
}
