package analytics

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/analytics/analyticssim"
	"github.com/flowrun/flowrun/sdk"
)

// converted returns the output for an answer of the service.
func converted(t *testing.T, input in, body string) string {
	t.Helper()
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Body: body})
	r := p.Call("aggregate", input)
	output(t, r)
	return string(r.Output)
}

func TestN12_ValueIsAnIntegerOfCents(t *testing.T) {
	documented(t, "value (in cents)")
	input := event(in{"numeric": true, "field_grouping": []string{"utm_campaign"}})
	got := converted(t, input, `[{"value":"1299","utm_campaign":"spring"},{"value":"9007199254740993","utm_campaign":"0"}]`)
	const want = `{"rows":[{"value":1299,"utm_campaign":"spring"},{"value":9007199254740993,"utm_campaign":"0"}],"count":2}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	p, _ := open(t)
	_, narrowed := p.ValidateNarrow("aggregate", input)
	if !strings.Contains(string(narrowed), `"value":{"description":"Value in cents, a whole number.`) {
		t.Errorf("narrowed schema %s", narrowed)
	}
}

func TestN36_OtherShapesAreUnexpected(t *testing.T) {
	input := with(in{"field_grouping": []string{"browser"}})
	tests := map[string]struct{ body, text string }{
		"an object":         {`{"data":[]}`, "another shape"},
		"text":              {`"rows"`, "another shape"},
		"null":              {`null`, "array of rows"},
		"a list of text":    {`["x"]`, "row 0 is no object"},
		"a list of lists":   {`[[1]]`, "row 0 is no object"},
		"a null row":        {`[{"visits":"1","browser":"x"},null]`, "row 1 is no object"},
		"a missing key":     {`[{"visits":"1"}]`, "row 0 lacks `browser`"},
		"an object as text": {`[{"visits":{},"browser":"x"}]`, "row 0 has an object as `visits`"},
		"a list as text":    {`[{"visits":"1","browser":["x"]}]`, "row 0 has a list as `browser`"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, sim := open(t)
			answer(t, sim, simkit.Fault{Body: tt.body})
			r := p.Call("aggregate", input)
			if r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse || !strings.Contains(r.Err.Message, tt.text) {
				t.Fatalf("got %v, want unexpected_response with %q", r.Err, tt.text)
			}
			if r.Err.Details["body"] != tt.body {
				t.Errorf("the excerpt is %v", r.Err.Details["body"])
			}
		})
	}
	if got := converted(t, input, " [ ] "); got != `{"rows":[],"count":0}` {
		t.Errorf("no rows: %s", got)
	}
}

func TestN36_RowsHaveTheRequestedKeys(t *testing.T) {
	p, _ := open(t)
	out := output(t, p.Call("aggregate", with(in{
		"aggregates": []string{"visits", "bounce_rate"}, "field_grouping": []string{"browser", "device_type"}, "date_grouping": "month", "limit": 3,
	})))
	rows := out["rows"].([]any)
	if len(rows) != 3 || out["count"] != 3.0 {
		t.Fatalf("got %v", out)
	}
	for _, row := range rows {
		fields := row.(map[string]any)
		for _, name := range []string{"visits", "bounce_rate", "browser", "device_type", "timestamp"} {
			if _, ok := fields[name].(string); !ok || len(fields) != 5 {
				t.Errorf("row %v: want text as %s, and five fields", fields, name)
			}
		}
	}
}

