//go:build linux && (amd64 || arm64)

package systrace

import (
	"fmt"
	"syscall"
)

// Kind is what a call does to the file system.
type Kind int

// The kinds of calls.
const (
	Open     Kind = iota // opens or creates a file; the descriptor is the result
	Write                // writes bytes at a place, or at the descriptor's position
	Truncate             // sets a file's size
	Sync                 // makes a file, or the entries of a folder, durable
	Rename               // gives a file another name
	Link                 // gives a file one more name
	Remove               // removes a name
	MakeDir              // makes a folder
	Other                // changes files in a way that is not taken apart: see Name
)

// Call is one call of a traced process. A handler must not keep it: Data alone
// is its own.
type Call struct {
	Thread int    // id of the calling thread
	Kind   Kind   //
	Name   string // of the system call: "pwrite64"
	FD     int    // the descriptor, -1 where the call names a path
	Path   string // of the file, absolute; of a pipe what the kernel calls it
	Target string // the new path of a rename or link
	Flags  int    // of an open
	Offset int64  // of a write; -1 = the descriptor's position
	Size   int64  // of a truncate: the new size
	Data   []byte // what a write wants to write

	// Began and Ended count the stops of the trace: a call whose Ended is less
	// than another's Began was over before the other one began.
	Began, Ended uint64

	Result int64         // when the call has ended without an error
	Err    syscall.Errno // of the call, 0 = none
}

func (c *Call) String() string {
	text := fmt.Sprintf("%s %s", c.Name, c.Path)
	switch c.Kind {
	case Write:
		text += fmt.Sprintf(" %d bytes at %d", len(c.Data), c.Offset)
	case Truncate:
		text += fmt.Sprintf(" to %d bytes", c.Size)
	case Rename, Link:
		text += " to " + c.Target
	}
	if c.Err != 0 {
		text += fmt.Sprintf(": %v", c.Err)
	}
	return text
}

// Handler hears the calls of a traced process, one at a time, in their order,
// while the calling thread stands still. Both functions may be nil.
type Handler struct {
	// Enter is called before the call is done. An error other than 0 takes its
	// place: the call is not done and the process gets that error.
	Enter func(*Call) syscall.Errno
	// Exit is called when the call is over, with its result.
	Exit func(*Call)
}
