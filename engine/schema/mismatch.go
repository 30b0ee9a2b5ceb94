package schema

import (
	"fmt"
	"strconv"

	"github.com/flowrun/flowrun/engine/diag"
)

// Mismatch says where and why a value does not have its type. Pointer is the
// JSON pointer of the part that is wrong, "" for the whole value.
type Mismatch struct {
	Pointer string
	Message string
	Hint    diag.Hint
}

// Error returns the place, the message and the hint on one line.
func (m *Mismatch) Error() string {
	text := m.Message
	if m.Pointer != "" {
		text = m.Pointer + ": " + text
	}
	if m.Hint.Text != "" {
		text += "; " + m.Hint.Text
	}
	return text
}

// Misfit says why a value of one type can't go where another is expected.
// Pointer names the part, "" for the whole.
type Misfit struct {
	Pointer string
	Message string
	Hint    diag.Hint
}

// Error returns the place, the message and the hint on one line.
func (m *Misfit) Error() string { return (*Mismatch)(m).Error() }

// path is the way from a value's root to the part at hand.
type path []string

func (p path) pointer() string { return diag.Pointer(p...) }

func (p *path) push(part string) {
	if *p == nil {
		*p = make(path, 0, 4) // most values are no deeper
	}
	*p = append(*p, part)
}

func (p *path) pushIndex(i int) { p.push(strconv.Itoa(i)) }
func (p *path) pop()            { *p = (*p)[:len(*p)-1] }

func mismatchf(p path, format string, args ...any) *Mismatch {
	return &Mismatch{Pointer: p.pointer(), Message: fmt.Sprintf(format, args...)}
}

func (m *Mismatch) hint(format string, args ...any) *Mismatch {
	m.Hint = diag.Sayf(format, args...)
	return m
}
