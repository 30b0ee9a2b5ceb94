// Package stack makes room on the stack of a goroutine that is about to need it. A stack
// begins with 2 KiB and doubles when it is full: each time all that stands on it is copied,
// frame by frame, by tables that a young process reads for the first time (ADR 83).
package stack

// room is what a handler of the API and a commit need, four doublings of a stack.
const room = 20 << 10

// Grow makes the room, once, while next to nothing stands on the stack. The collector takes
// it back where it is not used.
func Grow() { reserve(false) }

// reserve has a frame as large as the room, which no byte is written to: only a touched page
// costs memory.
//
//go:noinline
func reserve(use bool) {
	if use {
		var frame [room]byte
		keep(frame[:])
	}
}

//go:noinline
func keep(frame []byte) {
	for i := range frame {
		frame[i] = byte(i)
	}
}
