package sdk

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var updateGolden = flag.Bool("update", false, "write the golden files anew")

// golden compares with testdata/name; indented, so that a change reads well.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	pretty.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *updateGolden {
		if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

type embedded struct {
	Region string `json:"region" doc:"Where" default:"eu"`
}

type inner struct {
	Name  string `json:"name" min:"1"`
	Value int    `json:"value,omitempty"`
}

type everything struct {
	embedded
	Zone    string            `json:"zone" doc:"Zone of <time> & place" example:"Europe/Berlin" pattern:"^[A-Z]"`
	Type    string            `json:"type" enum:"A,AAAA,MX" default:"A"`
	Level   *int              `json:"level" enum:"1,2,3"`
	Limit   int64             `json:"limit" min:"1" max:"9007199254740993" default:"100"`
	Count   uint32            `json:"count,omitempty"`
	Ratio   float64           `json:"ratio" min:"0" max:"1.5"`
	Active  bool              `json:"active" default:"true"`
	Since   time.Time         `json:"since" example:"2026-01-31T09:00:00Z"`
	Until   *time.Time        `json:"until,omitempty"`
	Day     string            `json:"day,omitempty" format:"date"`
	Address netip.Addr        `json:"address,omitzero"`
	Tags    []string          `json:"tags" enum:"red,green" min:"1" max:"3"`
	Bytes   []byte            `json:"bytes,omitempty"`
	Body    Value             `json:"body"`
	Any     any               `json:"any,omitempty"`
	Object  map[string]any    `json:"object,omitempty"`
	Texts   map[string]string `json:"texts,omitempty"`
	Inner   inner             `json:"inner"`
	Inners  []inner           `json:"inners,omitempty"`
	Exact   json.Number       `json:"exact,omitempty"`
	Token   string            `json:"token" secret:"true"`
	Skipped string            `json:"-"`
	private string            //nolint:unused // a field that the schema must not show
}

type node struct {
	Name     string `json:"name"`
	Children []node `json:"children,omitempty"`
}

func TestSchemaOfInputs(t *testing.T) {
	s, err := reflectSchema(reflect.TypeFor[everything](), closedObjects)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "input.schema.json", s.JSON())
	for range 20 {
		again, _ := reflectSchema(reflect.TypeFor[everything](), closedObjects)
		if !bytes.Equal(again.JSON(), s.JSON()) {
			t.Fatal("the same type gave other bytes")
		}
	}
}

func TestSchemaOfOutputs(t *testing.T) {
	s, err := reflectSchema(reflect.TypeFor[everything](), openObjects)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "output.schema.json", s.JSON())
}