func TestN37_RowsAreUnchanged(t *testing.T) {
	const body = `[{"timestamp":"2026-03-01 00:00:00","visits":"0042","browser":"<Ü&>","new":"1.10"}]`
	got := converted(t, with(in{"field_grouping": []string{"browser"}, "date_grouping": "day"}), body)
	if want := `{"rows":` + body + `,"count":1}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestN37_NumericConvertsTheRequestedAggregatesOnly(t *testing.T) {
	input := with(in{
		"numeric": true, "aggregates": []string{"visits", "avg_duration", "bounce_rate"}, "field_grouping": []string{"pathname"}, "limit": 9,
	})
	tests := map[string]struct{ row, want string }{
		"numbers, digit by digit":  {`{"visits":"90","avg_duration":"1.10","bounce_rate":"0.330","pathname":"/"}`, `{"visits":90,"avg_duration":1.10,"bounce_rate":0.330,"pathname":"/"}`},
		"a grouping like a number": {`{"pathname":"404","visits":"1","avg_duration":"-0","bounce_rate":"0"}`, `{"pathname":"404","visits":1,"avg_duration":-0,"bounce_rate":0}`},
		"text that is none":        {`{"visits":"","avg_duration":"n/a","bounce_rate":"007","pathname":""}`, `{"visits":"","avg_duration":"n/a","bounce_rate":"007","pathname":""}`},
		"almost numbers":           {`{"visits":" 1","avg_duration":"1e400","bounce_rate":"+1.","pathname":"x"}`, `{"visits":" 1","avg_duration":"1e400","bounce_rate":"+1.","pathname":"x"}`},
		"aggregates not asked for": {`{"visits":"1","avg_duration":"1","bounce_rate":"1","pathname":"/","uniques":"7"}`, `{"visits":1,"avg_duration":1,"bounce_rate":1,"pathname":"/","uniques":"7"}`},
		"large":                    {`{"visits":"123456789012345678901234567890","avg_duration":"0.10000000000000000000001","bounce_rate":"1","pathname":"/"}`, `{"visits":123456789012345678901234567890,"avg_duration":0.10000000000000000000001,"bounce_rate":1,"pathname":"/"}`},
		"a fraction of a visit":    {`{"visits":"1.50","avg_duration":"1","bounce_rate":"1","pathname":"/"}`, `{"visits":1.50,"avg_duration":1,"bounce_rate":1,"pathname":"/"}`},
		"escaped digits":           {`{"visits":"\u0039","avg_duration":"1","bounce_rate":"1","pathname":"/"}`, `{"visits":9,"avg_duration":1,"bounce_rate":1,"pathname":"/"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(`{"rows":[`+tt.want+`],"count":1}`, converted(t, input, "["+tt.row+"]")); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestN37_ValuesThatAreNoText(t *testing.T) {
	const row = `{"visits":90.10,"browser":null,"city":7,"region":true}`
	fields := in{"field_grouping": []string{"browser", "city", "region"}}
	if got, want := converted(t, with(fields), "["+row+"]"), `{"rows":[{"visits":"90.10","browser":"","city":"7","region":"true"}],"count":1}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	fields["numeric"] = true
	if got, want := converted(t, with(fields), "["+row+"]"), `{"rows":[{"visits":90.10,"browser":"","city":"7","region":"true"}],"count":1}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestN37_TextAndNumbersAreTheSameValues(t *testing.T) {
	p, _ := open(t)
	input := with(in{"aggregates": []string{"visits", "avg_duration"}, "field_grouping": []string{"browser"}})
	text := p.Call("aggregate", input)
	output(t, text)
	input["numeric"] = true
	numbers := p.Call("aggregate", input)
	output(t, numbers)
	if bare := strings.NewReplacer(`"`, "").Replace; bare(string(text.Output)) != bare(string(numbers.Output)) || bytes.Equal(text.Output, numbers.Output) {
		t.Errorf("got %s and %s", text.Output, numbers.Output)
	}
}

func TestNarrowedSchemaFollowsTheInput(t *testing.T) {
	p, _ := open(t)
	row := func(input in, unknown ...string) map[string]any {
		t.Helper()
		problems, narrowed := p.ValidateNarrow("aggregate", input, unknown...)
		for _, problem := range problems {
			if !problem.Warning {
				t.Fatal(problem)
			}
		}
		if narrowed == nil {
			return nil
		}
		var schema struct {
			Properties struct {
				Rows struct{ Items map[string]any }
			}
		}
		if err := json.Unmarshal(narrowed, &schema); err != nil {
			t.Fatal(err)
		}
		return schema.Properties.Rows.Items
	}
	types := func(row map[string]any) map[string]any {
		out := map[string]any{}
		fields, _ := row["properties"].(map[string]any)
		for name, field := range fields {
			out[name] = field.(map[string]any)["type"]
		}
		return out
	}
	text := row(with(in{"aggregates": []string{"visits", "bounce_rate"}, "field_grouping": []string{"browser"}}))
	if diff := cmp.Diff(map[string]any{"visits": "string", "bounce_rate": "string", "browser": "string"}, types(text)); diff != "" || text["additionalProperties"] != nil {
		t.Errorf("row %v (-want +got):\n%s", text, diff)
	}
	numeric := row(with(in{"aggregates": []string{"visits", "bounce_rate"}, "field_grouping": []string{"browser"}, "date_grouping": "day", "numeric": true}))
	want := map[string]any{"visits": "integer", "bounce_rate": "number", "browser": "string", "timestamp": nil}
	if diff := cmp.Diff(want, types(numeric)); diff != "" {
		t.Errorf("row %v (-want +got):\n%s", numeric, diff)
	}
	if got := row(with(in{"aggregates": []any{nil}, "numeric": true}), "/aggregates/0"); got != nil {
		t.Errorf("unknown aggregates: %v", got)
	}
	if got := row(with(in{"aggregates": []any{nil}}), "/aggregates/0"); !cmp.Equal(got["additionalProperties"], any(map[string]any{"type": "string"})) {
		t.Errorf("unknown aggregates, all text: %v", got)
	}
	if got := types(row(with(nil), "/numeric")); !cmp.Equal(got["visits"], any([]any{"number", "string"})) {
		t.Errorf("numeric not known: %v", got)
	}
}

// FuzzRow: reading a row never panics; what it returns is JSON with the same
// names, in which only numeric names are numbers, and text is the text it was.
func FuzzRow(f *testing.F) {
	for _, seed := range []string{
		`{"visits":"90","pathname":"404"}`, `{"visits":1.10,"pathname":null}`, `{"visits":"","visits":"2","pathname":"\ud800"}`,
		`{"visits":"1e5","pathname":true,"x":{}}`, `[]`, `null`, ` { "visits" : "-0.50" , "pathname" : "" } `, `{"visits":"\u0031","pathname":"<"}`,
	} {
		f.Add([]byte(seed))
	}
	r := newRowReader(AggregateInput{Aggregates: []string{"visits"}, FieldGrouping: []string{"pathname"}, Numeric: true})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return // the whole answer was read before
		}
		row, err := r.row(bytes.TrimSpace(raw))
		if err != nil {
			return
		}
		var before, after map[string]json.RawMessage
		if err := json.Unmarshal(raw, &before); err != nil {
			t.Fatalf("%s was read: %v", raw, err)
		}
		if err := json.Unmarshal(row, &after); err != nil || len(after) != len(before) {
			t.Fatalf("%s became %s: %v", raw, row, err)
		}
		for name, value := range after {
			var text string
			isText := json.Unmarshal(value, &text) == nil && value[0] == '"'
			if !isText && name != "visits" {
				t.Errorf("%s became %s: %s is no text", raw, row, name)
			}
			var original string
			if json.Unmarshal(before[name], &original) != nil || before[name][0] != '"' {
				continue
			}
			if isText && original != text || !isText && original != string(value) {
				t.Errorf("%s became %s: %s has changed", raw, row, name)
			}
		}
	})
}

func TestSimulatorObeysNumericEverywhere(t *testing.T) {
	p, _ := open(t)
	out := output(t, p.Call("aggregate", with(in{
		"aggregates": []string{"visits", "uniques", "pageviews", "avg_duration", "bounce_rate"}, "date_grouping": "hour", "numeric": true,
		"date_from": "2031-05-01 00:00:00", "entity_id": analyticssim.SiteDrop,
	})))
	for _, row := range out["rows"].([]any) {
		for name, value := range row.(map[string]any) {
			if _, isNumber := value.(float64); isNumber == (name == "timestamp") {
				t.Fatalf("row %v: %s", row, name)
			}
		}
	}
}
