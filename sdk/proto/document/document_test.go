package document

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestIssue12_12_WhatReadersReadDifferently(t *testing.T) {
	digits := func(n int) string { return strings.Repeat("7", n) }
	for name, c := range map[string]struct{ doc, problem string }{
		"fine":                       {`{"a":[1,2.50,-0,1e308,{"a":"ü\u00e9\ud83d\ude00"}],"b":{},"c":[]}`, ""},
		"a scalar":                   {`"ü"`, ""},
		"the same name elsewhere":    {`[{"a":1},{"a":2,"b":{"a":3}}]`, ""},
		"a byte in a value":          {"{\"data\":{\"city\":\"Z\xfcrich\"}}", "byte 18 (0xfc) is no UTF-8 at /data/city"},
		"a byte in a list":           {"[\"a\",[\"\xc3\"]]", "byte 7 (0xc3) is no UTF-8 at /1/0"},
		"a byte in a name":           {"{\"\xff\":1}", "byte 2 (0xff) is no UTF-8"},
		"a surrogate in UTF-8":       {"\"\xed\xa0\x80\"", "byte 1 (0xed) is no UTF-8"},
		"too long a form":            {"\"\xc0\x80\"", "byte 1 (0xc0) is no UTF-8"},
		"behind an escape":           {"\"\\\"\xff\"", "byte 3 (0xff) is no UTF-8"},
		"a name twice":               {`{"x":{"id":1,"b":2,"id":1}}`, "`id` stands twice at /x"},
		"a name twice at the top":    {`{"id":1,"id":1}`, "`id` stands twice"},
		"a name twice in a list":     {`[0,{"id":1,"id":1}]`, "`id` stands twice at /1"},
		"a name twice, one escaped":  {`{"id":1,"\u0069d":1}`, "`id` stands twice"},
		"the empty name twice":       {`{"":1,"":1}`, "`` stands twice"},
		"a name among many":          {`{` + manyNames(100) + `"n7":1}`, "`n7` stands twice"},
		"endless":                    {`{"n":1e2000000000}`, "the number 1e2000000000, which most readers turn into Infinity at /n"},
		"endless and negative":       {`[-1.5E+309]`, "the number -1.5E+309, which most readers turn into Infinity at /0"},
		"1,000 digits written out":   {`[` + digits(1000) + `]`, ""},
		"very small":                 {`1e-2000000000`, ""},
		"1,000 digits of a fraction": {`0.` + digits(999), ""},
		"1,001 digits":               {`{"a/b":0.` + digits(1000) + `}`, "a number of 1001 digits, more than 1000 at /a~1b"},
		"as deep as may be":          {strings.Repeat("[", 1000) + strings.Repeat("]", 1000), ""},
		"too deep":                   {strings.Repeat("[", 1001) + strings.Repeat("]", 1001), "more than 1000 deep"},
		"signs in texts":             {`{"a":"{\"a\":1,\"a\":2}","b":"1e999,:[]"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if !json.Valid([]byte(c.doc)) {
				t.Fatal("the case is no JSON")
			}
			got := Problem([]byte(c.doc))
			if c.problem == "" && got != "" || !strings.Contains(got, c.problem) {
				t.Errorf("got %q, want %q", got, c.problem)
			}
		})
	}
}

func manyNames(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(`"n` + strconv.Itoa(i) + `":0,`)
	}
	return text.String()
}

// What passes is read alike by two readers of different kinds: encoding/json
// into a tree, and a plain walk that counts names; what does not pass is really
// one of the faults.
func FuzzProblem(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5,{"a":null}],"b":"x"}`, `{"a":1,"a":2}`, "\"\xff\"", `[1e999]`, `{"a":{"b":{"b":1,"b":2}}}`, `[[],{},"",0]`,
		`{"\u0061":1,"a":2}`, `[` + strings.Repeat("1", 1001) + `]`, `"\\\""`, `{"":{"":""}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if !json.Valid(doc) {
			return
		}
		problem := Problem(doc)
		if want := slowCheck(doc); (problem == "") != (want == "") {
			t.Fatalf("%q: got %q, slowly %q", doc, problem, want)
		}
		if problem == "" && !utf8.Valid(doc) {
			t.Fatalf("%q is no UTF-8 and passes", doc)
		}
	})
}

// slowCheck is Problem by the tokens of encoding/json.
func slowCheck(doc []byte) string {
	if !utf8.Valid(doc) {
		return "no UTF-8"
	}
	decoder := json.NewDecoder(strings.NewReader(string(doc)))
	decoder.UseNumber()
	var walk func(depth int) string
	walk = func(depth int) string {
		token, err := decoder.Token()
		if err != nil {
			return err.Error()
		}
		switch token := token.(type) {
		case json.Number:
			n, _ := strconv.ParseFloat(token.String(), 64)
			count := 0
			for _, c := range token.String() {
				if c >= '0' && c <= '9' {
					count++
				}
			}
			if math.IsInf(n, 0) && strings.ContainsAny(token.String(), "eE") || count > MaxDigits {
				return "number"
			}
		case json.Delim:
			if depth >= MaxDepth {
				return "deep"
			}
			names := map[string]bool{}
			for decoder.More() {
				if token == '{' {
					name, err := decoder.Token()
					if err != nil {
						return err.Error()
					}
					if names[name.(string)] {
						return "twice"
					}
					names[name.(string)] = true
				}
				if problem := walk(depth + 1); problem != "" {
					return problem
				}
			}
			_, _ = decoder.Token()
		}
		return ""
	}
	return walk(0)
}

func BenchmarkProblem(b *testing.B) {
	doc := []byte(`[` + strings.Repeat(`{"id":12345,"content":"a text of some length with ü","labels":["a","b"],"n":1.5},`, 5000) + `{}]`)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if Problem(doc) != "" {
			b.Fatal("a problem")
		}
	}
}
