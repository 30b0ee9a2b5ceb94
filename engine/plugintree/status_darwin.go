package plugintree

import "syscall"

// statusChange is when a file's status changed, in nanoseconds.
func statusChange(stat *syscall.Stat_t) int64 { return stat.Ctimespec.Nano() }
