package web

import (
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// fieldNames returns the fields that the body of an operation may have, but for
// those that are for our own commands.
func fieldNames(op *huma.Operation, schema *huma.Schema) []string {
	registry, ok := op.Metadata[registryOf].(huma.Registry)
	if !ok || schema.Ref == "" {
		return nil
	}
	t := registry.TypeFromRef(schema.Ref)
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" && field.Tag.Get("hidden") != "true" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// registryOf is where the metadata of an operation holds the schemas of its body.
const registryOf = "registry"
