package boltstore

// The sizes of the pieces of an arena: the first one, the most that one has, and from
// which size on a value has memory of its own. It is less than any piece.
const (
	arenaFirst   = 8 << 10
	arenaMost    = 128 << 10
	arenaOwnFrom = 4 << 10
)

// arena gives out memory that lives as long as a transaction: bbolt takes a value as it is
// and writes it into its page when the transaction commits, and copies a key. One piece is
// used again, so that a commit of the usual size allocates none. The zero value is ready.
type arena struct{ piece []byte }

// take returns size bytes, whatever they hold.
func (a *arena) take(size int) []byte {
	if size >= arenaOwnFrom {
		return make([]byte, size)
	}
	if len(a.piece)+size > cap(a.piece) {
		// The piece before lives on where it is in use.
		a.piece = make([]byte, 0, min(max(arenaFirst, 2*cap(a.piece)), arenaMost))
	}
	from := len(a.piece)
	a.piece = a.piece[:from+size]
	return a.piece[from : from+size : from+size]
}

// join returns the parts, one behind the other.
func (a *arena) join(parts ...[]byte) []byte {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	joined := a.take(size)[:0]
	for _, part := range parts {
		joined = append(joined, part...)
	}
	return joined
}

// reset takes all back: the transaction is over.
func (a *arena) reset() { a.piece = a.piece[:0] }

// scratch is what the transactions of a store use one after the other. The zero value is
// ready; a writer without one allocates what it needs.
type scratch struct {
	places map[string]*location
	memory arena
	census []byte // as it was encoded last
	spare  census // of the transaction before
	counts map[runCount]int
	writer writer
}

// place is where the records of a top-level bucket are counted.
func (s *scratch) place(bucket []byte) *location {
	if at := s.places[string(bucket)]; at != nil {
		return at
	}
	name := string(bucket)
	at := newLocation(name, []byte(name))
	if s.places == nil {
		s.places = map[string]*location{}
	}
	s.places[name] = &at
	return &at
}

// counted is an empty map for the counts of a transaction.
func (s *scratch) counted() map[runCount]int {
	if s.counts == nil {
		s.counts = map[runCount]int{}
	}
	clear(s.counts)
	return s.counts
}

// begin returns the writer of the next transaction. It is good until the one after it
// begins.
func (s *scratch) begin(counted census) *writer {
	s.memory.reset()
	s.spare = append(s.spare[:0], counted...)
	s.writer = writer{scratch: s, census: s.spare}
	return &s.writer
}

// end takes over what a transaction counted that has committed: the census before it is
// written over by the next one.
func (s *scratch) end(counted *census) {
	s.spare, *counted = *counted, s.writer.census
}
