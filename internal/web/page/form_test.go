package page

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/workspace"
)

const allKinds = `{"type":"object","additionalProperties":false,
	"required":["name","count","ratio","sure","decide","size","level","at","wait","tags","ports","sizes","raw","maybe","maybe_n"],"properties":{
	"name":{"type":"string","minLength":2,"description":"Who it is for."},
	"count":{"type":"integer","minimum":1,"maximum":10,"default":3},
	"ratio":{"type":"number"},
	"sure":{"type":"boolean","default":true},
	"decide":{"type":"boolean"},
	"size":{"enum":["small","large"],"default":"small"},
	"level":{"enum":[1,2,3]},
	"at":{"type":"string","format":"date-time"},
	"wait":{"type":"string","format":"duration","default":"5m"},
	"tags":{"type":"array","items":{"type":"string"},"default":["a","b"]},
	"ports":{"type":"array","items":{"type":"integer"},"maxItems":3},
	"sizes":{"type":"array","items":{"enum":["s","l"]},"default":[]},
	"raw":{"type":"object","properties":{"a":{"type":"integer"}},"default":{"a":1}},
	"maybe":{"type":["string","null"]},
	"maybe_n":{"type":["integer","null"]}}}`

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// sent is what a browser sends of a form as it stands, changed by some fields.
func sent(f *form, changed map[string]string) url.Values {
	values := url.Values{}
	for _, one := range f.Fields {
		value := one.Value
		switch one.Control {
		case controlCheck:
			values.Add(one.Input, "false")
			if one.Checked {
				values.Add(one.Input, "true")
			}
			continue
		case controlSelect:
			value = ""
			for i, choice := range one.Options {
				if choice.Selected || i == 0 {
					value = choice.Value
				}
			}
		}
		values.Set(one.Input, strings.ReplaceAll(value, "\n", "\r\n"))
		if one.AsJSON {
			values.Set(one.Input+".as", "json")
		}
		for _, zone := range one.Zones {
			if zone.Selected {
				values.Set(one.Input+".zone", zone.Value)
			}
		}
	}
	for name, value := range changed {
		values[fieldPrefix+name] = []string{value}
	}
	return values
}

// read gives the inputs as text: JSON, or what was typed.
func inputTexts(inputs map[string]workspace.Input) map[string]string {
	texts := map[string]string{}
	for name, input := range inputs {
		texts[name] = input.Text
		if input.JSON != nil {
			texts[name] = string(input.JSON)
		}
	}
	return texts
}

func TestEveryKindOfFieldIsReadByItsType(t *testing.T) {
	f := newFormIn(berlin(t), json.RawMessage(allKinds), nil)
	inputs, ok := f.read(sent(f, map[string]string{
		"name": "Ada", "count": " 7 ", "ratio": "0.5", "decide": "false", "level": "2", "at": "2026-07-01T09:30", "tags": "x\r\n\r\n y \r\n[z]", "ports": "80\n443",
		"sizes": "s\nl", "raw": "{\"a\":\n 9007199254740993}",
	}))
	want := map[string]string{
		"name": `"Ada"`, "count": "7", "ratio": "0.5", "sure": "true", "decide": "false", "size": `"small"`, "level": "2", "at": "2026-07-01T09:30:00+02:00",
		"wait": "5m", "tags": `["x","y","[z]"]`, "ports": `[80,443]`, "sizes": `["s","l"]`, "raw": "{\"a\":\n 9007199254740993}", "maybe": "null", "maybe_n": "null",
	}
	if diff := cmp.Diff(want, inputTexts(inputs)); diff != "" || !ok {
		t.Errorf("ok %v (-want +got)\n%s%s", ok, diff, errorsOf(f))
	}
}

func errorsOf(f *form) string {
	var all []string
	if f.Error != "" {
		all = append(all, "form: "+f.Error)
	}
	for _, one := range f.Wrong() {
		all = append(all, one.Label+": "+one.Error)
	}
	return strings.Join(all, "\n")
}

