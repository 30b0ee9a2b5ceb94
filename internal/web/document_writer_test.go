package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"path"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// apiVersion is the version of the paths and their types: it is that of Prefix,
// not of the program.
const apiVersion = "1.0.0"

// apiText is what the document says of itself.
const apiText = "The HTTP API of a flowrun server. Errors are problems (RFC 9457) with a stable `code`. " +
	"Lists have `items` and `next_cursor`: given back as `cursor` it leads to the next page, null is the last one. " +
	"Times are RFC 3339 in UTC. Each operation names the scope that a token needs: admin holds operator, operator holds viewer."

// bearer names how callers prove themselves.
const bearer = "token"

// newDocument returns the document without its operations.
func newDocument() *huma.OpenAPI {
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "flowrun", Version: apiVersion, Description: apiText,
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: usualServer, Description: usualText}},
		Tags: []*huma.Tag{
			{Name: "runs", Description: "What runs and what ran."},
			{Name: "workflows", Description: "The workflow files of the project."},
			{Name: "schedules", Description: "Triggers that fire by time, and what fired."},
			{Name: "connections", Description: "The services that workflows use."},
			{Name: "plugins", Description: "What actions there are."},
			{Name: "server", Description: "The server itself."},
		},
		Components: &huma.Components{
			Schemas: huma.NewMapRegistry(schemaPrefix, schemaName),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				bearer: {Type: "http", Scheme: "bearer", Description: "A token of `flowrun tokens create`. The unix socket asks for none: its mode is the authority."},
			},
		},
	}
}

// document returns the document of all operations.
func (t *typed) document() *huma.OpenAPI {
	api := newAPI(new(adapter), newDocument())
	for _, o := range t.operations {
		describe(api, o.scope, &o.Operation)
		describeAnswer(api, &o.Operation, o.answer)
		o.serve(api, o.Operation)
	}
	return api.OpenAPI()
}

// describeAnswer adds the answer of an operation, which huma knows as a stream: the fields
// of its type are the body and the headers, as huma reads them.
func describeAnswer(api huma.API, op *huma.Operation, of reflect.Type) {
	registry := api.OpenAPI().Components.Schemas
	status := strconv.Itoa(cmp.Or(op.DefaultStatus, http.StatusOK))
	if op.Responses[status] == nil {
		op.Responses[status] = &huma.Response{}
	}
	response := op.Responses[status]
	for _, field := range reflect.VisibleFields(of) {
		name := field.Tag.Get("header")
		switch {
		case field.Name == "Body" && field.Type.Kind() != reflect.Func:
			schema := huma.SchemaFromField(registry, field, cmp.Or(of.Name(), op.OperationID+"Response"))
			if len(response.Content) == 0 {
				response.Content = map[string]*huma.MediaType{"application/json": {}}
			}
			if media := response.Content["application/json"]; media != nil && media.Schema == nil {
				media.Schema = schema
			}
		case name != "":
			if response.Headers == nil {
				response.Headers = map[string]*huma.Param{}
			}
			response.Headers[name] = &huma.Header{Schema: huma.SchemaFromField(registry, field, op.OperationID+status+name)}
		}
	}
}

const schemaPrefix = "#/components/schemas/"

// schemaName names a type in the document: generic ones in words, and a problem
// of a workflow apart from one of a request, a part of a preview with its whole, and a step of
// a run apart from one of a workflow.
func schemaName(t reflect.Type, hint string) string {
	if t == reflect.TypeFor[diag.Problem]() {
		return "Finding"
	}
	name := huma.DefaultSchemaNamer(t, hint)
	if of, isPage := strings.CutPrefix(name, "Page"); isPage {
		return strings.Replace(of, "Step", "RunStep", 1) + "Page"
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[engine.ResumeRequest]():
		return "ResumeBody"
	case t == reflect.TypeFor[engine.HourSummary](): // the store's type, by its name in the engine
		return "HourSummary"
	case t == reflect.TypeFor[engine.WorkflowSummary]():
		return "WorkflowSummary"
	case strings.HasSuffix(t.PkgPath(), "/preview") && name != "Preview":
		return "Preview" + name
	case strings.HasSuffix(t.PkgPath(), "/calls"):
		return "Call" + name
	case t == reflect.TypeFor[connections.Test]():
		return "ConnectionTest"
	case t == reflect.TypeFor[runs.Step]():
		return "RunStep"
	case t == reflect.TypeFor[trigger.Info](), t == reflect.TypeFor[trigger.Request]():
		return "Trigger" + name
	}
	return name
}

// describe completes an operation with what holds for all.
func describe(api huma.API, scope guard.Scope, op *huma.Operation) {
	schema := func(t reflect.Type) *huma.Schema { return api.OpenAPI().Components.Schemas.Schema(t, true, "") }
	op.Security = []map[string][]string{{bearer: {}}}
	op.Extensions = map[string]any{"x-scope": string(scope)}
	op.Description = strings.TrimSpace(op.Description + " Scope: " + string(scope) + ".")
	op.Responses = map[string]*huma.Response{}
	if a, ok := op.Metadata[responses].(also); ok {
		media := &huma.MediaType{Schema: schema(a.of[0])}
		if len(a.of) > 1 {
			media.Schema = &huma.Schema{}
			for _, t := range a.of {
				media.Schema.AnyOf = append(media.Schema.AnyOf, schema(t))
			}
		}
		op.Responses[a.status] = &huma.Response{Description: a.text, Content: map[string]*huma.MediaType{a.media: media}}
	}
	addRefusals(guard.FaceAPI, op)
	op.Responses["default"] = &huma.Response{
		Description: "What is wrong. `code` is for programs.",
		Content: map[string]*huma.MediaType{
			wire.ProblemType: {Schema: schema(reflect.TypeFor[Problem]())},
		},
	}
}

