// Package completion holds what completing a word may cost beside a large store: counts, and
// a benchmark of the time.
package completion
