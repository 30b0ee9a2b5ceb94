//go:build !linux

package cli

// clockSynchronised is not known on other systems.
func clockSynchronised() (synchronised, known bool) { return false, false }
