package web

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// addPlain documents the routes that huma does not serve.
func addPlain(document *huma.OpenAPI) {
	schema := func(t reflect.Type) *huma.Schema { return document.Components.Schemas.Schema(t, true, "") }
	answer := func(text, mediaType string, of *huma.Schema) *huma.Response {
		return &huma.Response{Description: text, Content: map[string]*huma.MediaType{mediaType: {Schema: of}}}
	}
	problem := answer("What is wrong. `code` is for programs.", wire.ProblemType, schema(reflect.TypeFor[Problem]()))
	health := schema(reflect.TypeFor[HealthAnswer]())
	hooked := schema(reflect.TypeFor[trigger.HookAnswer]())
	segment := func(name, text string) *huma.Param {
		return &huma.Param{Name: name, In: "path", Required: true, Description: text, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	open := []map[string][]string{}
	for _, op := range []*huma.Operation{
		{
			OperationID: "health", Method: http.MethodGet, Path: "/healthz", Tags: []string{"server"}, Security: open,
			Summary: "Ask whether the process answers", Responses: map[string]*huma.Response{"200": answer("It does.", "application/json", health)},
		},
		{
			OperationID: "ready", Method: http.MethodGet, Path: "/readyz", Tags: []string{"server"}, Security: open,
			Summary: "Ask whether runs are taken",
			Responses: map[string]*huma.Response{
				"200": answer("They are.", "application/json", health),
				"503": answer("The server is ending, its store has failed, or there is no room for a run.", wire.ProblemType, schema(reflect.TypeFor[Problem]())),
			},
		},
		{
			OperationID: "openapi", Method: http.MethodGet, Path: Prefix + "/openapi.json", Tags: []string{"server"}, Security: []map[string][]string{{bearer: {}}},
			Summary: "Get this document", Description: "Scope: viewer.", Extensions: map[string]any{"x-scope": string(guard.Viewer)},
			Responses: map[string]*huma.Response{"200": answer("The document.", "application/json", &huma.Schema{Type: huma.TypeObject})},
		},
		{
			OperationID: "hook", Method: http.MethodPost, Path: "/hooks/{workflow}/{trigger}", Tags: []string{"server"}, Security: open,
			Summary:     "Send an event to a webhook trigger",
			Description: "Who may send it, and what the body is, says `webhook` of the trigger: a signature or a token of its own. The same event again is the same run.",
			Parameters:  []*huma.Param{segment("workflow", "The workflow's name, percent-encoded."), segment("trigger", "The trigger's name.")},
			RequestBody: &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{}}}},
			Responses: map[string]*huma.Response{
				"202": answer("A run was started.", "application/json", hooked),
				"200": answer("The event has its run already.", "application/json", hooked),
			},
		},
	} {
		if op.OperationID == "hook" {
			op.Metadata = map[string]any{refuses: []wire.Code{wire.CodeUnauthorized, wire.CodeConflict, wire.CodeInvalidInput, wire.CodeTooMany}}
			addRefusals(guard.FaceHook, op)
		}
		op.Responses["default"] = problem
		document.AddOperation(op)
	}
}
