//go:build !unix

package sdk

// teeStderr does nothing here: flowrun does not run on this system.
func teeStderr(string) {}
