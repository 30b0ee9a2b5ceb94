//go:build !linux

package boltstore

import "runtime"

// yield lets the goroutines run that are ready to.
func yield() { runtime.Gosched() }
