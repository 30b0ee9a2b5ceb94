//go:build !linux

package doctor

// clockSynchronised is not known on other systems.
func clockSynchronised() (synchronised, ok bool) { return false, false }
