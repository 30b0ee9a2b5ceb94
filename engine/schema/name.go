package schema

// String names the type for people: "integer", "list of text", "time or null".
func (t *Type) String() string {
	if t == nil {
		return "any value"
	}
	name := t.baseName()
	if t.Nullable && t.Kind != Null && t.Known() {
		name += " or null"
	}
	return name
}

// Article names the type with its article: "an integer", "text", "a list of
// text".
func (t *Type) Article() string {
	name := t.String()
	if t.Secret {
		return "a " + name
	}
	switch t.Kind {
	case Any, Null, String:
		return name
	case Int, Object:
		if t.Blob {
			return "a " + name
		}
		return "an " + name
	}
	return "a " + name
}

func (t *Type) baseName() string {
	if t.Secret {
		return "secret"
	}
	switch t.Kind {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Int:
		return "integer"
	case Number:
		return "number"
	case String:
		return "text"
	case Time:
		return "time"
	case Duration:
		return "duration"
	case List:
		if t.Elem == nil || !t.Elem.Known() {
			return "list"
		}
		return "list of " + plural(t.Elem)
	case Object:
		if t.Blob {
			return "large value"
		}
		return "object"
	}
	if t.Alternatives != nil {
		return alternativeNames(t.Alternatives)
	}
	return "any value"
}

func alternativeNames(types []*Type) string {
	name := types[0].Article()
	for i, t := range types[1:] {
		separator := ", "
		if i == len(types)-2 {
			separator = " or "
		}
		name += separator + t.Article()
	}
	return name
}

func plural(t *Type) string {
	if t.Nullable || t.Secret {
		return t.String()
	}
	switch t.Kind {
	case String, Any, Null:
		return t.String()
	case List:
		if t.Elem == nil || !t.Elem.Known() {
			return "lists"
		}
		return "lists of " + plural(t.Elem)
	}
	return t.String() + "s"
}

// TypeOf names the type of a value as Decode makes it, with its article:
// "an integer", "text", "null".
func TypeOf(v any) string { return (&Type{Kind: KindOf(v)}).Article() }
