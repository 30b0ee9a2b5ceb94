package schema

// leastDepth is how deep Least looks into a type.
const leastDepth = 8

// Least is how many bytes of JSON a value of the type has at least, white space left out.
func Least(t *Type) int64 { return least(t, leastDepth) }

func least(t *Type, depth int) int64 {
	switch {
	case t == nil || depth == 0 || t.Alternatives != nil:
		return 1
	case t.AcceptsNull():
		return min(4, leastOf(t, depth))
	}
	return leastOf(t, depth)
}

// leastOf is Least of what is not null.
func leastOf(t *Type, depth int) int64 {
	switch t.Kind {
	case Bool, Null, Duration: // "1s"
		return 4
	case String:
		if t.MinLength != nil {
			return 2 + int64(*t.MinLength)
		}
		return 2
	case Time:
		return int64(len(`"2026-01-02T03:04:05Z"`))
	case List:
		n := int64(t.Least())
		return 2 + n*least(t.Elem, depth-1) + max(0, n-1)
	case Object:
		size := int64(1) // a brace, and a comma or the other one for each field
		for _, field := range t.Fields {
			if field.Required {
				size += int64(len(field.Name)) + 3 + least(field.Type, depth-1) + 1
			}
		}
		return max(2, size)
	}
	return 1
}
