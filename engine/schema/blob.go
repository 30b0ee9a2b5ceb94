package schema

import "slices"

// blobWord marks the type of references to large values in schemas.
const blobWord = "x-flowrun-blob"

// blobFields are the fields of a reference, in the order in which they are shown.
var blobFields = []Field{
	Required("digest", &Type{Kind: String, Pattern: `^sha256:[0-9a-f]{64}$`, Doc: "SHA-256 of the content, as sha256: and 64 hexadecimal digits"}),
	Required("size", &Type{Kind: Int, Min: new(float64), Doc: "Bytes of the content"}),
	Required("media_type", &Type{Kind: String, Doc: "What the content is, such as text/csv; empty where nobody said it"}),
	Required("name", &Type{Kind: String, Doc: "The name that its source gave it; empty where it gave none"}),
}

// BlobRef returns the type of references to large values: objects with digest, size,
// media_type and name that a step gave. No other object is one, whatever its fields.
func BlobRef() *Type { return &Type{Kind: Object, Blob: true, Fields: blobFields} }

// HasBlob reports whether t is a large value or has one in it. Of a part of which nothing
// is known it is not.
func (t *Type) HasBlob() bool {
	if t == nil {
		return false
	}
	if t.Blob || t.Elem.HasBlob() || t.Additional.HasBlob() {
		return true
	}
	return slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Type.HasBlob() }) ||
		slices.ContainsFunc(t.Tuple, (*Type).HasBlob) || slices.ContainsFunc(t.Alternatives, (*Type).HasBlob) ||
		slices.ContainsFunc(t.Variants, (*Type).HasBlob)
}

// becomeBlob makes an object type that of references.
func (t *Type) becomeBlob() {
	t.Blob, t.Fields, t.index, t.Additional, t.Open, t.Variants = true, blobFields, nil, nil, false, nil
}

// blob checks an object that must be a reference to a large value.
func (c *coercion) blob(object map[string]any) error {
	whole := len(object) == len(blobFields)
	for _, field := range blobFields {
		part := *c
		part.all, part.path = nil, nil
		value, there := object[field.Name]
		if there && whole {
			_, _, err := part.value(field.Type, value)
			whole = err == nil
		}
		whole = whole && there
	}
	if whole {
		return nil
	}
	return mismatchf(c.path, "expects a large value, got an object that is no reference to one").
		hint("only what a step gave refers to a large value: give it as it is, such as ${{ steps.fetch.output.body }}")
}
