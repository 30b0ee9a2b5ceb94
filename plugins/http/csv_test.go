package http

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/sdk"
)

const rowSchema = `{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"price":{"type":"number"},"ok":{"type":"boolean"},
	"note":{"type":["string","null"]},"left":{"type":["integer","null"]},"name":{"type":"string"},"any":{}}}`

func TestRowsAreTyped(t *testing.T) {
	for name, c := range map[string]struct {
		form            *csvForm
		answer, content string
		want            string
	}{
		"texts without a schema": {nil, "", "a,b\n1,\n", `[{"a":"1","b":""}]`},
		"types": {nil, rowSchema, "id,price,ok,note,left,name,any,more\n7,1.50,TRUE,x,,y,1,z\n+08,.5,false,,-0,\"a,b\n\"\"c\"\"\",,\n",
			`[{"id":7,"price":1.50,"ok":true,"note":"x","left":null,"name":"y","any":"1","more":"z"},{"id":8,"price":0.5,"ok":false,"note":null,"left":-0,"name":"a,b\n\"c\"","any":"","more":""}]`},
		"cells that are not there": {nil, rowSchema, "id,price,ok,name\n1,,,\n", `[{"id":1,"name":""}]`},
		"exponents and points":     {nil, rowSchema, "id,price\n1,1.e3\n2,-2E-3\n", `[{"id":1,"price":1e3},{"id":2,"price":-2E-3}]`},
		"columns of our own":       {&csvForm{Columns: []string{"id", "price"}, Separator: ";"}, rowSchema, "1;2\n3;4\n", `[{"id":1,"price":2},{"id":3,"price":4}]`},
		"comments":                 {&csvForm{Comment: "#"}, rowSchema, "# made today\nid\n1\n#2\n3\n", `[{"id":1},{"id":3}]`},
		"a tab and a mark":         {&csvForm{Separator: "\t"}, "", "\ufeffa\tb\r\n1\t2\r\n", `[{"a":"1","b":"2"}]`},
		"a schema of a list":       {nil, `{"type":"array","items":` + rowSchema + `}`, "id\n1\n", `[{"id":1}]`},
		"a closed schema":          {nil, `{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":false}`, "id,more\n1,2\n", `[{"id":1}]`},
		"others of a type":         {nil, `{"type":"object","additionalProperties":{"type":"integer"}}`, "a,b\n1,2\n", `[{"a":1,"b":2}]`},
		"a choice":                 {nil, `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}`, "a\n1\nx\n", `[{"a":1},{"a":"x"}]`},
		"no rows":                  {nil, rowSchema, "id\n", `[]`},
		"large numbers":            {nil, rowSchema, "id,price\n9007199254740993,123456789012345678901234567890.5\n", `[{"id":9007199254740993,"price":123456789012345678901234567890.5}]`},
	} {
		var answer sdk.Value
		if c.answer != "" {
			answer = sdk.Value(c.answer)
		}
		got, err := readTable(c.content, c.form, new(shapes).of(answer))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRowsThatAreWrong(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"empty":                 {"", "it is empty"},
		"no column":             {"name\nx\n", "there is no column `id`; there are name"},
		"two of a name":         {"id,id\n1,2\n", "two columns have the name `id`"},
		"a column without name": {"id,\n1,2\n", "column 2 has no name"},
		"a short row":           {"id,name\n1\n", "line 2 has 1 cells, and there are 2 columns"},
		"an empty integer":      {"id\n\"\"\n", "line 2, column `id`: is empty, and must be an integer"},
		"a fraction":            {"id\n1.5\n", "line 2, column `id`: must be an integer, is text"},
		"no boolean":            {"id,ok\n1,yes\n", "line 2, column `ok`: must be true or false, is text"},
		"no number":             {"id,price\n1,\"1,5\"\n", "line 2, column `price`: must be a number, is text"},
		"hexadecimal":           {"id\n0x10\n", "column `id`: must be an integer, is text"},
		"not a number":          {"id,price\n1,NaN\n", "column `price`: must be a number, is text"},
		"a lost quote":          {"id,name\n1,\"a\n", "a quote is not closed"},
		"a quote inside":        {"id,name\n1,a\"b\n", "line 2, sign 4: a quote stands in the middle"},
		"behind many lines":     {"id,name\n1,\"a\nb\nc\"\nx,y\n", "line 5, column `id`"},
	} {
		if got, err := readTable(c.content, nil, readShape(sdk.Value(rowSchema))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s and %v, want %q", name, got, err, c.want)
		}
	}
}

// FuzzTable holds what is made of any text against the schema of a row.
func FuzzTable(f *testing.F) {
	f.Add("id,price\n1,2.5\n")
	f.Add("id,note,name\n7,\"a\"\"b\",\n")
	f.Add("\ufeffid;x\n1;2")
	shape, err := sdk.ParseSchema(sdk.Value(`{"type":"array","items":` + rowSchema + `}`))
	if err != nil {
		f.Fatal(err)
	}
	row := readShape(sdk.Value(rowSchema))
	f.Fuzz(func(t *testing.T, content string) {
		rows, err := readTable(content, nil, row)
		if err != nil {
			return
		}
		if !json.Valid(rows) {
			t.Fatalf("no JSON: %q", rows)
		}
		if problems := shape.CheckAnswer(rows); len(problems) > 0 {
			t.Fatalf("%q becomes %s: %v", content, rows, problems)
		}
	})
}