func TestSchemaOfOtherTypes(t *testing.T) {
	for name, c := range map[string]struct {
		of   reflect.Type
		want string
	}{
		"nothing":            {reflect.TypeFor[struct{}](), `{"type":"object","additionalProperties":false}`},
		"a raw value":        {reflect.TypeFor[Value](), `{}`},
		"anything":           {reflect.TypeFor[any](), `{}`},
		"a list of objects":  {reflect.TypeFor[[]map[string]any](), `{"type":"array","items":{"type":"object","additionalProperties":{}}}`},
		"a type inside it":   {reflect.TypeFor[node](), `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":["array","null"],"items":{}}},"required":["name"],"additionalProperties":false}`},
		"a pointer":          {reflect.TypeFor[*string](), `{"type":["string","null"]}`},
		"a list of pointers": {reflect.TypeFor[[]*int](), `{"type":"array","items":{"type":["integer","null"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := reflectSchema(c.of, closedObjects)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(s.JSON())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSchemaRefusesWrongTags(t *testing.T) {
	for name, c := range map[string]struct {
		of   any
		want string
	}{
		"a channel":               {struct{ C chan int }{}, "chan int has no JSON form"},
		"a duration":              {struct{ D time.Duration }{}, "time.Duration has no JSON form"},
		"keys that are no text":   {struct{ M map[int]string }{}, "keys of a map must be strings"},
		"two of one name":         {twins{}, `the name "region" is used twice`},
		"an enum of other values": {intEnum{}, `"x" is no integer`},
		"a default outside":       {outside{}, `must be one of`},
		"a default in a list":     {listDefault{}, "is not filled in"},
		"a default in a pointer":  {pointerDefault{}, "is not filled in"},
		"a bad pattern":           {badPattern{}, "as RE2"},
		"a bad bound":             {badBound{}, "is no length"},
		"a bad secret":            {badSecret{}, "write true or false"},
		"a quoted number":         {quoted{}, "option `string` is not supported"},
		"an embedded pointer":     {embeddedPointer{}, "embed a struct"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := reflectSchema(reflect.TypeOf(c.of), closedObjects)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

type (
	twins struct {
		embedded
		Other string `json:"region"`
	}
	intEnum struct {
		A int `json:"a" enum:"1,x"`
	}
	outside struct {
		A string `json:"a" enum:"x,y" default:"z"`
	}
	hasDefault struct {
		A string `json:"a" default:"z"`
	}
	listDefault struct {
		A []hasDefault `json:"a"`
	}
	pointerDefault struct {
		A *hasDefault `json:"a"`
	}
	badPattern struct {
		A string `json:"a" pattern:"("`
	}
	badBound struct {
		A string `json:"a" min:"-1"`
	}
	badSecret struct {
		A string `json:"a" secret:"yes"`
	}
	quoted struct {
		A int `json:"a,string"`
	}
	embeddedPointer struct{ *embedded }
)

func TestParsedSchemaIsTheReflectedOne(t *testing.T) {
	reflected, err := reflectSchema(reflect.TypeFor[everything](), closedObjects)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parseSchema(reflected.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(reflected.JSON()), string(parsed.JSON())); diff != "" {
		t.Errorf("(-reflected +parsed):\n%s", diff)
	}
}

// Issue 15: an input whose schema was made of another description is checked behind its references too.
func TestAReferenceIsCheckedAsWhatItPointsAt(t *testing.T) {
	s, err := parseSchema([]byte(`{"$ref":"#/$defs/node","$defs":{
		"node":{"type":"object","required":["name"],"additionalProperties":false,"properties":{
			"name":{"$ref":"#/$defs/name"},"size":{"$ref":"#/$defs/a~1b","default":7},"next":{"$ref":"#/$defs/node"},"all":{"type":"array","items":{"$ref":"#/$defs/name"}}}},
		"name":{"type":"string","maxLength":3},"a/b":{"type":"integer"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{
		`{"name":"a","size":1,"all":["b"],"next":{"name":"c"}}`: "",
		`{"name":"long"}`:            "/name",
		`{}`:                         "/name",
		`{"name":"a","size":"1"}`:    "/size",
		`{"name":"a","all":["b",1]}`: "/all/1",
		`{"name":"a","other":1}`:     "/other",
		`{"name":"a","next":"b"}`:    "", // inside of itself: any value
		`[]`:                         "",
	} {
		_, problems := s.check([]byte(input), nil)
		got := ""
		if first := firstError(problems); first != nil {
			got = first.Pointer
		} else if input == `[]` {
			t.Error("a list is taken")
		}
		if got != want {
			t.Errorf("%s: a problem at %q, want %q", input, got, want)
		}
	}
	if text := string(encoded(s.defaults())); text != `{"size":7}` {
		t.Errorf("defaults: %s", text)
	}
}

func TestASchemaOfReferencesThatDoubleIsRefused(t *testing.T) {
	definitions := []string{`"d0":{"type":"string"}`}
	for i := range 20 {
		definitions = append(definitions, fmt.Sprintf(`"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i+1, i, i))
	}
	_, err := parseSchema([]byte(`{"$ref":"#/$defs/d20","$defs":{` + strings.Join(definitions, ",") + `}}`))
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("error: %v", err)
	}
}

func TestParseSchemaRefuses(t *testing.T) {
	for _, text := range []string{`false`, `1`, `{"type":"text"}`, `{"pattern":"("}`, `{"properties":[]}`, `{"items":1}`, `{"type":[1]}`,
		`{"$ref":"#/$defs/a"}`, `{"$ref":"other.json"}`, `{"$ref":"#a"}`, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"text"}}}`} {
		if _, err := parseSchema([]byte(text)); err == nil {
			t.Errorf("schema %s is taken", text)
		}
	}
}
