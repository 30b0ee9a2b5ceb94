//go:build !linux

package sandbox

import "syscall"

// withParent changes nothing: there is no parent-death signal here.
func withParent() *syscall.SysProcAttr { return nil }
