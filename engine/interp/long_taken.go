package interp

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/schema"
)

// take notes the types of the items for another run, so that they stay text there. It
// reports whether they are read the same by what is noted.
func (l *longOutputs) take(taken *journal.Taken) bool {
	if l.pages == nil {
		return false
	}
	var items []journal.TakenItems
	var noted []schema.EncodedPart
	at := 0
	for _, run := range alike(l.pages) {
		text := run.element.JSONSchema()
		element, err := schema.FromJSON(text)
		if err != nil {
			return false
		}
		items = append(items, journal.TakenItems{Count: run.count, Schema: text})
		for left := run.count; left > 0; at++ {
			noted = append(noted, schema.EncodedPart{Text: l.pages[at].items, Element: element})
			left -= l.pages[at].count
		}
	}
	again, err := schema.NewEncoded(noted...)
	if err != nil || !l.readsAs(again) {
		return false
	}
	taken.Items = items
	return true
}

// readsAs reports whether the items are the elements of a list.
func (l *longOutputs) readsAs(list *schema.Encoded) bool {
	mine, _ := l.value["items"].(*schema.Encoded)
	if mine == nil || mine.Len() != list.Len() {
		return false
	}
	one, other := mine.Reader(), list.Reader()
	for i := range list.Len() {
		a, err := one.At(i)
		if err != nil {
			return false
		}
		if b, err := other.At(i); err != nil || !reflect.DeepEqual(a, b) {
			return false
		}
	}
	return true
}

var errTakenItems = errors.New("its items are not those that are noted")

// takenLong reads what take noted.
func takenLong(taken *journal.Taken) (*longOutputs, error) {
	if !json.Valid(taken.Outputs) {
		return nil, errTakenItems
	}
	members, ok := schema.Members(taken.Outputs)
	if !ok {
		return nil, errTakenItems
	}
	fields, count, noted := map[string]any{}, 0, make([]pageText, len(taken.Items))
	for name, text := range members {
		if name == "items" {
			continue
		}
		value, err := anyType.Decode(text)
		if err != nil {
			return nil, fmt.Errorf("read field %s: %w", name, err)
		}
		fields[name] = value
	}
	for range schema.Elements(members["items"]) {
		count++
	}
	for i, items := range taken.Items {
		element, err := schema.FromJSON(items.Schema)
		if err != nil {
			return nil, fmt.Errorf("read the type of items: %w", err)
		}
		noted[i] = pageText{count: items.Count, element: element}
		if count -= items.Count; items.Count <= 0 || count < 0 {
			return nil, errTakenItems
		}
	}
	if count != 0 {
		return nil, errTakenItems
	}
	for i, list := range listsOf(members["items"], noted) {
		noted[i].items = list
	}
	return newLongOutputs(fields, noted, -1)
}
