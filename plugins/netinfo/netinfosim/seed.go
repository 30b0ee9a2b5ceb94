package netinfosim

import (
	"crypto/sha256"
	"encoding/binary"
)

// seed is a stream of numbers that depends on a text alone.
type seed struct {
	sum [sha256.Size]byte
	at  int
}

func seedOf(text string) *seed { return &seed{sum: sha256.Sum256([]byte(text))} }

// below returns a number in [0, n).
func (s *seed) below(n int) int {
	if s.at+4 > len(s.sum) {
		s.sum, s.at = sha256.Sum256(s.sum[:]), 0
	}
	v := binary.BigEndian.Uint32(s.sum[s.at:])
	s.at += 4
	return int(v % uint32(n)) //nolint:gosec // n is a small positive constant
}

// pick returns one of list.
func pick[T any](s *seed, list []T) T { return list[s.below(len(list))] }
