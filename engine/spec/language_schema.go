package spec

// schemaMaps are the types of inputs, state, forms and bodies: words of JSON Schema.
func schemaMaps() []Map {
	text, numbers, lists, objects := []string{"string"}, []string{"integer", "number"}, []string{"array"}, []string{"object"}
	boolean := func(name, doc, otherwise string) Key {
		return Key{Name: name, Doc: doc, Type: Word, What: "true or false", Values: []string{"true", "false"}, Default: otherwise}
	}
	length := func(name, doc string, kinds []string) Key {
		return Key{Name: name, Doc: doc, Type: Integer, Least: 0, Most: 1 << 30, Kinds: kinds}
	}
	others := boolean("additionalProperties", "Whether there may be other fields, or their schema.", "true")
	others.Map, others.Kinds = "schema", objects
	names := func(name, what string) Map {
		return Map{Name: name, What: what, Names: FieldPattern, Each: &Key{Map: "schema"}}
	}
	properties := names("properties", "`properties`")
	properties.Names = ""
	return []Map{
		names("inputs", "`inputs`"), names("state", "`state`"), names("form", "`form`"), properties,
		{Name: "schema", What: "a schema", Doc: "The type of an input, a state value, a field of a form or a webhook's body, in words of JSON Schema. An input without `default` is required.",
			KindBy: "type", Keys: []Key{
				{Name: "type", Doc: "The type; without it any value may stand. `blob` is a large value, which another workflow hands over.", Type: Word, What: "a type", Values: []string{"string", "integer", "number", "boolean", "array", "object", "blob"}, Example: "type: string"},
				{Name: "enum", Doc: "The values that are allowed.", Items: &Key{Type: Anything}, Some: true, Example: "enum: [a, b]"},
				{Name: "const", Doc: "The only value that is allowed.", Type: Anything},
				{Name: "default", Doc: "Taken where no value is given.", Type: Anything},
				{Name: "minimum", Doc: "The least value.", Type: Number, Least: -1e300, Most: 1e300, Kinds: numbers},
				{Name: "maximum", Doc: "The greatest value.", Type: Number, Least: -1e300, Most: 1e300, Kinds: numbers},
				length("minLength", "The fewest characters.", text), length("maxLength", "The most characters.", text),
				length("minItems", "The fewest items.", lists), length("maxItems", "The most items.", lists),
				{Name: "pattern", Doc: "A regular expression (RE2) that a part of the text matches.", Type: Text, What: "a pattern", Kinds: text, Example: "pattern: \"^[a-z]+$\""},
				{Name: "format", Doc: "`date-time` makes a time of the text, `duration` a duration.", Type: Word, What: "a format", Values: []string{"date-time", "duration"}, Kinds: text},
				{Name: "items", Doc: "The schema of the items.", Map: "schema", Kinds: lists, Example: "items: {type: string}"},
				{Name: "properties", Doc: "The fields with their schemas.", Map: "properties", Kinds: objects, Example: "properties: {id: {type: integer}}"},
				{Name: "required", Doc: "The fields that must be there; the others may be null.", Items: &Key{Type: Text, What: "a field's name", Null: true}, Kinds: objects, Example: "required: [id]"},
				others,
				boolean("nullable", "Whether null is a value too.", "false"),
				{Name: "description", Doc: "What the value is for.", Type: Text, What: "a text", Null: true},
			}},
		// Inputs of core actions that are schemas themselves, or of which exactly one is given.
		{Name: "with core.approve", What: "`with`", Keys: []Key{{Name: "form", Doc: "The fields that the person fills in; they are the step's outputs.", Map: "form", Example: "form: {label: {type: string}}"}}},
		{Name: "with core.wait", What: "`with`", Keys: []Key{{Name: "schema", Doc: "The schema of the payload.", Map: "schema", Example: "schema: {type: object}"}}},
		{Name: "with core.sleep", What: "`with`", One: true, Keys: []Key{
			{Name: "for", Doc: "How long.", Type: Template, Example: "for: 30s"}, {Name: "until", Doc: "When to go on.", Type: Template, Example: "until: 2026-03-01T09:00:00Z"},
		}},
	}
}
