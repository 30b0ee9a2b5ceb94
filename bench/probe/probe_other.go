//go:build !linux

package probe

import (
	"runtime"
	"time"
)

// CPU is known on Linux alone.
func CPU(int) time.Duration { return 0 }

// RssAnon is known on Linux alone.
func RssAnon(int) int64 { return 0 }

// HeldAtMost is known on Linux alone.
func HeldAtMost(int) int64 { return 0 }

// WrittenBytes is known on Linux alone.
func WrittenBytes(int) int64 { return 0 }

// Load is known on Linux alone.
func Load() (minute float64, running int) { return 0, 0 }

// Machine names the system.
func Machine() string { return runtime.GOOS }
