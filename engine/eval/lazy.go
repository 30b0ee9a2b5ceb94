package eval

// Lazy stands in an object of the environment for a value that is made when an
// expression reads it by a literal name. Who runs a program sees to it that it is
// met in no other way.
type Lazy struct{ make func() (any, error) }

// NewLazy returns a value that make makes.
func NewLazy(make func() (any, error)) *Lazy { return &Lazy{make} }

// Value makes the value.
func (l *Lazy) Value() (any, error) { return l.make() }

// made is a value as an expression sees it.
func made(v any) (any, error) {
	if lazy, ok := v.(*Lazy); ok {
		return lazy.make()
	}
	return v, nil
}
