package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// typed is the documented part of the API. huma reads parameters and bodies,
// checks them against the types of the handlers and writes the OpenAPI document.
// An operation is given to huma when it is first asked for, since most processes
// answer a few of them, and without the schemas of its answer: these are worked out
// where the document is written.
type typed struct{ operations []operation }

// operation is one of the typed operations. serve gives it to huma; what it answers is a
// type for the document alone, which docs/openapi.json is: to give that to huma too would
// put its code into the program a second time for each operation.
type operation struct {
	huma.Operation
	scope  guard.Scope
	serve  func(huma.API, huma.Operation)
	answer reflect.Type
}

// routes returns the operations as lines of the route table.
func (t *typed) routes() []Route {
	routes := make([]Route, 0, len(t.operations))
	for _, o := range t.operations {
		serve := sync.OnceValue(o.build)
		routes = append(routes, Route{
			Pattern: o.Method + " " + o.Path, Face: guard.FaceAPI, Scope: o.scope,
			handle: func(_ *server, w http.ResponseWriter, r *http.Request) error { return serve()(w, r) },
		})
	}
	return routes
}

// build makes the handler of an operation.
func (o *operation) build() func(http.ResponseWriter, *http.Request) error {
	built := new(adapter)
	schemas := servedSchemas{huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)}
	o.serve(newAPI(built, &huma.OpenAPI{Components: &huma.Components{Schemas: schemas}}), o.Operation)
	return built.serve
}

// servedSchemas are the schemas of an operation that is served. That of a refusal, which no
// request is checked against, is worked out for the document alone.
type servedSchemas struct{ huma.Registry }

// Schema returns the schema of a type.
func (s servedSchemas) Schema(t reflect.Type, allowRef bool, hint string) *huma.Schema {
	if t == reflect.TypeFor[huma.ErrorModel]() {
		return new(huma.Schema)
	}
	return s.Registry.Schema(t, allowRef, hint)
}

func newAPI(a *adapter, document *huma.OpenAPI) huma.API {
	format := huma.Format{Marshal: writeEncoded, Unmarshal: readBody}
	return huma.NewAPI(huma.Config{
		OpenAPI:                      document,
		Formats:                      map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{encodeProblem},
	}, a)
}

// readBody reads a body. What is wrong with it is told in words for people.
func readBody(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return errors.New(engine.JSONFault(err))
	}
	return nil
}

// answer is what a handler gives: it writes itself.
type answer interface {
	write(x huma.Context, status int)
}

// outcome is the answer of most operations. Status 0 is that of the operation.
type outcome[T any] struct {
	Status int
	Body   T
}

func (o *outcome[T]) write(x huma.Context, status int) {
	_, w := humago.Unwrap(x)
	wire.WriteJSON(w, cmp.Or(o.Status, status), o.Body)
}

// creation is the answer of an operation that makes something. Status 0 is that of the
// operation.
type creation[T any] struct {
	Status   int
	Location string `header:"Location" doc:"The path of what was made."`
	Replayed bool   `header:"Idempotent-Replayed" doc:"true where an earlier request with this Idempotency-Key has made it; else it is not sent."`
	Body     T
}

func (c *creation[T]) write(x huma.Context, status int) {
	if c.Location != "" {
		x.SetHeader("Location", c.Location)
	}
	if c.Replayed {
		x.SetHeader("Idempotent-Replayed", "true")
	}
	(&outcome[T]{c.Status, c.Body}).write(x, status)
}

// streamed is an answer that is written while it comes to be.
type streamed struct{ Body func(huma.Context) }

func (s *streamed) write(x huma.Context, _ int) { s.Body(x) }

// register adds an operation whose handler gives the body of its answer. route is its
// method and its path below Prefix, codes are what it may answer with besides those of
// all.
func register[I, T any](t *typed, scope guard.Scope, route string, op huma.Operation, handle func(context.Context, *I) (T, error), codes ...wire.Code) {
	registerWhole(t, scope, route, op, func(ctx context.Context, in *I) (*outcome[T], error) {
		body, err := handle(ctx, in)
		return &outcome[T]{Body: body}, err
	}, codes...)
}

// reference is an input that names a thing. One that nothing can have never reaches
// the engine.
type reference interface{ check() error }

