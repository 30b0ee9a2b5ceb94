package interp

// What tests see of how values with types are written.
var (
	EncodeTyped = encodeTyped
	DecodeTyped = decodeTyped
)

// LongFrom sets from which weight on the items of a reading stay text.
func (m *Machine) LongFrom(weight int64) { m.longFrom = weight }
