// Package overlay changes a document by an OpenAPI Overlay 1.0: a list of targets in the
// document, each with what is merged into it or taken out. Targets are a part of
// JSONPath (RFC 9535): names, places, wildcards, descendants and filters that compare.
package overlay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/plugins/openapi/tree"
)

// selected is a value that a target selects, with the values that it lies in, outermost
// first.
type selected struct {
	node *tree.Node
	in   []*tree.Node
}

// Apply changes a document by an overlay, one action after the other. A target that
// selects nothing is an error: it is misspelt, or the document has changed.
func Apply(document *tree.Node, text []byte) error {
	root, err := tree.Parse(text)
	if err != nil {
		return err
	}
	if version := root.Get("overlay").Plain(); !strings.HasPrefix(version, "1.") && version != "1" {
		return errors.New("it has no `overlay: 1.0.0` at its top")
	}
	actions := root.Get("actions").Items()
	if len(actions) == 0 {
		return errors.New("it has no actions")
	}
	for i, action := range actions {
		if err := apply(document, action); err != nil {
			return fmt.Errorf("action %d (%s): %w", i+1, action.Get("target").Text(), err)
		}
	}
	return nil
}

func apply(document, action *tree.Node) error {
	for _, member := range action.Members() {
		switch member.Name {
		case "target", "description", "update", "remove":
		default:
			if !strings.HasPrefix(member.Name, "x-") {
				return fmt.Errorf("`%s` is no word of an action", member.Name)
			}
		}
	}
	path, err := parse(action.Get("target").Text())
	if err != nil {
		return err
	}
	found := []selected{{node: document}}
	for _, step := range path {
		found = step.from(found)
	}
	if len(found) == 0 {
		return errors.New("the target selects nothing in the document")
	}
	update := action.Get("update")
	if update == nil && !action.Get("remove").True() {
		return errors.New("it has neither `update` nor `remove: true`")
	}
	for _, one := range found {
		if action.Get("remove").True() {
			if len(one.in) == 0 {
				return errors.New("the document itself can't be removed")
			}
			one.in[len(one.in)-1].Remove(one.node)
		} else if err := merge(one.node, update); err != nil {
			return err
		}
		for _, outer := range one.in {
			outer.Touch()
		}
	}
	return nil
}

// merge puts an update into a value: members of objects one by one, as an element at the
// end of a list.
func merge(target, update *tree.Node) error {
	switch {
	case target.IsList():
		target.Append(update.Copy())
		return nil
	case !target.IsObject():
		return errors.New("the target is neither an object nor a list: name what it lies in")
	case !update.IsObject():
		return errors.New("`update` is no object, and the target is one")
	}
	mergeObjects(target, update)
	return nil
}

func mergeObjects(target, update *tree.Node) {
	for _, member := range update.Members() {
		old := target.Get(member.Name)
		switch {
		case old.IsObject() && member.Value.IsObject():
			mergeObjects(old, member.Value)
			old.Touch()
		case old.IsList() && member.Value.IsList():
			for _, item := range member.Value.Items() {
				old.Append(item.Copy())
			}
		default:
			target.Set(member.Name, member.Value.Copy())
		}
	}
	target.Touch()
}
