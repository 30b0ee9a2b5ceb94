//go:build !race

package eval

// slowdown is how much slower tests run than the program: the race detector
// costs up to ten times.
const slowdown = 1
