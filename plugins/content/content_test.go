package content_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/content"
	"github.com/flowrun/flowrun/sdk"
)

func schemaOf(t testing.TB, text string) *sdk.Schema {
	t.Helper()
	schema, err := sdk.ParseSchema(sdk.Value(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestCellsBecomeWhatTheirColumnSays(t *testing.T) {
	answer := schemaOf(t, `{"type":"object","properties":{"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"s":{"type":"string"},"o":{"type":["integer","null"]}}}`)
	for cells, want := range map[string]string{
		"+7,007.50,TRUE,x,":  `[{"i":7,"n":7.50,"b":true,"s":"x","o":null}]`,
		"-0,-1e3,false,,12":  `[{"i":-0,"n":-1e3,"b":false,"s":"","o":12}]`,
		" 1 ,0,false,\" \",": `[{"i":1,"n":0,"b":false,"s":" ","o":null}]`,
	} {
		got, err := content.Read([]byte("i,n,b,s,o\n"+cells+"\n"), content.Options{Format: content.CSV, Answer: answer})
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, %v\nwant %s", cells, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"i\n1.5\n":      "line 2, column `i`: must be an integer, is \"1.5\"",
		"i\n\n\"\"\n":   "line 3, column `i`: is empty, and must be an integer",
		"b\nyes\n":      "line 2, column `b`: must be true or false, is \"yes\"",
		"n\n0x10\n":     "line 2, column `n`: must be a number, is \"0x10\"",
		"n\n1_000\n":    "must be a number",
		"n\nInfinity\n": "must be a number",
		"i,i\n1,2\n":    "two columns have the name `i`",
		"i,\n1,2\n":     "column 2 has no name",
		"a\n\"x\n":      "it is no CSV",
		"i\n1,2\n":      "line 2 has 2 cells, and there are 1 columns",
	} {
		_, err := content.Read([]byte(text), content.Options{Format: content.CSV, Answer: answer})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	closed := schemaOf(t, `{"type":"object","required":["a"],"additionalProperties":false,"properties":{"a":{"type":"string","enum":["x"]}}}`)
	for text, want := range map[string]string{"b\n1\n": "there is a column `b`", "c,d\n": "there is a column `c`", "a\ny\n": "line 2: /a must be one of `x`"} {
		_, err := content.Read([]byte(text), content.Options{Format: content.CSV, Answer: closed})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	open := schemaOf(t, `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`)
	if _, err := content.Read([]byte("b\n1\n"), content.Options{Format: content.CSV, Answer: open}); err == nil || !strings.Contains(err.Error(), "there is no column `a`; there are b") {
		t.Errorf("a column that must be there: %v", err)
	}
}

// A table of a service is read leniently: what need not be there may be empty, what is not
// asked for is left out, and no cell stands in a message.
func TestTablesOfServices(t *testing.T) {
	answer := schemaOf(t, `{"type":"object","required":["i"],"additionalProperties":false,"properties":{"i":{"type":"integer"},"n":{"type":"number"},"s":{"type":["string","integer"]}}}`)
	for _, lenient := range []bool{true, false} {
		o := content.Options{Format: content.CSV, Answer: answer, Comment: '#', Lenient: lenient}
		got, err := content.ReadTable("# today\ni,n,s\n1,.5,x\n#2\n+03,1.,007\n", o)
		if want := `[{"i":1,"n":0.5,"s":"x"},{"i":3,"n":1,"s":7}]`; err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
		for text, want := range map[string]string{"i,n\n1,\n": `[{"i":1}]`, "i,more\n1,2\n": `[{"i":1}]`} {
			got, err := content.ReadTable(text, o)
			if lenient && (err != nil || string(got) != want) || !lenient && err == nil {
				t.Errorf("lenient %v: %q is %s, %v", lenient, text, got, err)
			}
		}
		_, err = content.ReadTable("i\nvery-secret\n", o)
		if err == nil || strings.Contains(err.Error(), "very-secret") == lenient || !strings.Contains(err.Error(), "line 2, column `i`: must be an integer") {
			t.Errorf("lenient %v: %v", lenient, err)
		}
		if got, err := content.ReadTable("", o); (err == nil) == lenient {
			t.Errorf("lenient %v: nothing is %s, %v", lenient, got, err)
		}
	}
}

func TestNarrowedSchemasKeepTheirReferences(t *testing.T) {
	answer := sdk.Value(`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"next":{"$ref":"#"},"x":{"const":{"$ref":"#/kept"}}}}}}`)
	got := string(content.Narrowed(content.JSON, answer, "/properties/json"))
	for _, want := range []string{`"$ref":"#/properties/json/$defs/a"`, `"$ref":"#/properties/json"`, `"$ref":"#/kept"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if got := string(content.NarrowedOrNull(content.JSON, answer, "/properties/json")); !strings.Contains(got, `"#/properties/json/anyOf/0/$defs/a"`) {
		t.Errorf("or null: %s", got)
	}
	if got := string(content.NarrowedOrNull(content.JSON, sdk.Value(`{"type":"object"}`), "/x")); got != `{"type":["object","null"]}` {
		t.Errorf("or null: %s", got)
	}
	for format, answer := range map[content.Format]string{content.Text: `{}`, content.JSON: `true`, content.CSV: `{"type":"string"}`, content.Lines: `{"type":"array"}`} {
		if content.AnswerProblem(format, sdk.Value(answer)) == "" {
			t.Errorf("%s with the answer %s is taken", format, answer)
		}
	}
}

// FuzzRead: bytes of any kind give JSON or a problem, and what CSV gives is written and
// read back as it was.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "a,b\n1,2\n", "\xff\xfe", "{\"a\":1}", "\ufeffx", "a;b\n\"", "a\r\nb", "\"\"\n\n", "a\n\"\r\n\"\n"} {
		f.Add([]byte(seed))
	}
	answer := schemaOf(f, `{"type":"object","properties":{"a":{"type":["integer","null"]},"b":{"type":"number"}}}`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, o := range []content.Options{
			{Format: content.Text}, {Format: content.Lines}, {Format: content.JSON}, {Format: content.CSV}, {Format: content.CSV, Answer: answer}, {Format: content.CSV, Answer: answer, Lenient: true}, {Format: content.Bytes},
		} {
			value, err := content.Read(raw, o)
			if err != nil {
				if problem := new(content.Problem); !errors.As(err, &problem) || problem.Message == "" {
					t.Fatalf("%s: an error without words: %v", o.Format, err)
				}
				continue
			}
			if !json.Valid(value) {
				t.Fatalf("%s: %q is no JSON", o.Format, value)
			}
			if o.Format != content.CSV || o.Answer != nil {
				continue
			}
			written, err := content.Write(value, o)
			if err != nil {
				t.Fatalf("what was read is not written: %v", err)
			}
			again, err := content.Read(written, o)
			if err != nil && string(value) != "[]" || err == nil && string(again) != string(value) {
				t.Fatalf("%s is written %q and read %s, %v", value, written, again, err)
			}
		}
	})
}
