// Package peer says who connected to a unix socket, by the kernel's word, and from
// which process it descends (ADR 30).
package peer

import (
	"errors"
	"fmt"
	"net"
	"os/user"
	"strconv"
)

// Peer is the process that connected a socket. What it says of itself is no part of
// it.
type Peer struct {
	UID     int
	User    string // the name of UID; the number where it has none
	PID     int    // 0 = in a namespace of processes that is not seen from here
	Command string // the path of its program; "" = it can't be seen
}

// String names user and process: "ann (uid 1000, process 4711, /usr/bin/curl)".
func (p Peer) String() string {
	text := fmt.Sprintf("%s (uid %d", p.User, p.UID)
	if p.PID > 0 {
		text += fmt.Sprintf(", process %d", p.PID)
	}
	if p.Command != "" {
		text += ", " + p.Command
	}
	return text + ")"
}

// maxClaim bounds what a peer says of itself, in characters.
const maxClaim = 64

// By names the peer for a record, with what it says that its name is, where that is
// another one.
func (p Peer) By(claim string) string { return p.String() + p.says(claim) }

// Account names the peer's user alone, for what outlives the process: "ann (uid 1000)",
// with the claim as By has it.
func (p Peer) Account(claim string) string {
	return fmt.Sprintf("%s (uid %d)", p.User, p.UID) + p.says(claim)
}

func (p Peer) says(claim string) string {
	if claim == "" || claim == p.User {
		return ""
	}
	if runes := []rune(claim); len(runes) > maxClaim {
		claim = string(runes[:maxClaim]) + "…"
	}
	return " who says " + strconv.Quote(claim)
}

// ErrEnded says that the process which connected has ended: whoever has its pid now
// did not connect.
var ErrEnded = errors.New("the process that connected has ended")

// errLost says that the parents of a process could not be followed: they ended while
// they were looked at, again and again.
var errLost = errors.New("its parents end faster than they can be followed")

// Of asks the kernel who connected.
func Of(conn net.Conn) (*Peer, error) {
	p, err := of(conn)
	if err != nil {
		return nil, fmt.Errorf("ask who connected: %w", err)
	}
	p.User = strconv.Itoa(p.UID)
	if known, err := user.LookupId(p.User); err == nil {
		p.User = known.Username
	}
	return p, nil
}

// process is what a walk over parents reads of one.
type process struct {
	parent  int
	started uint64 // orders processes: a parent is not younger than its child
}

const (
	maxTries   = 20
	maxParents = 10_000
)

// ChildOf returns which child of ancestor the process pid descends from, or is; 0
// where it does not descend from it. A process whose own parent has ended belongs to
// whoever adopted it: see Adopt.
func ChildOf(pid, ancestor int) (int, error) {
	for range maxTries {
		child, err := walk(pid, ancestor)
		if err == nil {
			return child, nil
		}
	}
	return 0, errLost
}

// walk follows parents once. It fails where one ended meanwhile.
func walk(pid, ancestor int) (int, error) {
	at, found := pid, process{}
	for depth := range maxParents {
		next, err := read(at)
		if err != nil {
			if depth == 0 {
				return 0, ErrEnded
			}
			return 0, err
		}
		if depth > 0 && next.started > found.started {
			return 0, errLost // its pid was given to another
		}
		switch {
		case next.parent == ancestor:
			return at, nil
		case next.parent <= 0 || at == 1:
			return 0, nil
		}
		at, found = next.parent, next
	}
	return 0, errLost
}
