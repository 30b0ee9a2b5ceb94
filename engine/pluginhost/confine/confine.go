// Package confine holds a process to what it was given, with what the kernel
// offers: Landlock for files, ports and signals, a seccomp filter for system calls,
// no_new_privs and empty capability sets. All of it is a property of one thread, which
// the processes that this thread starts inherit and can't shed.
package confine

import "os"

// Right is what may be done with the files of a Path.
type Right uint8

// The rights, which can be joined.
const (
	Read  Right = 1 << iota // files and the names in folders
	Run                     // as a program
	Write                   // change, make, remove
)

// Path is a file or a folder with all that it holds. One that is not there is
// passed over.
type Path struct {
	Name   string
	File   *os.File // the file itself, where it is open already; nil = that of Name
	Rights Right
}

// Rules say what a process may do. All files that Paths does not name are closed.
type Rules struct {
	Paths []Path
	// Ports are the TCP ports that it may connect to; nil = all.
	Ports []uint16
	// Pass is a number that nobody can guess: it lets the process that is started with
	// Group leave the group of its parent, once.
	Pass uint32
	// IntoGroup lets the thread start one process by clone3, which alone can put it into a
	// control group at once; what is started can't use it.
	IntoGroup bool
	// Capabilities that a process of root keeps.
	Capabilities []int
}

// Part is one part of what is held, and why it is not.
type Part struct {
	Name string `json:"name"` // one of the names below
	Held bool   `json:"held"`
	Why  string `json:"why,omitempty"` // why it is not held
}

// The names of the parts.
const (
	PartFiles      = "files"         // its own folders, its code and the system's libraries are all that it can open
	PartPorts      = "ports"         // TCP connections go to granted ports only, where hosts are granted
	PartSignals    = "signals"       // it can't signal what is not its own
	PartCalls      = "system calls"  // no ptrace, no mounts, no key rings, no new user namespaces, ...
	PartGroup      = "group"         // it can't leave the group of processes that ends with it
	PartResources  = "control group" // a group of the kernel bounds its memory and its processes, and ends with it
	PartPrivileges = "privileges"    // no set-user-ID program and no capability gives it more than it has
)
