package analyticssim

// seed is a stream of numbers that depends on a text and a number alone
// (splitmix64 over an FNV-1a hash).
type seed struct{ state uint64 }

func seedOf(text string, n int64) *seed {
	hash := uint64(14695981039346656037)
	for _, c := range []byte(text) {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	return &seed{hash ^ uint64(n)*0x9e3779b97f4a7c15} //nolint:gosec // only the bits matter
}

func (s *seed) next() uint64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number in [0, n).
func (s *seed) below(n int) int { return int(s.next() % uint64(n)) } //nolint:gosec // n is a small positive number

// share returns a number in [0, 1).
func (s *seed) share() float64 { return float64(s.next()>>11) / (1 << 53) }

// pick returns one of list, the first ones more often.
func pick[T any](s *seed, list []T) T {
	at := s.share()
	return list[int(at*at*float64(len(list)))]
}
