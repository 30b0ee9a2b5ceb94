package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// tool is one of the tools, with what keeps the caller from it.
type tool struct {
	*mcp.Tool
	refused string // "" = nothing
	handle  mcp.ToolHandler
}

// call is one call of a tool.
type call struct {
	*desk
	request *mcp.CallToolRequest
}

// effect is what a tool does to its surroundings.
type effect struct{ writes, destroys, repeats, open bool }

// definition is a tool without its handler.
type definition struct {
	name, title, text string
	effect
	refused string
	words   map[string][]any // what an argument takes
}

// define makes a tool of a function over types, which make its schemas.
func define[I, O any](d *desk, of definition, do func(ctx context.Context, c call, in I) (O, error)) tool {
	input := schemaOf[I]()
	for argument, words := range of.words {
		input.Properties[argument].Enum = words
	}
	made := &mcp.Tool{
		Name: of.name, Title: of.title, Description: of.text, InputSchema: input, OutputSchema: schemaOf[O](),
		Annotations: &mcp.ToolAnnotations{Title: of.title, ReadOnlyHint: !of.writes, DestructiveHint: &of.destroys, IdempotentHint: of.repeats || !of.writes, OpenWorldHint: &of.open},
	}
	resolved, err := input.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("the schema of %s: %v", of.name, err)) // a mistake in this package
	}
	return tool{Tool: made, refused: of.refused, handle: func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in I
		if err := readArguments(request.Params.Arguments, resolved, &in); err != nil {
			return failed("the arguments are wrong: " + err.Error()), nil
		}
		out, err := do(ctx, call{d, request}, in)
		if asked, ok := errors.AsType[*question](err); ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{asked.id: asked.params}}, nil
		}
		if err != nil {
			return failed(failureText(err)), nil
		}
		data, err := wire.EncodeJSON(out)
		if err != nil {
			return nil, fmt.Errorf("encode the answer of %s: %w", of.name, err)
		}
		text := string(bytes.TrimSpace(data))
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(text), Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}}
}

// schemaOf is the schema of a type, in which raw JSON may be any value.
func schemaOf[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {}}})
	if err != nil {
		panic(fmt.Sprintf("the schema of %T: %v", *new(T), err)) // a mistake in this package
	}
	schema.Type, schema.Types = "object", nil // never null: clients of others take nothing else
	return schema
}

// readArguments checks arguments against a tool's schema and reads them as they were
// written: numbers stay exact.
func readArguments(data json.RawMessage, schema *jsonschema.Resolved, into any) error {
	if len(bytes.TrimSpace(data)) == 0 || string(bytes.TrimSpace(data)) == "null" {
		data = json.RawMessage("{}")
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return errors.New(engine.JSONFault(err))
	}
	if err := schema.Validate(value); err != nil {
		return errors.New(plainFault(err))
	}
	if err := json.Unmarshal(data, into); err != nil {
		return errors.New(engine.JSONFault(err))
	}
	return nil
}

// plainFault is what the schema's library says, without the path of schemas that
// it came by.
func plainFault(err error) string {
	text := err.Error()
	for strings.HasPrefix(text, "validating ") {
		_, rest, found := strings.Cut(text, ": ")
		if !found {
			break
		}
		text = rest
	}
	return strings.Join(strings.Fields(text), " ")
}

// failureText is an error as an assistant can act on it: what is wrong, what helps, and
// each problem of a workflow.
func failureText(err error) string {
	problem, ok := errors.AsType[*web.Problem](err)
	if !ok {
		return err.Error()
	}
	var b strings.Builder
	b.WriteString(problem.Detail)
	if problem.Hint.Text != "" {
		b.WriteString("\nhelp: " + problem.Hint.Text)
	}
	for i, fault := range problem.Faults {
		if i == maxProblems {
			break
		}
		fmt.Fprintf(&b, "\n%s: %s", fault.Input, fault.Detail)
		if fault.Hint.Text != "" {
			b.WriteString("; " + fault.Hint.Text)
		}
	}
	for i, p := range problem.Problems {
		if i == maxProblems {
			fmt.Fprintf(&b, "\nand %d more: call validate", len(problem.Problems)-i)
			break
		}
		b.WriteString("\n" + p.String())
	}
	return b.String()
}

// oneOf refuses a call that names both or none of a workflow and its text.
func oneOf(workflow, text string) error {
	switch {
	case workflow == "" && text == "":
		return errors.New("name a workflow of the project as `workflow`, or give the text of one as `text`")
	case workflow != "" && text != "":
		return errors.New("give either `workflow` or `text`, not both")
	case len(text) > maxText:
		return fmt.Errorf("the text is larger than %d bytes", maxText)
	}
	return nil
}
