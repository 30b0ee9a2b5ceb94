package eval

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
)

func sortStrings(list []string) { slices.Sort(list) }

func objectFunctions() []*function {
	return []*function{
		{
			signature: "keys(object: object): list", doc: "The names of an object's fields, sorted.", example: "keys({b: 1, a: 2})",
			result: func(c *call) *schema.Type { return c.perField(schema.Of(schema.String)) },
			run: func(m *machine, args []any) (any, error) {
				return m.eachField(args[0], func(name string, _ any) any { return name })
			},
		},
		{
			signature: "values(object: object): list", doc: "The values of an object's fields in the order of their names.", example: "values({b: 1, a: 2})",
			result: func(c *call) *schema.Type { return c.perField(c.fieldType(0)) },
			run: func(m *machine, args []any) (any, error) {
				return m.eachField(args[0], func(_ string, value any) any { return value })
			},
		},
		{
			signature: "toPairs(object: object): list", doc: "The fields of an object as pairs [name, value], sorted by name.", example: "toPairs({b: 1, a: 2})",
			result: (*call).pairs,
			run: func(m *machine, args []any) (any, error) {
				if err := m.grow(2 * len(args[0].(map[string]any))); err != nil {
					return nil, err
				}
				return m.eachField(args[0], func(name string, value any) any { return []any{name, value} })
			},
		},
		{
			signature: "fromPairs(pairs: list): object", doc: "The object of a list of pairs [name, value]; of equal names the last one counts.", example: `fromPairs([["a", 1]])`,
			result: (*call).fromPairs,
			run:    func(m *machine, args []any) (any, error) { return m.fromPairs(args[0].([]any)) },
		},
		{
			signature: "get(x: any, path: text|integer): any", doc: "The value at a path such as a.b.0 in objects and lists; null where there is nothing.", example: `get(steps.a.outputs, "meta.owner")`,
			result: (*call).got, encoded: true,
			run: func(m *machine, args []any) (any, error) {
				if i, ok := args[1].(int); ok {
					return m.memberAt(args[0], strconv.Itoa(i))
				}
				return m.lookUp(args[0], args[1].(string))
			},
		},
		{
			signature: "kindOf(x: any): text", doc: "What kind of value it is: text, integer, number, boolean, time, duration, list, object or null. A condition on it tells values of several kinds apart.",
			example: `kindOf(inputs.x) == "text"`,
			result:  func(c *call) *schema.Type { return kindOfType(c.types[0]) },
			encoded: true,
			run:     func(_ *machine, args []any) (any, error) { return kindWord(schema.KindOf(args[0])), nil },
		},
	}
}

// eachField lists what is made of each field, in the order of the names.
func (m *machine) eachField(v any, make func(name string, value any) any) (any, error) {
	object := v.(map[string]any)
	if err := m.grow(2 * len(object)); err != nil {
		return nil, err
	}
	if err := m.step(len(object)); err != nil {
		return nil, err
	}
	list := []any{}
	for _, name := range sortedKeys(object) {
		list = append(list, make(name, object[name]))
	}
	return list, nil
}

func (m *machine) fromPairs(pairs []any) (any, error) {
	if err := m.grow(3 * len(pairs)); err != nil {
		return nil, err
	}
	object := make(map[string]any, len(pairs))
	for _, item := range pairs {
		pair, ok, err := m.plain("fromPairs", item)
		if err != nil {
			return nil, err
		}
		if !ok || len(pair) != 2 {
			return nil, failf("fromPairs expects pairs [name, value], got %s", article(item))
		}
		name, err := fieldName(pair[0])
		if err != nil {
			return nil, err
		}
		object[name] = pair[1]
	}
	return object, m.step(len(pairs))
}

// fieldName is the name that a scalar gives to a field or a group.
func fieldName(v any) (string, error) {
	name, err := Text(v)
	if err != nil {
		return "", failf("%s can't name a field", article(v))
	}
	return name, nil
}

// lookUp follows a path; a field whose name is the whole path comes first.
func (m *machine) lookUp(v any, path string) (any, error) {
	if object, ok := v.(map[string]any); ok {
		if value, there := object[path]; there {
			return value, nil
		}
	}
	parts := strings.Split(path, ".")
	if err := m.step(len(parts) / 8); err != nil {
		return nil, err
	}
	for _, part := range parts {
		var err error
		if v, err = m.memberAt(v, part); v == nil || err != nil {
			return nil, err
		}
	}
	return v, nil
}

// memberAt returns a field or an element, nil when there is none.
func (m *machine) memberAt(v any, name string) (any, error) {
	if object, ok := v.(map[string]any); ok {
		return object[name], nil
	}
	if list, ok := sequenceOf(v); ok {
		if i, err := strconv.Atoi(name); err == nil {
			return list.atOrNull(m, fromEnd(i, list.len()))
		}
	}
	return nil, nil
}
