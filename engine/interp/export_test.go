package interp

// What tests see of how values with types are written.
var (
	EncodeTyped = encodeTyped
	DecodeTyped = decodeTyped
)
