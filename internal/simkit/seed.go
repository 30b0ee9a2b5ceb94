package simkit

import (
	"crypto/sha256"
	"encoding/binary"
)

// Seed is a stream of numbers that depends on a text alone, for data that is the
// same at every start. Not safe for concurrent use.
type Seed struct {
	sum [sha256.Size]byte
	at  int
}

// SeedOf returns the stream of a text.
func SeedOf(text string) *Seed { return &Seed{sum: sha256.Sum256([]byte(text))} }

// Below returns the next number, in [0, n). n is a small positive number.
func (s *Seed) Below(n int) int {
	if s.at+4 > len(s.sum) {
		s.sum, s.at = sha256.Sum256(s.sum[:]), 0
	}
	v := binary.BigEndian.Uint32(s.sum[s.at:])
	s.at += 4
	return int(v % uint32(n)) //nolint:gosec // n is a small positive number
}

// Pick returns one of list.
func Pick[T any](s *Seed, list []T) T { return list[s.Below(len(list))] }
