package interp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/schema"
)

// A value with its types as JSON: what JSON has no form for stands in an object
// with one of these keys. So does a float, since JSON writes 1.0 as 1.
const (
	typedTime     = "$t" // RFC 3339
	typedDuration = "$d" // nanoseconds
	typedFloat    = "$f"
	typedNumber   = "$n" // a number too large to count with, verbatim
	typedObject   = "$m" // an object with a key that begins with $
)

// encodeTyped writes a value so that decodeTyped gives an equal one.
func encodeTyped(value any) (json.RawMessage, error) {
	tagged, err := tag(value)
	if err != nil {
		return nil, err
	}
	return schema.Encode(tagged)
}

func tag(value any) (any, error) {
	switch value := value.(type) {
	case time.Time:
		return map[string]any{typedTime: schema.FormatTime(value)}, nil
	case time.Duration:
		return map[string]any{typedDuration: int(value)}, nil
	case float64:
		return map[string]any{typedFloat: value}, nil
	case json.Number:
		return map[string]any{typedNumber: string(value)}, nil
	case []any:
		list := make([]any, len(value))
		for i, item := range value {
			tagged, err := tag(item)
			if err != nil {
				return nil, err
			}
			list[i] = tagged
		}
		return list, nil
	case *schema.Encoded:
		values, err := value.Values()
		if err != nil {
			return nil, err
		}
		return tag(values)
	case map[string]any:
		return tagObject(value)
	case nil, bool, int, string:
		return value, nil
	}
	return nil, fmt.Errorf("%T is no value of a workflow", value)
}

func tagObject(value map[string]any) (any, error) {
	object, special := make(map[string]any, len(value)), false
	for name, item := range value {
		tagged, err := tag(item)
		if err != nil {
			return nil, err
		}
		object[name] = tagged
		special = special || strings.HasPrefix(name, "$")
	}
	if special {
		return map[string]any{typedObject: object}, nil
	}
	return object, nil
}

// decodeTyped reads what encodeTyped wrote.
func decodeTyped(data json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return untag(value)
}

func untag(value any) (any, error) {
	switch value := value.(type) {
	case json.Number:
		return strconv.Atoi(string(value))
	case []any:
		for i, item := range value {
			plain, err := untag(item)
			if err != nil {
				return nil, err
			}
			value[i] = plain
		}
		return value, nil
	case map[string]any:
		if len(value) == 1 {
			for name, part := range value {
				if strings.HasPrefix(name, "$") {
					return untagOne(name, part)
				}
			}
		}
		return untagObject(value)
	}
	return value, nil
}

func untagObject(value map[string]any) (any, error) {
	for name, item := range value {
		plain, err := untag(item)
		if err != nil {
			return nil, err
		}
		value[name] = plain
	}
	return value, nil
}

var errTyped = errors.New("a typed value can't be read")

func untagOne(name string, part any) (any, error) {
	switch part := part.(type) {
	case string:
		switch name {
		case typedTime:
			return schema.ParseTime(part)
		case typedNumber:
			return json.Number(part), nil
		}
	case json.Number:
		switch name {
		case typedDuration:
			n, err := strconv.ParseInt(string(part), 10, 64)
			return time.Duration(n), err
		case typedFloat:
			return strconv.ParseFloat(string(part), 64)
		}
	case map[string]any:
		if name == typedObject {
			return untagObject(part)
		}
	}
	return nil, errTyped
}
