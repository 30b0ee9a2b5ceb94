package taskssim

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"slices"
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

// textID makes an id of base32 signs.
func textID(of string) string {
	sum := sha256.Sum256([]byte("id " + of))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10])
}

// bigID makes an id above 2^53, which no float64 can hold.
func bigID(of string) int64 {
	sum := sha256.Sum256([]byte("id " + of))
	return 1<<53 + 1 + 2*int64(binary.BigEndian.Uint32(sum[:4]))
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
