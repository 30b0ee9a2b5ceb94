// Package testvalue makes values of any type for tests that compare what is written by hand
// with what encoding/json writes: with all that JSON changes on its way, and with types that
// are parts of themselves.
package testvalue

import (
	"encoding/json"
	"reflect"
	"time"

	"pgregory.net/rapid"
)

// deepest is how many lists, maps and pointers lie in one another.
const deepest = 7

// Any draws a value.
func Any[T any](t *rapid.T) T {
	var value T
	fill(t, reflect.ValueOf(&value).Elem(), 0)
	return value
}

func texts() []string {
	return []string{"", "", "", "a", "s1#page2", "items[a b].get", "ä", "<&>", "\xff", "a\"\\\n", "\u2028", "\x7f", "\x00", "a<", "a>b", "&"}
}

func documents() []string {
	return []string{
		"", "", `null`, `{}`, `{"n":9007199254740993,"t":"a b"}`, ` { "n" : 1 } `, `"<&>"`, `["\u2028", 1.50]`, "\"\xff\"", `-0`, `[1,2]`, `{"a": 1}`, `{"b":1,"a":2}`, `0.10`,
	}
}

func fill(t *rapid.T, v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case json.RawMessage:
		text := rapid.SampledFrom(documents()).Draw(t, "document")
		if rapid.IntRange(0, 999).Draw(t, "no JSON") == 999 {
			text = `{"a":`
		}
		if text != "" {
			v.SetBytes([]byte(text))
		}
		return
	case time.Time:
		v.Set(reflect.ValueOf(anyTime(t)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.SampledFrom(texts()).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.SampledFrom([]int64{0, 0, 1, -7, 1 << 53}).Draw(t, "int"))
	case reflect.Uint, reflect.Uint64:
		v.SetUint(rapid.SampledFrom([]uint64{0, 0, 1, 1 << 63}).Draw(t, "uint"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(t, "byte")))
	case reflect.Float64:
		v.SetFloat(rapid.SampledFrom([]float64{0, 2, -3, 0.2, 1e21, 1e-9, 1 << 60}).Draw(t, "float"))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i), depth)
			}
		}
	default:
		if depth < deepest && rapid.IntRange(0, depth+1).Draw(t, "there") == 0 {
			fillParts(t, v, depth+1)
		}
	}
}

// fillParts makes what is nil otherwise.
func fillParts(t *rapid.T, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), depth)
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(t, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key, depth)
			fill(t, value, depth)
			v.SetMapIndex(key, value)
		}
	}
}

func anyTime(t *rapid.T) time.Time {
	switch rapid.IntRange(0, 9).Draw(t, "time") {
	case 0:
		return time.Time{}
	case 1:
		return time.Date(rapid.IntRange(-1, 10_000).Draw(t, "year"), 3, 1, 9, 0, 0, 7, time.FixedZone("", 3600))
	}
	return time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "s"), rapid.SampledFrom([]int64{0, 7, 1e8}).Draw(t, "ns")).UTC()
}