func TestWhatIsWrongStandsBesideItsFieldAndNothingIsLost(t *testing.T) {
	typed := map[string]string{
		"name": "A", "count": "eleven", "ratio": "1,5", "decide": "", "size": "huge", "level": "", "at": "tomorrow", "wait": "5", "tags": " keep \n me ",
		"ports": "80\nhttp\n443", "sizes": "s\nxl", "raw": "{\"a\": 1,\n}", "maybe": "text", "maybe_n": "1.5",
	}
	f := newFormIn(berlin(t), json.RawMessage(allKinds), nil)
	values := sent(f, typed)
	values["in.sure"] = []string{"false"}
	_, ok := f.read(values)
	if ok {
		t.Fatal("it is accepted")
	}
	want := map[string]string{
		"name": "at least 2", "count": `got "eleven"`, "ratio": `got "1,5"`, "decide": "is missing", "size": "small", "level": "is missing", "at": "is not a time", "wait": "5",
		"ports": "item 2: ", "sizes": "item 2: ", "raw": "line 2, column 1", "maybe_n": "1.5",
	}
	for _, one := range f.Fields {
		part, wrong := want[one.Name]
		if wrong != (one.Error != "") || !strings.Contains(one.Error, part) {
			t.Errorf("%s: error %q, want one with %q", one.Name, one.Error, part)
		}
		if text, changed := typed[one.Name]; changed && one.Control != controlSelect && one.Value != text {
			t.Errorf("%s: shows %q in place of what was typed, %q", one.Name, one.Value, text)
		}
		if one.Name == "sure" && one.Checked {
			t.Error("the box is ticked again")
		}
		if one.Name == "size" && !selected(one, `"huge"`) {
			t.Errorf("size: %+v", one.Options)
		}
		if one.Type == "number" && one.Value != "" && !json.Valid([]byte(one.Value)) {
			t.Errorf("%s: the browser's control for numbers would drop %q", one.Name, one.Value)
		}
		if one.Type == "datetime-local" && one.Value == "tomorrow" {
			t.Error("the browser's control for times would drop what was typed")
		}
	}
}

func selected(f *field, value string) bool {
	for _, choice := range f.Options {
		if choice.Selected {
			return choice.Value == value
		}
	}
	return false
}

