package web

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
)

// InputFault is one thing that is wrong with what was sent.
type InputFault struct {
	Input   string `json:"input,omitempty" doc:"The input, the field or the parameter that is wrong."`
	Pointer string `json:"pointer,omitempty" doc:"A JSON pointer (RFC 6901) to the place in the body of the request; not of parameters."`
	Detail  string `json:"detail" doc:"What is wrong with it."`
	diag.Hint
}

// inputProblem tells all that is wrong with inputs. Detail, Input and Hint are those
// of the first, and of the others as far as they are few.
func inputProblem(wrong *fault.InputError) *Problem {
	answer := newProblem(CodeInvalidInput, wrong.Error())
	answer.Input, answer.Hint = wrong.Input, wrong.Hint
	for _, one := range wrong.All() {
		answer.Faults = append(answer.Faults, InputFault{Input: one.Input, Pointer: one.Pointer, Detail: one.Message, Hint: one.Hint})
	}
	return answer
}

// placed points the faults of inputs into the body of a request: where the input is
// among the texts, and else among the values.
func (p *Problem) placed(values string, texts map[string]string, textsName string) *Problem {
	if p.Code != CodeInvalidInput {
		return p
	}
	for i, fault := range p.Faults {
		switch _, isText := texts[fault.Input]; {
		case fault.Pointer == "":
		case isText:
			p.Faults[i].Pointer = "/" + textsName + fault.Pointer
		default:
			p.Faults[i].Pointer = "/" + values + fault.Pointer
		}
	}
	return p
}

// problemFields are those of Problem, for its own encoding.
type problemFields Problem

// MarshalJSON writes what is wrong as `problems`.
func (p Problem) MarshalJSON() ([]byte, error) {
	var list any
	switch {
	case len(p.Problems) > 0:
		list = p.Problems
	case len(p.Faults) > 0:
		list = p.Faults
	}
	return json.Marshal(struct {
		problemFields
		List any `json:"problems,omitempty"`
	}{problemFields(p), list})
}

// UnmarshalJSON reads `problems` by what they are: only those of a text have a
// message.
func (p *Problem) UnmarshalJSON(data []byte) error {
	var read struct {
		*problemFields
		List json.RawMessage `json:"problems"`
	}
	read.problemFields = (*problemFields)(p)
	if err := json.Unmarshal(data, &read); err != nil || len(read.List) == 0 {
		return err
	}
	var kinds []struct{ Message *string }
	if err := json.Unmarshal(read.List, &kinds); err != nil {
		return err
	}
	if len(kinds) > 0 && kinds[0].Message != nil {
		return json.Unmarshal(read.List, &p.Problems)
	}
	return json.Unmarshal(read.List, &p.Faults)
}

// TransformSchema adds what the encoding adds.
func (*Problem) TransformSchema(registry huma.Registry, schema *huma.Schema) *huma.Schema {
	schema.Properties["problems"] = &huma.Schema{
		Type:        huma.TypeArray,
		Description: "All that is wrong: with a workflow or a query, or with what was sent.",
		Items: &huma.Schema{AnyOf: []*huma.Schema{
			registry.Schema(findingType, true, ""), registry.Schema(faultType, true, ""),
		}},
	}
	if code := schema.Properties["code"]; code != nil {
		code.Enum = nil
		for _, one := range allCodes() {
			code.Enum = append(code.Enum, string(one))
		}
	}
	return schema
}

var findingType, faultType = reflect.TypeFor[diag.Problem](), reflect.TypeFor[InputFault]()

// allCodes are the codes in the order of their status.
func allCodes() []Code {
	codes := slices.Collect(maps.Keys(statusOf))
	slices.SortFunc(codes, func(a, b Code) int { return cmp.Or(cmp.Compare(statusOf[a], statusOf[b]), cmp.Compare(a, b)) })
	return codes
}
