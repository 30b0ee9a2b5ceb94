//go:build !linux

package boltstore

import "os"

// syncData makes what was written into a file durable.
func syncData(file *os.File) error { return file.Sync() }
