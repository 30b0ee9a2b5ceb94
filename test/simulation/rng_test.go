package simulation

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"
)

// rng is a source of choices. The same seed and stream give the same choices.
type rng struct{ *rand.Rand }

// newRNG returns the choices of one purpose: streams of one seed do not depend on
// each other, so that a schedule can change while the workflow stays.
func newRNG(seed uint64, stream string) *rng {
	return &rng{rand.New(rand.NewPCG(seed, hashOf(0, stream)))}
}

// one is true once in n times.
func (r *rng) one(n int) bool { return r.IntN(n) == 0 }

func pick[T any](r *rng, of ...T) T { return of[r.IntN(len(of))] }

// hashOf gives the same number for the same seed and words.
func hashOf(seed uint64, words ...any) uint64 {
	h := fnv.New64a()
	var buffer [32]byte
	_, _ = h.Write(strconv.AppendUint(buffer[:0], seed, 16))
	for _, word := range words {
		_, _ = h.Write([]byte{0})
		switch word := word.(type) {
		case string:
			_, _ = h.Write([]byte(word))
		case int:
			_, _ = h.Write(strconv.AppendInt(buffer[:0], int64(word), 10))
		}
	}
	x := h.Sum64() // FNV alone is poor in its low bits
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
