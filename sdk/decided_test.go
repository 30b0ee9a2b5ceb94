package sdk

import (
	"encoding/json"
	"testing"
	"time"
)

type decidedIn struct {
	Text   string             `json:"text" min:"1" max:"8" pattern:"^[a-z]+$"`
	Kind   string             `json:"kind" enum:"a,b" default:"a"`
	Size   int                `json:"size,omitempty" min:"-5" max:"500" enum:"1,2"`
	Count  *int64             `json:"count"`
	Ratio  float64            `json:"ratio" max:"1.5"`
	Since  time.Time          `json:"since"`
	Until  string             `json:"until,omitempty" format:"date-time"`
	Note   string             `json:"note,omitempty" format:"project-file"`
	Tags   []string           `json:"tags,omitempty" enum:"red,green" min:"1" max:"3"`
	Inner  struct{ Name any } `json:"inner"`
	Others map[string][]bool  `json:"others,omitempty"`
	Body   Value              `json:"body,omitempty"`
	Object *Object            `json:"object"`
	Number json.Number        `json:"number"`
	File   *Blob              `json:"file"`
}

type chain struct {
	Next *chain `json:"next,omitempty"`
}

type shouted string

func (s *shouted) UnmarshalText(text []byte) error { *s = shouted(text); return nil }

type nothing struct{}

func decides[I any](options ...ActionOption) bool {
	p := New("x", "1.0.0", "For tests", Read("a", "For tests", func(*Call[nothing], I) (nothing, error) { return nothing{}, nil }, options...))
	if err := p.Err(); err != nil {
		panic(err)
	}
	return p.describe().GetActions()[0].GetSchemasDecide()
}

func TestWhichActionsTheirSchemasDecide(t *testing.T) {
	written := func(schema string) ActionOption { return Input(json.RawMessage(schema)) }
	object := func(field string) ActionOption {
		return written(`{"type":"object","additionalProperties":false,"properties":{"a":` + field + `}}`)
	}
	for name, got := range map[string]bool{
		"tags alone":              decides[decidedIn](),
		"nothing":                 decides[nothing](),
		"a schema and a value":    decides[Value](object(`{"type":["string","null"],"enum":["a",null]}`)),
		"a schema and any object": decides[map[string]any](object(`{"type":"string"}`)),
		"a type that is another":  decides[Value](object(`{"type":["string","integer"]}`)),
		"any value":               decides[Value](object(`{}`)),
		"choices":                 decides[Value](object(`{"anyOf":[{"type":"string"}]}`)), // not read here
	} {
		if !got {
			t.Errorf("%s: the schemas decide, and it is not said", name)
		}
	}
	for name, got := range map[string]bool{
		"a validator":              decides[nothing](ValidateWith(func(nothing, []string) []Problem { return nil })),
		"a rule about a field":     decides[nothing](ValidateField("/a", func(nothing) []Problem { return nil })),
		"a narrower":               decides[nothing](NarrowWith(func(nothing, []string) json.RawMessage { return nil })),
		"a rule about the config":  decides[nothing](ValidateOn(func(nothing, nothing, []string) []Problem { return nil })),
		"a narrower by the config": decides[nothing](NarrowOn(func(nothing, nothing, []string) json.RawMessage { return nil })),
		"what its items are":       decides[struct{ Page *string }](Paged("Page", "", ""), NarrowItems(func(struct{ Page *string }, []string) string { return "" })),
		"a small number":           decides[struct{ A int8 }](),
		"a small float":            decides[struct{ A float32 }](),
		"bytes":                    decides[struct{ A []byte }](),
		"a reader of its own":      decides[struct{ A lenient }](),
		"a reader of text":         decides[struct{ A shouted }](),
		"a reader of keys":         decides[struct{ A map[shouted]int }](),
		"a type inside itself":     decides[chain](),
		"a format": decides[struct {
			A string `format:"uri"`
		}](),
		"a duration": decides[struct {
			A string `format:"duration"`
		}](),
		"a time of a length": decides[struct {
			A string `format:"date-time" max:"20"`
		}](),
		"a bound that no float has": decides[struct {
			A int `max:"9007199254740993"`
		}](),
		"words of numbers": decides[struct {
			A float64 `enum:"1,2.5"`
		}](),
		"an integer as 1.0":             decides[Value](object(`{"type":"integer","enum":[1.0]}`)),
		"a schema and another type":     decides[struct{ A string }](object(`{"type":"string"}`)),
		"null among the words alone":    decides[Value](object(`{"type":"string","enum":["a",null]}`)),
		"several types and a bound":     decides[Value](object(`{"type":["string","integer"],"minimum":3}`)),
		"a bound without a type":        decides[Value](object(`{"minimum":3}`)),
		"a format deep in a list":       decides[Value](object(`{"type":"array","items":{"type":"object","properties":{"b":{"type":"string","format":"ipv4"}}}}`)),
		"a format of any other name":    decides[Value](object(`{"type":"object","additionalProperties":{"type":"string","format":"uuid"}}`)),
		"a schema whose word is a list": decides[Value](object(`{"type":"array","enum":[[1],[2]]}`)),
	} {
		if got {
			t.Errorf("%s: it is said that the schemas decide", name)
		}
	}
}
