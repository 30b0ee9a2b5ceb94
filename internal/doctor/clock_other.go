//go:build !linux

package doctor

// clockSynchronised is not known on other systems.
func clockSynchronised() (synchronised, known bool) { return false, false }
