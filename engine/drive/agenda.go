package drive

import (
	"slices"
	"time"
)

// Agenda is what is still to happen by a clock that is not the real one: by time,
// and by order where that is the same. The zero value is empty.
type Agenda[T any] struct{ entries []entry[T] }

type entry[T any] struct {
	at    time.Time
	order int
	what  T
}

// Put adds something, behind what has the same time and order.
func (a *Agenda[T]) Put(at time.Time, order int, what T) {
	i, _ := slices.BinarySearchFunc(a.entries, struct{}{}, func(e entry[T], _ struct{}) int {
		if by := e.at.Compare(at); by != 0 {
			return by
		}
		if e.order <= order {
			return -1
		}
		return 1
	})
	a.entries = slices.Insert(a.entries, i, entry[T]{at, order, what})
}

// Next takes what comes first; false when nothing is left.
func (a *Agenda[T]) Next() (at time.Time, what T, more bool) {
	if len(a.entries) == 0 {
		return at, what, false
	}
	first := a.entries[0]
	a.entries = slices.Delete(a.entries, 0, 1)
	return first.at, first.what, true
}

// Keep drops what keep does not report.
func (a *Agenda[T]) Keep(keep func(T) bool) {
	a.entries = slices.DeleteFunc(a.entries, func(e entry[T]) bool { return !keep(e.what) })
}
