package schema_test

import (
	"fmt"
	"testing"

	"github.com/flowrun/flowrun/engine/schema"
)

// differences are each kind of change with what it says of the way there and back: the
// pointer, the word, and whose work may not fit any more, of those who give (g) and those
// who read (r).
func differences() map[string]struct{ was, is, there, back string } {
	object := func(fields string) string { return `{"type":"object","properties":{` + fields + `}}` }
	type row = struct{ was, is, there, back string }
	return map[string]row{
		"nothing":            {object(`"a":{"type":"string","description":"one"}`), object(`"a":{"type":"string","description":"two"}`), "", ""},
		"a field":            {object(``), object(`"a":{"type":"string"}`), "/a field - is new", "/a field gr is gone"},
		"a required field":   {object(``), `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, "/a field g is new and must be given", "/a field gr is gone"},
		"required":           {object(`"a":{"type":"string"}`), `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, "/a required g must be given now", "/a required r may be missing now"},
		"a kind":             {object(`"a":{"type":"string"}`), object(`"a":{"type":"boolean"}`), "/a type gr is a boolean, was text", "/a type gr is text, was a boolean"},
		"a wider number":     {object(`"a":{"type":"integer"}`), object(`"a":{"type":"number"}`), "/a type r is a number, was an integer", "/a type g is an integer, was a number"},
		"any value":          {object(`"a":{"type":"integer"}`), object(`"a":{}`), "/a type r is any value, was an integer", "/a type g is an integer, was any value"},
		"null":               {object(`"a":{"type":"string"}`), object(`"a":{"type":["string","null"]}`), "/a null r may be null now", "/a null g may not be null any more"},
		"a secret":           {object(`"a":{"type":"string"}`), object(`"a":{"type":"string","writeOnly":true}`), "/a secret gr is a secret now", "/a secret g is no secret any more"},
		"an enum":            {object(`"a":{"type":"string"}`), object(`"a":{"enum":["x","y"]}`), `/a enum g must be one of "x", "y" now`, `/a enum r may be any text, was one of "x", "y"`},
		"a value of it":      {object(`"a":{"enum":["x"]}`), object(`"a":{"enum":["x","y"]}`), `/a enum r may be "y" too`, `/a enum g does not take "y" any more`},
		"all its values":     {object(`"a":{"enum":["x"]}`), object(`"a":{"enum":["y"]}`), `/a enum g does not take "x" any more; /a enum r may be "y" too`, `/a enum g does not take "y" any more; /a enum r may be "x" too`},
		"a minimum":          {object(`"a":{"type":"integer"}`), object(`"a":{"type":"integer","minimum":2}`), "/a bound g has the minimum 2, had none", "/a bound r has the minimum none, had 2"},
		"a higher minimum":   {object(`"a":{"type":"integer","minimum":1}`), object(`"a":{"type":"integer","minimum":2}`), "/a bound g has the minimum 2, had 1", "/a bound r has the minimum 1, had 2"},
		"a maximum":          {object(`"a":{"type":"number","maximum":9}`), object(`"a":{"type":"number","maximum":5}`), "/a bound g has the maximum 5, had 9", "/a bound r has the maximum 9, had 5"},
		"a length":           {object(`"a":{"type":"string","maxLength":9}`), object(`"a":{"type":"string","maxLength":5}`), "/a bound g has the largest number of characters 5, had 9", "/a bound r has the largest number of characters 9, had 5"},
		"a count":            {object(`"a":{"type":"array","minItems":1}`), object(`"a":{"type":"array","minItems":2}`), "/a bound g has the least number of elements 2, had 1", "/a bound r has the least number of elements 1, had 2"},
		"a pattern":          {object(`"a":{"type":"string"}`), object(`"a":{"type":"string","pattern":"^x"}`), "/a bound g must match ^x", "/a bound r need not match ^x any more"},
		"a default":          {object(`"a":{"type":"string"}`), object(`"a":{"type":"string","default":"x"}`), `/a default - has the default "x", had none`, `/a default - has the default none, had "x"`},
		"an element":         {object(`"a":{"type":"array","items":{"type":"string"}}`), object(`"a":{"type":"array","items":{"type":"integer"}}`), "/a/* type gr is an integer, was text", "/a/* type gr is text, was an integer"},
		"a field far below":  {object(`"a":` + object(`"b":{"type":"array","items":`+object(`"c":{"type":"string"}`)+`}`)), object(`"a":` + object(`"b":{"type":"array","items":`+object(``)+`}`)), "/a/b/*/c field gr is gone", "/a/b/*/c field - is new"},
		"other names":        {`{"type":"object","properties":{"a":{}},"additionalProperties":false}`, `{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"string"}}`, " names r may have any names now", " names gr has no other names any more"},
		"open":               {`{"type":"object","properties":{"a":{}},"additionalProperties":false}`, `{"type":"object","properties":{"a":{}}}`, " names r may have other names now", " names - has no names but its own"},
		"one of other names": {`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"integer"}}`, "/* type gr is an integer, was text", "/* type gr is text, was an integer"},
	}
}

func said(was, is *schema.Type) (text string) {
	for _, d := range was.Differences(is) {
		whose := ""
		if d.Gives {
			whose += "g"
		}
		if d.Reads {
			whose += "r"
		}
		if whose == "" {
			whose = "-"
		}
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("%s %s %s %s", d.Pointer, d.What, whose, d.Text)
	}
	return text
}

func TestIssue15_DifferencesBothWays(t *testing.T) {
	for name, row := range differences() {
		t.Run(name, func(t *testing.T) {
			was, is := schema.MustFromJSON(row.was), schema.MustFromJSON(row.is)
			if got := said(was, is); got != row.there {
				t.Errorf("there: %s\nwant   %s", got, row.there)
			}
			if got := said(is, was); got != row.back {
				t.Errorf("back: %s\nwant  %s", got, row.back)
			}
		})
	}
}

// Each difference can be made alone; made one after the other they lead from each type of
// the table to each other one.
func TestIssue15_DifferencesLeadFromOneTypeToTheOther(t *testing.T) {
	var all []*schema.Type
	for _, row := range differences() {
		all = append(all, schema.MustFromJSON(row.was), schema.MustFromJSON(row.is))
	}
	for _, was := range all {
		for _, is := range all {
			found := was.Differences(is)
			reached, before := was, string(was.JSONSchema())
			for _, d := range found {
				alone := d.Apply(was)
				if len(was.Differences(alone)) == 0 {
					t.Errorf("%s %s: nothing differs when it is made alone", d.Pointer, d.Text)
				}
				reached = d.Apply(reached)
			}
			if left := said(reached, is); left != "" {
				t.Errorf("from %s\nto   %s\nleft %s", was.JSONSchema(), is.JSONSchema(), left)
			}
			if string(was.JSONSchema()) != before {
				t.Fatal("the type was changed, not a copy of it")
			}
		}
	}
}
