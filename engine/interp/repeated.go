package interp

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// itemDigest names an item of a reading.
type itemDigest [16]byte

// pagePlace is where an item stood: all count from 1.
type pagePlace struct{ window, page, item int32 }

// pageItems remembers the items of a reading, one digest each, so that an item
// which a later page gives again is found. It holds as many as the reading keeps
// items, which max_items bounds, and is filled anew when a journal is replayed.
type pageItems map[itemDigest]pagePlace

// identify returns the digest of an item, and the text that names it for people,
// "" for none; false for an item that may repeat.
func identify(item any, by string) (digest itemDigest, name string, ok bool) {
	object, isObject := item.(map[string]any)
	switch {
	case by == plan.IdentityNone, by == plan.IdentityObject && !isObject:
		return digest, "", false
	case by != plan.IdentityObject && by != plan.IdentityWhole && isObject:
		if id, there := object[by]; there && isScalar(id) {
			item, name = []any{id}, by // in a list: an id is never taken for a whole item
		}
	}
	encoded, err := schema.Encode(item) // with its keys sorted
	if err != nil {
		return digest, "", false
	}
	if name != "" {
		name = "with `" + name + "` " + shortened(string(encoded[1:len(encoded)-1]), 80) + " "
	}
	sum := sha256.Sum256(encoded)
	return itemDigest(sum[:]), name, true
}

func isScalar(value any) bool {
	switch value.(type) {
	case string, int, int64, json.Number, float64:
		return true
	}
	return false
}

// add notes the items of a page, or tells which of them an earlier page gave.
// Items that are twice on one page are the service's own matter.
func (items pageItems) add(values []any, by string, window, page int) *runs.Error {
	fresh := make(pageItems, len(values))
	failure := items.look(fresh, values, by, pagePlace{window: int32(window), page: int32(page)})
	if failure == nil {
		items.take(fresh)
	}
	return failure
}

// look notes items of a page in fresh: those behind a place of it.
func (items pageItems) look(fresh pageItems, values []any, by string, behind pagePlace) *runs.Error {
	for i, item := range values {
		digest, name, ok := identify(item, by)
		if !ok {
			continue
		}
		at := behind
		at.item += int32(i) + 1
		if before, seen := items[digest]; seen {
			return repeatedItem(name, at, before)
		}
		if _, twice := fresh[digest]; !twice {
			fresh[digest] = at
		}
	}
	return nil
}

// take adds the items of a page that was looked at.
func (items pageItems) take(fresh pageItems) {
	for digest, at := range fresh {
		items[digest] = at
	}
}

// drop forgets the items of a page of a window, or of all its pages (0).
func (items pageItems) drop(window, page int) {
	for digest, at := range items {
		if int(at.window) == window && (page == 0 || int(at.page) == page) {
			delete(items, digest)
		}
	}
}

func repeatedItem(name string, at, before pagePlace) *runs.Error {
	return &runs.Error{
		Kind:   plan.KindUnexpectedResponse,
		Reason: "repeated_item",
		Message: fmt.Sprintf("%s has an item %sagain that %s gave (item %d there, item %d here): it would count twice",
			at.pageIn(before), name, before.pageIn(at), before.item, at.item),
		Hint: diag.Say("the service starts again, or what it lists moved while it was read; a resume reads this page once more, and larger pages make it rarer"),
	}
}

// pageIn names the page, with its window where another page is in another one.
func (p pagePlace) pageIn(other pagePlace) string {
	page := "page " + strconv.Itoa(int(p.page))
	if p.window != other.window {
		page += " of window " + strconv.Itoa(int(p.window))
	}
	return page
}

func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
