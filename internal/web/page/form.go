package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/workspace"
)

// form is what a JSON Schema asks for, as controls that work without a script:
// the inputs of a run, the answer to an approval, the payload of a signal. What
// was typed stays in it whatever is wrong. Used by one request.
type form struct {
	Fields []*field
	Error  string // of the form as a whole
	Hint   string

	schema json.RawMessage
	zone   *time.Location
}

// field is one control with what it shows.
type field struct {
	workspace.FormField
	ID      string // of the control's element
	Input   string // the control's name: "in.site"
	Control string // input, area, select, check, time
	Type    string // of an input: text, number, datetime-local
	Label   string
	Value   string
	Checked bool
	AsJSON  bool // the value is shown and read as JSON, since its control can't hold it
	Options []option
	Zones   []option // of a time without an offset
	Rows    int
	Step    string
	Low     string // the least value, "" for none
	High    string
	Help    string // what it takes
	Error   string
	Hint    string

	zone *time.Location
}

// option is one choice of a select.
type option struct {
	Value    string
	Text     string
	Selected bool
}

// The controls.
const (
	controlInput  = "input"
	controlArea   = "area"
	controlSelect = "select"
	controlCheck  = "check"
	controlTime   = "time"
)

// prefix of the controls' names, so that an input may be called like one of the
// page's own fields.
const fieldPrefix = "in."

// newFormIn makes the form of a schema, with the zone that times are shown in and may
// be given in. Values, by name, stand in the place of the schema's defaults.
func newFormIn(zone *time.Location, schema json.RawMessage, values map[string]json.RawMessage) *form {
	zone = plainZone(zone)
	f := &form{schema: schema, zone: zone}
	fields, err := workspace.FormOf(schema)
	if err != nil {
		f.Error = err.Error()
		return f
	}
	for i, described := range fields {
		one := &field{
			FormField: described, ID: "in-" + strconv.Itoa(i), Input: fieldPrefix + described.Name, Label: cmp.Or(described.Name, "payload"),
			Help: helpOf(described), zone: zone,
		}
		one.Required = described.Required && !described.Nullable // an empty control is null
		value, given := values[described.Name]
		if !given {
			value = described.Default
		}
		one.show(value)
		f.Fields = append(f.Fields, one)
	}
	return f
}

// Wrong lists the fields with an error, for the summary above them.
func (f *form) Wrong() []*field {
	var wrong []*field
	for _, one := range f.Fields {
		if one.Error != "" {
			wrong = append(wrong, one)
		}
	}
	return wrong
}

// read takes what was sent and keeps it as it was typed. The inputs are those
// that were given: what was left empty and has a default is not among them. ok
// is false when something is wrong, which stands beside its field then.
func (f *form) read(values url.Values) (inputs map[string]workspace.Input, ok bool) {
	inputs = map[string]workspace.Input{}
	for _, one := range f.Fields {
		posted := values[one.Input]
		if len(posted) == 0 {
			continue
		}
		input, given, err := one.take(posted[len(posted)-1], values)
		switch {
		case err != nil:
			one.Error = err.Error()
		case given:
			inputs[one.Name] = input
		}
	}
	if f.Error != "" {
		return nil, false
	}
	wrong, err := workspace.CheckForm(f.schema, inputs)
	if err != nil {
		f.Error = err.Error()
		return nil, false
	}
	for _, one := range f.Fields {
		if inputError := wrong[one.Name]; inputError != nil && one.Error == "" {
			one.refuse(inputError)
		}
	}
	return inputs, len(f.Wrong()) == 0
}

// fail puts the refusal of what was read beside its field, or above them all.
// False means that err is not about the form.
func (f *form) fail(err error) bool {
	wrong, ok := errors.AsType[*fault.InputError](err)
	if !ok {
		return false
	}
	for _, one := range f.Fields {
		if one.Name == wrong.Input {
			one.refuse(wrong)
			return true
		}
	}
	f.Error, f.Hint = wrong.Message, wrong.Hint.Text
	return true
}

// refuse notes what is wrong with a field. A hint for the command line says
// nothing here.
func (f *field) refuse(wrong *fault.InputError) {
	f.Error, f.Hint = wrong.Message, wrong.Hint.Text
	if wrong.Hint.Flag != "" || wrong.Hint.Takes != "" && strings.Contains(f.Error, wrong.Hint.Takes) {
		f.Hint = ""
	}
	if f.Kind != workspace.FieldList {
		return
	}
	pointer, rest, ok := strings.Cut(f.Error, ": ")
	if place, err := strconv.Atoi(strings.TrimPrefix(pointer, "/")); ok && err == nil && strings.HasPrefix(pointer, "/") {
		f.Error = fmt.Sprintf("item %d: %s", place+1, rest)
	}
}

// DescribedBy names the elements that tell more of a control.
func (f *field) DescribedBy() string {
	var ids []string
	if f.Error != "" {
		ids = append(ids, f.ID+"-error")
	}
	if f.Doc != "" {
		ids = append(ids, f.ID+"-doc")
	}
	if f.Help != "" {
		ids = append(ids, f.ID+"-help")
	}
	return strings.Join(ids, " ")
}

// helpOf says in one line what a field takes.
func helpOf(f workspace.FormField) string {
	var parts []string
	if f.Kind != workspace.FieldChoice && f.Kind != workspace.FieldBoolean {
		parts = append(parts, f.Type)
	}
	parts = append(parts, f.Bounds()...)
	switch f.Kind {
	case workspace.FieldList:
		parts = append(parts, "one a line, or a JSON list")
		if len(f.Choices) > 0 {
			parts = append(parts, "of "+strings.Join(choiceTexts(f.Choices), ", "))
		}
	case workspace.FieldJSON:
		parts = append(parts, "as JSON")
	case workspace.FieldDuration:
		parts = append(parts, "such as 30s, 6h, 7d")
	}
	switch {
	case f.Default != nil && string(f.Default) != "null" && f.Kind != workspace.FieldBoolean && f.Kind != workspace.FieldChoice && len(f.Default) < 80:
		parts = append(parts, "default "+string(f.Default))
	case f.Nullable && f.Kind != workspace.FieldChoice && f.Kind != workspace.FieldBoolean:
		parts = append(parts, "empty is null")
	}
	if text := strings.Join(parts, "; "); text != "text" { // an empty line to type in says that much
		return text
	}
	return ""
}

func boundText[T int | float64](bound *T) string {
	if bound == nil {
		return ""
	}
	return strconv.FormatFloat(float64(*bound), 'f', -1, 64)
}

func choiceTexts(choices []json.RawMessage) []string {
	texts := make([]string, len(choices))
	for i, choice := range choices {
		texts[i] = plainText(choice)
	}
	return texts
}

// plainText shows a JSON value: a string as its text.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// isChoice reports whether the value is one of the choices.
func (f *field) isChoice(value string) bool {
	return slices.ContainsFunc(f.Choices, func(choice json.RawMessage) bool { return string(choice) == value })
}
