package term

import "golang.org/x/sys/unix"

const (
	setTermiosAnew = unix.TCSETSF // and forgets what was typed
	getTermios     = unix.TCGETS
	setTermios     = unix.TCSETS
)