// registerWhole adds an operation whose handler gives the whole answer, with its
// headers.
func registerWhole[I, O any, A interface {
	*O
	answer
}](t *typed, scope guard.Scope, route string, op huma.Operation, handle func(context.Context, *I) (A, error), codes ...wire.Code,
) {
	method, path, _ := strings.Cut(route, " ")
	op.Method, op.Path, op.Metadata = method, Prefix+path, maps.Clone(op.Metadata)
	if op.Metadata == nil {
		op.Metadata = map[string]any{}
	}
	op.Metadata[refuses] = codes
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = bodyCap
	}
	op.MaxBodyBytes++ // huma refuses what reaches its limit
	serve := func(api huma.API, op huma.Operation) {
		status := cmp.Or(op.DefaultStatus, http.StatusOK)
		op.Metadata = maps.Clone(op.Metadata)
		op.Metadata[registryOf] = api.OpenAPI().Components.Schemas
		huma.Register(api, op, func(ctx context.Context, in *I) (*streamed, error) {
			if ref, names := any(in).(reference); names {
				if err := ref.check(); err != nil {
					return nil, problemOf(err)
				}
			}
			answer, err := handle(ctx, in)
			if err != nil {
				return nil, problemOf(err)
			}
			return &streamed{func(x huma.Context) { answer.write(x, status) }}, nil
		})
	}
	t.operations = append(t.operations, operation{op, scope, serve, reflect.TypeFor[O]()})
}

// adapter is huma's router: the last operation that huma has registered.
type adapter struct {
	serve func(http.ResponseWriter, *http.Request) error
}

// Handle takes an operation that huma has registered.
func (a *adapter) Handle(op *huma.Operation, handle func(huma.Context)) {
	a.serve = func(w http.ResponseWriter, r *http.Request) error {
		if err := checkRequest(op, r); err != nil {
			return err
		}
		if op.Metadata[longAnswers] != nil {
			longAnswer(w)
		}
		handle(&exchange{humaContext: humago.NewContext(op, r, w)})
		return nil
	}
}

// ServeHTTP is part of huma.Adapter. The route table serves, not this.
func (a *adapter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	wire.NewProblem(wire.CodeNotFound, "there is no such path").Write(w)
}

// checkRequest refuses what huma would take: a parameter that is given twice, and
// a body that is not JSON by its own word.
func checkRequest(op *huma.Operation, r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return wire.NewProblem(wire.CodeBadRequest, "the query can't be read: a % stands before two hexadecimal digits, and a ; separates nothing")
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if len(query[name]) > 1 && !repeatable(op, name) {
			answer := wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("%q is given twice", shorten(name)))
			answer.Input = shorten(name)
			return answer
		}
	}
	declared := r.Header.Get("Content-Type")
	if op.RequestBody == nil || r.ContentLength == 0 && declared == "" {
		return nil
	}
	if !isJSON(declared) {
		return wire.NewProblem(wire.CodeMediaType, "the body must be application/json")
	}
	return nil
}

// repeatable reports whether a parameter of the query is a list.
func repeatable(op *huma.Operation, name string) bool {
	return slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool {
		return p.In == "query" && p.Name == name && p.Schema.Type == huma.TypeArray
	})
}

// humaContext has a name of its own since a huma.Context has a method Context.
type humaContext = huma.Context

// exchange is a request with its answer as huma sees them.
type exchange struct {
	humaContext
	refused int // the status in place of the one that huma has chosen; 0 = that one
}

// Unwrap lets humago.Unwrap find the request and the writer.
func (x *exchange) Unwrap() huma.Context { return x.humaContext }

// SetReadDeadline does nothing: who listens sets the deadlines.
func (x *exchange) SetReadDeadline(time.Time) error { return nil }

// SetStatus begins the answer.
func (x *exchange) SetStatus(status int) {
	if x.refused != 0 {
		status = x.refused
	}
	x.humaContext.SetStatus(status)
}

// encoded is a problem in its final form.
type encoded []byte

// encodeProblem turns huma's own refusals into ours. Handlers write their answers
// themselves: what comes here is a problem.
func encodeProblem(ctx huma.Context, _ string, value any) (any, error) {
	if model, refused := value.(*huma.ErrorModel); refused {
		value = refuse(ctx, refusal(ctx.Operation(), model))
	}
	data, err := wire.EncodeJSON(value)
	return encoded(data), err
}

// writeEncoded writes what encodeProblem made.
func writeEncoded(w io.Writer, value any) error {
	_, err := w.Write(value.(encoded))
	return err
}

// refuse makes a problem the answer of an exchange that has not begun.
func refuse(ctx huma.Context, problem *Problem) *Problem {
	if x, ok := ctx.(*exchange); ok {
		x.refused = problem.Status
		x.SetHeader("Content-Type", wire.ProblemType)
	}
	return problem
}

// What the metadata of an operation holds: the codes that it may answer with besides
// those of all; and may hold: that its answer may take its time, and a response that
// huma does not know of, as an also.
const (
	longAnswers = "long"
	refuses     = "refuses"
	responses   = "responses"
)

// also describes a response of an operation: one of the types.
type also struct {
	status, text, media string
	of                  []reflect.Type
}

// longAnswer lets an answer take its time: whoever listens bounds the usual ones.
func longAnswer(w http.ResponseWriter) {
	controller := http.NewResponseController(w)
	_ = controller.SetWriteDeadline(time.Time{}) // a writer without deadlines has none to lift
	_ = controller.SetReadDeadline(time.Time{})
}
