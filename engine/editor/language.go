package editor

import (
	"regexp"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/spec"
)

// The patterns of values, for tools that know no type of ours.
const (
	oneExpression = `^\$\{\{[\s\S]*\}\}[\r\n]*$`
	oneSecret     = `^\$\{\{[\s\S]*\bsecrets\b[\s\S]*\}\}[\r\n]*$`
	// underOneSecond finds durations of less than a second, which are too short where a key has a least one.
	underOneSecond = `^(?:0+(?:ms|[smhd]))*0*[0-9]{1,3}ms(?:0+(?:ms|[smhd]))*$|^P(?:0+D)?T(?:0+H)?(?:0+M)?0+(?:\.[0-9]{1,9})?S$`
)

// shared are the definitions that keys and fields of actions share.
func shared(connections []string) object {
	connection := object{"anyOf": []any{textual(&spec.Key{}), object{"type": "string", "pattern": oneExpression}}}
	if len(connections) > 0 {
		connection["examples"] = connections
	}
	return object{
		"expression": object{"type": "string", "pattern": spec.HasExpression},
		"duration": object{
			"type": "string", "examples": []string{"30s", "6h", "7d", "PT20M"},
			"allOf": []any{object{"pattern": duration.Pattern}, object{"pattern": "[1-9]"}},
		},
		"connection": connection,
	}
}

// mapSchema is the schema of one map of the language.
func mapSchema(m *spec.Map) object {
	s := object{"type": "object"}
	if m.Each != nil {
		s["additionalProperties"] = keySchema(m.Each)
		if names := nameSchema(m); len(names) > 0 {
			s["propertyNames"] = names
		}
		return s
	}
	properties, required, twice := object{}, []string{}, []string{}
	for i := range m.Keys {
		key := &m.Keys[i]
		if other, written := properties[key.Name]; written {
			twice = append(twice, key.Name)
			properties[key.Name] = object{"anyOf": []any{other, keySchema(key)}}
		} else {
			properties[key.Name] = keySchema(key)
		}
		if key.Needed {
			required = append(required, key.Name)
		}
	}
	s["properties"], s["additionalProperties"] = properties, false
	if len(required) > 0 {
		s["required"] = required
	}
	if m.One {
		s["minProperties"], s["maxProperties"] = 1, 1
	}
	if kinds := m.Kinds(); kinds != nil {
		s["allOf"] = kindBranches(m, kinds, twice)
	}
	if m.KindBy == "" && m.Kinds() != nil {
		var some []any
		for _, key := range m.Keys {
			if key.Makes != "" {
				some = append(some, requires(key.Name))
			}
		}
		s["anyOf"] = some
	}
	return s
}

func nameSchema(m *spec.Map) object {
	names := object{}
	if m.Names != "" {
		names["pattern"] = m.Names
	}
	if m.MaxName > 0 {
		names["maxLength"] = m.MaxName
	}
	if m.Not != nil {
		names["not"] = object{"enum": m.Not}
	}
	return names
}

// kindBranches keep the keys of a map's kinds apart, so that an editor's message is about the kind that is written. twice are the names of keys
// that differ from kind to kind.
func kindBranches(m *spec.Map, kinds, twice []string) []any {
	var branches []any
	for _, kind := range kinds {
		then := object{"propertyNames": object{"enum": m.KeyNames(kind)}}
		var makers []string
		own := object{}
		for i := range m.Keys {
			key := &m.Keys[i]
			if key.Makes == kind {
				makers = append(makers, key.Name)
			}
			if slices.Contains(twice, key.Name) && m.KeyOf(kind, key.Name) == key {
				own[key.Name] = keySchema(key)
			}
		}
		condition := object{"required": makers}
		switch {
		case m.KindBy != "":
			condition = object{"properties": object{m.KindBy: object{"const": kind}}, "required": []string{m.KindBy}}
		case len(makers) > 1:
			condition = object{"anyOf": each(makers, requires)}
			then["required"] = makers
		}
		if len(own) > 0 {
			then["properties"] = own
		}
		branches = append(branches, object{"if": condition, "then": then})
	}
	return branches
}

func each(names []string, schema func(string) object) []any {
	var all []any
	for _, name := range names {
		all = append(all, schema(name))
	}
	return all
}

