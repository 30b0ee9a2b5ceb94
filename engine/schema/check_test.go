package schema

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCheckFindsWhatDecodeFinds: the same faults at the same places, however large
// the value is.
func TestCheckFindsWhatDecodeFinds(t *testing.T) {
	row := ObjectOf(Field{Name: "id", Type: Of(Int), Required: true}, Field{Name: "at", Type: Of(Time)}, Field{Name: "tags", Type: &Type{Kind: List, Elem: Of(String)}})
	closed := *row
	closed.Open, closed.Additional = false, nil
	few := 3
	types := map[string]*Type{
		"any": {}, "rows": {Kind: List, Elem: row}, "closed rows": {Kind: List, Elem: &closed}, "few": {Kind: List, MaxLength: &few},
		"object": ObjectOf(Field{Name: "items", Type: &Type{Kind: List, Elem: row}, Required: true}, Field{Name: "text", Type: Of(String)}), "text": Of(String),
		"numbers": {Kind: List, Elem: &Type{Kind: List, Elem: Of(Int)}}, "map": MapOf(Of(String)), "secret": {Kind: String, Secret: true},
	}
	documents := documentsOf(rand.New(rand.NewPCG(1, 2)))
	faults := 0
	for name, typ := range types {
		for i, document := range documents {
			for _, answer := range []bool{true, false} {
				check, decode := typ.Check, typ.Decode
				if answer {
					check, decode = typ.CheckAnswer, typ.DecodeAnswer
				}
				_, want := decode([]byte(document))
				got := check([]byte(document))
				if fmt.Sprint(want) != fmt.Sprint(got) || pointerOf(want) != pointerOf(got) {
					t.Errorf("%s, document %d (%d bytes): Decode says %v at %q, Check %v at %q", name, i, len(document), want, pointerOf(want), got, pointerOf(got))
				}
				if want != nil {
					faults++
				}
			}
		}
	}
	if faults < 20 {
		t.Errorf("only %d faults were looked for", faults)
	}
}

func pointerOf(err error) string {
	var wrong *Mismatch
	if errors.As(err, &wrong) {
		return wrong.Pointer
	}
	return ""
}

// documentsOf are values above checkWhole, some with one fault.
func documentsOf(random *rand.Rand) (documents []string) {
	list := func(n int, element func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = element(i)
		}
		return "[ " + strings.Join(parts, " , ") + " ]"
	}
	good := func(i int) string {
		return fmt.Sprintf(`{"id": %d, "at":"2026-01-02T03:04:05Z","tags":["a,]}\"\\","b"]}`, i)
	}
	for _, bad := range []string{`{"id":"x"}`, `{"id":1.5}`, `{"at":null}`, `{"id":1,"at":"no"}`, `{"id":1,"tags":[1]}`, `{"id":1,"more":{"$secret":"n"}}`, `7`, `null`, `{"id":1,"more":1}`} {
		at := random.IntN(1000)
		rows := list(1000, func(i int) string {
			if i == at {
				return bad
			}
			return good(i)
		})
		documents = append(documents, rows, `{"items":`+rows+`,"text":"x"}`, ` {"text":"x", "items" : `+rows+` } `)
	}
	long := strings.Repeat("y", checkWhole)
	return append(documents, list(1000, good), `"`+long+`"`, `{"$secret":"`+long+`"}`, `{"a":"`+long+`","b":1}`, `["`+long+`",{"id":"`+long+`"}]`, list(20_000, func(i int) string { return list(3, func(int) string { return fmt.Sprint(i) }) }),
		"["+strings.Repeat("1,", checkWhole)+"1]", `{"items":[`+strings.Repeat(`{"id":1},`, checkWhole/8)+`{"id":2}]}`,
		list(3, func(int) string { return list(30_000, func(i int) string { return fmt.Sprint(i) }) }), `[1,`+list(9, good), `{"a":`+long, `[`+long+`]`)
}

// TestElementsAreThoseOfTheList: the parts of a list are those that a decoder finds.
func TestElementsAreThoseOfTheList(t *testing.T) {
	for text, want := range map[string]int{"[]": 0, " [ ] ": 0, "[1]": 1, `[ "a,]" , [1,[2]], {"b":"}"} , null,-1.5e3 ]`: 5, `{"a":1}`: 0, "": 0, "3": 0} {
		var parts []string
		for part := range Elements([]byte(text)) {
			parts = append(parts, string(part))
		}
		if len(parts) != want {
			t.Errorf("%s has the parts %q", text, parts)
		}
	}
}
