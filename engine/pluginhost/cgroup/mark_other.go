//go:build !linux

package cgroup

// Marked reports that there are no control groups.
func Marked(string) bool { return false }