// writeDocument returns the OpenAPI 3.1 document of the API, indented.
func writeDocument(texts map[string]string) ([]byte, error) {
	document := newServer(Options{}).typed().document()
	addPlain(document)
	addProblemFields(document.Components.Schemas)
	finish(document, texts)
	data, err := json.MarshalIndent(document, "", "  ")
	return append(data, '\n'), err
}

// finish makes the schemas say what is sent. A pointer or a map without omitempty
// may be null; an answer may get new fields, a body has none but those named; and
// huma's own model of an error is not ours.
func finish(document *huma.OpenAPI, texts map[string]string) {
	registry := document.Components.Schemas
	schemas := registry.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
	bodies := bodySchemas(document)
	for name, schema := range schemas {
		if !bodies[name] {
			schema.AdditionalProperties = openEnded(schema.AdditionalProperties)
		}
		t := registry.TypeFromRef(schemaPrefix + name)
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}
		schema.Description = texts[textKey(t, "")]
		if alias := texts["alias "+name]; alias != "" && t.Name() != name && !strings.Contains(t.Name(), "[") {
			schema.Description = alias
		}
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if property := schema.Properties[name]; property != nil && property.Description == "" {
				property.Description = texts[textKey(declaring(t, field), field.Name)]
			}
			markNull(schema, field)
		}
	}
	addRefusalSchemas(document)
}

// textKey is what the comments of types know a field by; "" = the type itself.
func textKey(t reflect.Type, field string) string {
	key := path.Base(t.PkgPath()) + "." + t.Name()
	if field != "" {
		key += "." + field
	}
	return key
}

// declaring returns the struct that a field is written in: t, or one in it.
func declaring(t reflect.Type, field reflect.StructField) reflect.Type {
	if len(field.Index) == 1 {
		return t
	}
	owner := t.FieldByIndex(field.Index[:len(field.Index)-1]).Type
	if owner.Kind() == reflect.Pointer {
		return owner.Elem()
	}
	return owner
}

// openEnded drops `additionalProperties: false`.
func openEnded(additional any) any {
	if closed, isBool := additional.(bool); isBool && !closed {
		return nil
	}
	return additional
}

// bodySchemas names the schemas that requests are made of.
func bodySchemas(document *huma.OpenAPI) map[string]bool {
	named := map[string]bool{}
	for _, item := range document.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op == nil || op.RequestBody == nil {
				continue
			}
			for _, media := range op.RequestBody.Content {
				if media.Schema != nil {
					named[strings.TrimPrefix(media.Schema.Ref, schemaPrefix)] = true
				}
			}
		}
	}
	return named
}

func markNull(schema *huma.Schema, field reflect.StructField) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	property := schema.Properties[name]
	if property == nil {
		return
	}
	property.Enum = append(property.Enum, valuesOf(field.Type)...)
	leftOut := strings.Contains(options, "omit")
	switch field.Type.Kind() {
	case reflect.Pointer:
		if property.Ref != "" && !leftOut {
			schema.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{{Ref: property.Ref}, {Type: "null"}}, Description: property.Description}
		}
	case reflect.Map:
		property.Nullable = !leftOut
	case reflect.Slice:
		property.Nullable = !leftOut && name != "items" && property.Type == huma.TypeArray
	}
}

// valuesOf returns the values of the types that have few.
func valuesOf(t reflect.Type) []any {
	switch t {
	case reflect.TypeFor[runs.Status]():
		return []any{
			runs.RunQueued, runs.RunRunning, runs.RunWaiting, runs.RunPaused, runs.RunSucceeded, runs.RunFailed, runs.RunCanceled, runs.RunTimedOut,
		}
	case reflect.TypeFor[runs.StepStatus]():
		return []any{
			runs.StepPending, runs.StepRunning, runs.StepWaiting, runs.StepRetrying, runs.StepSucceeded, runs.StepFailed, runs.StepSkipped,
			runs.StepBlocked, runs.StepCanceled, runs.StepUnknown,
		}
	case reflect.TypeFor[plan.TriggerKind]():
		return []any{plan.TriggerManual, "workflow", plan.TriggerCron, plan.TriggerEvery, plan.TriggerWebhook, plan.TriggerPoll, plan.TriggerAfter}
	}
	return nil
}

// addProblemFields adds what the encoding of a Problem adds.
func addProblemFields(registry huma.Registry) {
	properties := registry.Map()["Problem"].Properties
	properties["problems"] = &huma.Schema{
		Type:        huma.TypeArray,
		Description: "All that is wrong: with a workflow or a query, or with what was sent.",
		Items: &huma.Schema{AnyOf: []*huma.Schema{
			registry.Schema(reflect.TypeFor[diag.Problem](), true, ""), registry.Schema(reflect.TypeFor[wire.InputFault](), true, ""),
		}},
	}
	properties["code"].Enum = codesOf(wire.Codes())
}

func codesOf(codes []wire.Code) []any {
	var values []any
	for _, code := range codes {
		values = append(values, string(code))
	}
	return values
}
