package openapi

import (
	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// named writes what a description has as a list or, shorter, by names: of writes one
// member of the latter.
func named(n *tree.Node, of func(tree.Member) sdk.Value) []sdk.Value {
	var all []sdk.Value
	for _, item := range n.Items() {
		all = append(all, item.JSON())
	}
	for _, member := range n.Members() {
		all = append(all, of(member))
	}
	return all
}

// faultOf writes `404: no such contact` as a fault.
func faultOf(m tree.Member) sdk.Value {
	fault := tree.Object{{Name: "status", Value: sdk.Value(m.Name)}}
	if m.Value.IsText() {
		return fault.With("doc", m.Value.JSON()).JSON()
	}
	for _, word := range m.Value.Members() {
		fault = fault.With(word.Name, word.Value.JSON())
	}
	return fault.JSON()
}

// fillOf writes `records: []` as a member that stands for null.
func fillOf(m tree.Member) sdk.Value {
	return tree.Object{{Name: "member", Value: tree.Text(m.Name)}, {Name: "value", Value: m.Value.JSON()}}.JSON()
}

// exampleOf writes `NAME: {input: …, output: …}` as an example.
func exampleOf(m tree.Member) sdk.Value {
	example := tree.Object{{Name: "name", Value: tree.Text(m.Name)}}
	for _, word := range m.Value.Members() {
		example = example.With(word.Name, word.Value.JSON())
	}
	return example.JSON()
}

// refusals writes the rules about each input as one list.
func refusals(n *tree.Node) []sdk.Value {
	var all []sdk.Value
	for _, input := range n.Members() {
		for _, rule := range input.Value.Items() {
			written := tree.Object{{Name: "input", Value: tree.Text(input.Name)}}
			for _, word := range rule.Members() {
				written = written.With(word.Name, word.Value.JSON())
			}
			all = append(all, written.JSON())
		}
	}
	return all
}
