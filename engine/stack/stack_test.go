package stack

import (
	"runtime/debug"
	"testing"
	"unsafe"
)

// A stack that was grown does not move when it is used; one that was not does.
func TestAGrownStackStays(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which takes back what is not used yet
	for _, grown := range []bool{true, false} {
		moved := make(chan bool)
		go func() {
			if grown {
				Grow()
			}
			moved <- moves()
		}()
		if got := <-moved; got == grown {
			t.Errorf("grown: %v, and it moves: %v", grown, got)
		}
	}
}

// moves reports whether the stack is elsewhere after half of the room was used.
//
//go:noinline
func moves() bool {
	var mark byte
	before := uintptr(unsafe.Pointer(&mark))
	deep(room / 2)
	return uintptr(unsafe.Pointer(&mark)) != before
}

//go:noinline
func deep(more int) int {
	var frame [256]byte
	frame[more%256] = 1
	if more <= len(frame) {
		return int(frame[0])
	}
	return deep(more-len(frame)) + int(frame[more%256])
}