// TestAFormSentAsItStandsKeepsEveryValue goes around with values that controls
// have trouble with.
func TestAFormSentAsItStandsKeepsEveryValue(t *testing.T) {
	schema := func(words string) json.RawMessage {
		return json.RawMessage(`{"type":"object","required":["x"],"properties":{"x":` + words + `}}`)
	}
	tests := map[string]struct{ words, value string }{
		"a text":                              {`{"type":"string"}`, `"a b"`},
		"an empty text":                       {`{"type":"string","default":"d"}`, `""`},
		"an empty text where null is allowed": {`{"type":["string","null"]}`, `""`},
		"no text":                             {`{"type":["string","null"],"default":"d"}`, `null`},
		"the word null":                       {`{"type":["string","null"]}`, `"null"`},
		"blanks around":                       {`{"type":"string"}`, `"  a  "`},
		"several lines":                       {`{"type":"string"}`, `"a\n\nb\n"`},
		"lines that begin with an empty one":  {`{"type":"string"}`, `"\n\na"`},
		"a carriage return":                   {`{"type":"string"}`, `"a\r\nb\rc"`},
		"markup":                              {`{"type":"string"}`, `"\"><script>alert(1)</script>"`},
		"a large integer":                     {`{"type":"integer"}`, `9007199254740993`},
		"a negative integer":                  {`{"type":"integer"}`, `-4`},
		"a number with an exponent":           {`{"type":"number"}`, `1e-7`},
		"a time":                              {`{"type":"string","format":"date-time"}`, `"2026-07-01T09:30:00+02:00"`},
		"a time of another zone":              {`{"type":"string","format":"date-time"}`, `"2026-07-01T09:30:05.25-07:00"`},
		"a time with nanoseconds":             {`{"type":"string","format":"date-time"}`, `"2026-07-01T09:30:00.000000001Z"`},
		"a time in the repeated hour":         {`{"type":"string","format":"date-time"}`, `"2026-10-25T02:30:00+01:00"`},
		"items":                               {`{"type":"array","items":{"type":"string"}}`, `["a","b"]`},
		"no items":                            {`{"type":"array","items":{"type":"string"},"default":["d"]}`, `[]`},
		"no items where null is allowed":      {`{"type":["array","null"],"items":{"type":"string"}}`, `[]`},
		"an empty item":                       {`{"type":"array","items":{"type":"string"}}`, `["a",""]`},
		"an item of two lines":                {`{"type":"array","items":{"type":"string"}}`, `["a\nb"]`},
		"an item that looks like a list":      {`{"type":"array","items":{"type":"string"}}`, `["[\"a\"]"]`},
		"items with blanks":                   {`{"type":"array","items":{"type":"string"}}`, `[" a"]`},
		"numbers":                             {`{"type":"array","items":{"type":"number"}}`, `[1,2.5,1e3]`},
		"texts that look like numbers":        {`{"type":"array","items":{"type":"string"}}`, `["1","true","null"]`},
		"choices of two types":                {`{"type":"array","items":{"enum":["1",1,true]}}`, `[1,"1",true]`},
		"one choice of two types":             {`{"enum":["1",1,null]}`, `1`},
		"the other choice":                    {`{"enum":["1",1,null]}`, `"1"`},
		"no choice":                           {`{"enum":["1",1,null],"default":1}`, `null`},
		"false":                               {`{"type":"boolean","default":true}`, `false`},
		"neither true nor false":              {`{"type":["boolean","null"],"default":true}`, `null`},
		"an object":                           {`{"type":"object","additionalProperties":true}`, `{"a":[1,{"b":null}],"é":"<"}`},
		"any text":                            {`{}`, `"x"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFormIn(berlin(t), schema(test.words), map[string]json.RawMessage{"x": json.RawMessage(test.value)})
			again := newFormIn(berlin(t), schema(test.words), nil)
			inputs, ok := again.read(sent(f, nil))
			if !ok {
				t.Fatalf("%s\n%+v", errorsOf(again), f.Fields[0])
			}
			got := string(inputs["x"].JSON)
			if inputs["x"].JSON == nil {
				got = inputs["x"].Text
			}
			if !sameValue(t, got, test.value) {
				t.Errorf("got %s, want %s", got, test.value)
			}
			if second := newFormIn(berlin(t), schema(test.words), nil); true { // and what is shown again after an error is sent again
				if inputs, ok = second.read(sent(again, nil)); !ok || !sameValue(t, inputTexts(inputs)["x"], test.value) {
					t.Errorf("the second time: %s (%s)", inputTexts(inputs)["x"], errorsOf(second))
				}
			}
		})
	}
}

func sameValue(t *testing.T, got, want string) bool {
	t.Helper()
	if at, err := time.Parse(time.RFC3339, strings.Trim(want, `"`)); err == nil {
		other, err := time.Parse(time.RFC3339, strings.Trim(got, `"`))
		return err == nil && other.Equal(at)
	}
	return string(plain(t, got)) == string(plain(t, want))
}

// plain writes a value in one way.
func plain(t *testing.T, value string) []byte {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(value))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		t.Fatalf("%q: %v", value, err)
	}
	encoded, err := json.Marshal(decoded)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func TestATimeIsOfTheChosenClock(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","required":["x"],"properties":{"x":{"type":"string","format":"date-time"}}}`)
	tests := map[string]struct{ text, zone, want, wrong string }{
		"local":                   {"2026-07-01T09:30", "Europe/Berlin", "2026-07-01T09:30:00+02:00", ""},
		"with seconds":            {"2026-07-01T09:30:07.5", "Europe/Berlin", "2026-07-01T09:30:07.5+02:00", ""},
		"with a blank":            {"2026-07-01 09:30", "Europe/Berlin", "2026-07-01T09:30:00+02:00", ""},
		"UTC":                     {"2026-07-01T09:30", "UTC", "2026-07-01T09:30:00Z", ""},
		"with its own offset":     {"2026-07-01T09:30:00-05:00", "Europe/Berlin", "2026-07-01T09:30:00-05:00", ""},
		"a zone that none is":     {"2026-07-01T09:30", "Mars/Base", "2026-07-01T09:30:00+02:00", ""},
		"in the gap":              {"2026-03-29T02:30", "Europe/Berlin", "", "does not exist in Europe/Berlin"},
		"in the repeated hour":    {"2026-10-25T02:30", "Europe/Berlin", "", "twice"},
		"before the gap":          {"2026-03-29T01:59:59", "Europe/Berlin", "2026-03-29T01:59:59+01:00", ""},
		"the hour that no clock":  {"2026-07-01T25:00", "UTC", "", "is not a time"},
		"nothing":                 {"", "UTC", "", "is missing"},
		"the repeated one in UTC": {"2026-10-25T01:30", "UTC", "2026-10-25T01:30:00Z", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFormIn(berlin(t), schema, nil)
			inputs, ok := f.read(url.Values{"in.x": {test.text}, "in.x.zone": {test.zone}})
			if ok != (test.wrong == "") || inputs["x"].Text != test.want && ok || !strings.Contains(errorsOf(f), test.wrong) {
				t.Errorf("%v %q %s", ok, inputs["x"].Text, errorsOf(f))
			}
			if f.Fields[0].Value != test.text {
				t.Errorf("shows %q", f.Fields[0].Value)
			}
		})
	}
}

