//go:build race

package eval

const slowdown = 10
