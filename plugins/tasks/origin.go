package tasks

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
)

// Bounds of what is remembered about cursors. What was dropped counts as not
// known, and such a cursor is passed to the service.
const (
	maxOrigins = 4096
	maxScopes  = 8
)

type digest [sha256.Size]byte

func digestOf(parts ...string) digest {
	sum := sha256.New()
	for _, part := range parts {
		inner := sha256.Sum256([]byte(part))
		sum.Write(inner[:])
	}
	return digest(sum.Sum(nil))
}

// origins remembers, as long as the plugin's process lives, which parameters
// led to a cursor: a cursor goes with the same parameters only (T-20). A cursor
// may have several, since a service may hand out the same one to different
// requests. Safe for concurrent use.
type origins struct {
	mu     sync.Mutex
	scopes map[digest][]digest
	order  []digest // oldest first
}

func newOrigins() *origins { return &origins{scopes: map[digest][]digest{}} }

// scope is the digest of everything that must stay the same from page to page,
// what was left out included. It is taken before the cursor is added.
func (o *origins) scope(base string, r request) digest {
	return digestOf(base, strings.Join(r.path, "\x00"), r.query.Encode())
}

// issued notes that a request with these parameters gave this cursor.
func (o *origins) issued(cursor string, scope digest) {
	key := digestOf(cursor)
	o.mu.Lock()
	defer o.mu.Unlock()
	digests, there := o.scopes[key]
	if slices.Contains(digests, scope) {
		return
	}
	if len(digests) >= maxScopes {
		digests = digests[1:]
	}
	o.scopes[key] = append(slices.Clone(digests), scope)
	if there {
		return
	}
	if o.order = append(o.order, key); len(o.order) > maxOrigins {
		delete(o.scopes, o.order[0])
		o.order = o.order[1:]
	}
}

// fits reports whether a cursor may go with these parameters: false when it is
// known to belong to others. One whose origin is not known fits: the service
// judges it.
func (o *origins) fits(cursor string, scope digest) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	digests, there := o.scopes[digestOf(cursor)]
	return !there || len(digests) >= maxScopes || slices.Contains(digests, scope)
}
