//go:build !linux

package cli

// monotonicMicros is for systemd, which is on Linux alone.
func monotonicMicros() string { return "0" }