func TestAnAnswerThatIsNoObjectIsOneField(t *testing.T) {
	f := newFormIn(time.UTC, json.RawMessage(`{"type":"array","items":{"type":"integer"}}`), nil)
	inputs, ok := f.read(url.Values{"in.": {"1\n2"}})
	if !ok || string(inputs[""].JSON) != "[1,2]" || f.Fields[0].Label != "payload" {
		t.Errorf("%v %v %s", inputs, ok, errorsOf(f))
	}
	if f = newFormIn(time.UTC, json.RawMessage(`{"type":7}`), nil); f.Error == "" {
		t.Error("what is no schema is a form")
	}
	if _, ok = f.read(url.Values{}); ok {
		t.Error("a form of no schema is read")
	}
	if f = newFormIn(time.UTC, nil, nil); len(f.Fields) != 0 {
		t.Errorf("%+v", f.Fields)
	}
	if _, ok = f.read(url.Values{}); !ok {
		t.Error("a form without fields is refused")
	}
}

func TestARefusalOfTheEngineStandsBesideItsField(t *testing.T) {
	f := newFormIn(time.UTC, json.RawMessage(allKinds), nil)
	if !f.fail(fmt.Errorf("start: %w", &fault.InputError{Input: "ratio", Message: "too much", Hint: diag.Hint{Text: "give it with -i ratio=VALUE", Flag: "-i"}})) {
		t.Fatal("it is not taken")
	}
	if got := errorsOf(f); got != "ratio: too much" || f.Fields[2].Hint != "" {
		t.Errorf("%s %q", got, f.Fields[2].Hint)
	}
	if !f.fail(&fault.InputError{Message: "no fields please"}) || f.Error != "no fields please" {
		t.Error(f.Error)
	}
	if f.fail(fault.ErrRunNotFound) {
		t.Error("an error of another kind is taken")
	}
}

// formHTML renders a form alone.
func formHTML(t *testing.T, f *form) string {
	t.Helper()
	s := newSite(Options{})
	templates, err := template.New("").Funcs(s.funcs()).ParseFS(templateFiles, "templates/form.html")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := templates.ExecuteTemplate(&out, "form-fields", f); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestEveryControlHasALabelAndItsTexts(t *testing.T) {
	f := newFormIn(berlin(t), json.RawMessage(allKinds), map[string]json.RawMessage{"name": json.RawMessage(`"\"><script>alert(1)</script>\nb"`), "tags": json.RawMessage(`["a\nb"]`)})
	f.read(url.Values{"in.count": {"x"}, "in.decide": {""}})
	html := formHTML(t, f)
	ids := map[string]bool{}
	for _, found := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if ids[found[1]] {
			t.Errorf("id %s stands twice", found[1])
		}
		ids[found[1]] = true
	}
	for _, control := range regexp.MustCompile(`<(?:input|select|textarea)[^>]*>`).FindAllString(html, -1) {
		id := regexp.MustCompile(` id="([^"]+)"`).FindStringSubmatch(control)
		switch {
		case strings.Contains(control, `type="hidden"`), strings.Contains(control, "aria-label="):
		case id == nil:
			t.Errorf("no id: %s", control)
		case !strings.Contains(html, `<label for="`+id[1]+`"`) && !strings.Contains(control, `type="checkbox"`):
			t.Errorf("no label: %s", control)
		}
	}
	for _, named := range regexp.MustCompile(`(?:aria-describedby|href)="#?([^"]+)"`).FindAllStringSubmatch(html, -1) {
		for id := range strings.FieldsSeq(named[1]) {
			if !ids[id] && !strings.HasPrefix(id, "i-") {
				t.Errorf("there is no element %s", id)
			}
		}
	}
	if strings.Contains(html, "<script") || strings.Contains(html, " style=") || !strings.Contains(html, `aria-invalid="true"`) || !strings.Contains(html, "fields to look at") {
		t.Error(html)
	}
}
