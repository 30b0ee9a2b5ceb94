//go:build !linux

package sdk

// closeMemory does nothing here: the system has no such switch.
func closeMemory() {}
