package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/web/guard"
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
func describe(api huma.API, scope Scope, op *huma.Operation) {
	schema := func(t reflect.Type) *huma.Schema { return api.OpenAPI().Components.Schemas.Schema(t, true, "") }
	switch scope {
	case ScopeOpen, ScopeHook:
		op.Security = []map[string][]string{}
	default:
		op.Security = []map[string][]string{{bearer: {}}}
		op.Extensions = map[string]any{"x-scope": string(scope)}
		op.Description = strings.TrimSpace(op.Description + " Scope: " + string(scope) + ".")
	}
	op.Responses = map[string]*huma.Response{}
	if make, ok := op.Metadata[responses].(responsesOf); ok {
		op.Responses = make(schema)
	}
	addRefusals(scope, op)
	op.Responses["default"] = &huma.Response{
		Description: "What is wrong. `code` is for programs.",
		Content: map[string]*huma.MediaType{
			problemType: {Schema: schema(reflect.TypeFor[Problem]())},
		},
	}
}

// OpenAPI returns the OpenAPI 3.1 document of the API, indented: what every
// server of this version has at /api/v1/openapi.json.
func OpenAPI() ([]byte, error) {
	document := newServer(Options{}).typed().document()
	addPlain(document)
	finish(document)
	data, err := json.MarshalIndent(document, "", "  ")
	return append(data, '\n'), err
}

// The server of the committed document.
const (
	usualServer = "http://127.0.0.1:7070"
	usualText   = "`flowrun serve` where nothing else is configured"
)

// withServer puts the server that is asked in the place of the usual one.
func withServer(data []byte, origin string) []byte {
	for old, now := range map[string]string{usualServer: origin, usualText: "This server, as it was asked."} {
		from, errFrom := json.Marshal(old)
		to, errTo := json.Marshal(now)
		if errFrom != nil || errTo != nil {
			return data
		}
		data = bytes.Replace(data, from, to, 1)
	}
	return data
}

// openAPI serves the document. It is made when it is first asked for.
func (s *server) openAPI(w http.ResponseWriter, r *http.Request) *Problem {
	data, err := s.document()
	if err != nil {
		return newProblem(CodeInternal, "write the OpenAPI document: "+err.Error())
	}
	if _, remote := guard.CallerOf(r.Context()); remote {
		data = withServer(data, guard.OriginOf(r, s.Owner.URL))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // the client is gone: nobody is left to tell
	return nil
}

// finish makes the schemas say what is sent. A pointer or a map without omitempty
// may be null; an answer may get new fields, a body has none but those named; and
// huma's own model of an error is not ours.
func finish(document *huma.OpenAPI) {
	registry := document.Components.Schemas
	schemas := registry.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
	bodies, texts := bodySchemas(document), documentTexts()
	for name, schema := range schemas {
		if !bodies[name] {
			schema.AdditionalProperties = openEnded(schema.AdditionalProperties)
		}
		t := registry.TypeFromRef(schemaPrefix + name)
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}
		schema.Description = texts[textKey(t, "")]
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

// textKey is what documentTexts knows a field by; "" = the type itself.
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
