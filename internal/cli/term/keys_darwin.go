package term

import "golang.org/x/sys/unix"

const (
	setTermiosAnew = unix.TIOCSETAF // and forgets what was typed
	getTermios     = unix.TIOCGETA
	setTermios     = unix.TIOCSETA
)