// keySchema is the schema of a key's value: of each form that it may have.
func keySchema(key *spec.Key) object {
	var forms []any
	if key.Type != spec.None {
		forms = append(forms, single(key))
	}
	if key.Map != "" && key.Type != spec.Anything {
		form := ref(key.Map)
		if key.Some {
			form = object{"allOf": []any{form, object{"minProperties": 1}}}
		}
		forms = append(forms, form)
	}
	if key.Items != nil {
		form := object{"type": "array", "items": keySchema(key.Items)}
		if key.Some {
			form["minItems"] = 1
		}
		forms = append(forms, form)
	}
	if key.Type == spec.Anything && key.Map != "" { // the map stands for those that have what it needs
		m := ref(key.Map)
		forms = []any{object{"if": object{"type": "object", "required": []string{"value"}}, "then": m}}
	}
	s := forms[0].(object)
	if len(forms) > 1 {
		s = object{"anyOf": forms}
	}
	if key.Doc == "" {
		return s
	}
	doc := key.Doc
	if key.Default != "" {
		doc += " Default `" + key.Default + "`."
	}
	return described(s, doc)
}

// single is the schema of a key's single value.
func single(key *spec.Key) object {
	switch key.Type {
	case spec.Text:
		return textual(key)
	case spec.Template:
		if key.Pattern != "" {
			return object{"type": "string", "pattern": key.Pattern}
		}
		return object{"type": []string{"string", "number", "boolean"}}
	case spec.Expression:
		return object{"type": []string{"string"}, "pattern": oneExpression}
	case spec.Condition:
		return object{"type": []string{"string", "boolean"}}
	case spec.Word:
		var words []any
		for _, word := range key.Values {
			words = append(words, word)
		}
		if slices.Contains(key.Values, "true") {
			words = append(words, true, false)
		}
		return object{"enum": words}
	case spec.Integer:
		return object{"type": "integer", "minimum": key.Least, "maximum": key.Most}
	case spec.Number:
		return object{"type": "number", "minimum": key.Least, "maximum": key.Most}
	case spec.Duration:
		if key.Least == 0 {
			return ref("duration")
		}
		return object{"allOf": []any{ref("duration"), object{"not": object{"type": "string", "pattern": underOneSecond}}}}
	case spec.Secret:
		return object{"type": "string", "pattern": oneSecret, "examples": []string{"${{ secrets.NAME }}"}}
	case spec.Named:
		return ref("connection")
	}
	return object{}
}

// textual is text without expressions. Numbers and booleans are text as they stand, where the pattern takes such.
func textual(key *spec.Key) object {
	types := []string{"string"}
	for name, sample := range map[string]string{"number": "1", "boolean": "true"} {
		if matched, err := regexp.MatchString(key.Pattern, sample); matched && err == nil {
			types = append(types, name)
		}
	}
	s := object{"not": object{"type": "string", "pattern": spec.HasExpression}}
	if matched, err := regexp.MatchString(key.Pattern, "-1"); !matched && err == nil {
		s["minimum"] = 0
	}
	if key.Null {
		types = append(types, "null")
	}
	slices.Sort(types)
	s["type"] = types
	if key.Pattern != "" {
		s["pattern"] = key.Pattern
	}
	if key.MaxRunes > 0 {
		s["maxLength"] = key.MaxRunes
	}
	return s
}

// described gives a schema a description. Beside a $ref draft-07 ignores other
// words, so that one is wrapped.
func described(s object, text string) object {
	if _, isRef := s["$ref"]; isRef {
		return object{"allOf": []any{s}, "description": text}
	}
	s["description"] = text
	return s
}

// withSchema changes the schema of an action's `with` to what the language says of it: inputs that are schemas themselves, and of which
// exactly one is given.
func withSchema(language *spec.Language, action string, with object) {
	own := language.Map("with " + action)
	properties, ok := with["properties"].(object)
	if own == nil || !ok {
		return
	}
	for i := range own.Keys {
		if key := &own.Keys[i]; key.Map != "" {
			properties[key.Name] = keySchema(key)
		}
	}
	if own.One {
		with["minProperties"], with["maxProperties"] = 1, 1
	}
}

// ofLanguage are the definitions of all maps of the language.
func ofLanguage(language *spec.Language, definitions object) {
	for i := range language.Maps {
		if m := &language.Maps[i]; !strings.HasPrefix(m.Name, "with ") {
			definitions[m.Name] = mapSchema(m)
		}
	}
}
