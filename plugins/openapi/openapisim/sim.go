// Package openapisim stands for any service that has an OpenAPI document: it answers each
// operation as the document says, with its examples where they fit the schemas and with
// values made from the schemas where they don't.
//
// It keeps nothing: what was written is not there when it is read. Requests are held
// against method and path alone.
package openapisim

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/openapi"
	"github.com/flowrun/flowrun/plugins/openapi/tree"
)

// Sim is the simulator of one service. Its methods are safe for concurrent use.
type Sim struct {
	simkit.Service
	mu      sync.Mutex // of service, which is for one goroutine at a time
	service *openapi.Service
	routes  []route
}

// route is an operation by its path.
type route struct {
	method   string
	segments []string // {name} = any
	name     string
	params   int
}

// New returns a simulator; it serves at the root of a host.
func New(service *openapi.Service, o simkit.Options) *Sim {
	s := &Sim{service: service}
	for _, operation := range service.Operations {
		r := route{method: operation.Method, segments: strings.Split(strings.Trim(operation.Path, "/"), "/"), name: operation.Name}
		for _, segment := range r.segments {
			if strings.Contains(segment, "{") {
				r.params++
			}
		}
		s.routes = append(s.routes, r)
	}
	// of two routes the one with fewer parameters is meant: /pets/mine before /pets/{id}
	slices.SortStableFunc(s.routes, func(a, b route) int { return a.params - b.params })
	s.Service = simkit.NewService(o, http.HandlerFunc(s.answer))
	return s
}

// takes reports whether a path is one of the route's. With rest a last parameter takes
// all that follows, slashes too.
func (r route) takes(path string, rest bool) bool {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	last := len(r.segments) - 1
	if len(segments) < len(r.segments) || len(segments) > len(r.segments) && (!rest || !strings.Contains(r.segments[last], "{")) {
		return false
	}
	for i, wanted := range r.segments {
		if strings.Contains(wanted, "{") && segments[i] == "" || !strings.Contains(wanted, "{") && wanted != segments[i] {
			return false
		}
	}
	return true
}

// find is the operation of a request, "" for none; known says that its path has others.
func (s *Sim) find(r *http.Request) (name string, known bool) {
	for _, rest := range []bool{false, true} {
		for _, route := range s.routes {
			if !route.takes(r.URL.EscapedPath(), rest) || rest && !s.parted(route.name) {
				continue
			}
			if known = true; route.method == r.Method {
				return route.name, true
			}
		}
	}
	return "", known
}

// parted reports whether a slash in a parameter of the operation parts the path.
func (s *Sim) parted(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	action, err := s.service.Action(name)
	return err == nil && slices.ContainsFunc(action.Recipe.Params, func(p recipe.Param) bool { return p.Segments })
}

func (s *Sim) answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == tokenPath {
		simkit.WriteJSON(w, http.StatusOK, map[string]any{"access_token": "sandbox-token", "token_type": "Bearer", "expires_in": 3600})
		return
	}
	name, known := s.find(r)
	if name != "" {
		s.operation(w, r, name)
		return
	}
	status, message := http.StatusNotFound, "the document has no such path"
	if known {
		status, message = http.StatusMethodNotAllowed, "the document has no such method of this path"
	}
	simkit.WriteJSON(w, status, map[string]any{"message": message})
}

// operation answers as the first documented success of an operation.
func (s *Sim) operation(w http.ResponseWriter, r *http.Request, name string) {
	s.mu.Lock()
	action, err := s.service.Action(name)
	var body json.RawMessage
	if err == nil {
		body = s.body(action)
	}
	s.mu.Unlock()
	if err != nil {
		simkit.WriteJSON(w, http.StatusInternalServerError, map[string]any{"message": err.Error()})
		return
	}
	answer := recipe.Answer{Status: "200", Kind: recipe.AnswerJSON}
	if len(action.Recipe.Answers) > 0 {
		answer = action.Recipe.Answers[0]
	}
	status := statusOf(answer.Status)
	var text string
	_ = json.Unmarshal(body, &text) // another value is no text
	switch answer.Kind {
	case recipe.AnswerNone:
		w.WriteHeader(status)
	case recipe.AnswerText:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text)) // who went away needs no answer
	case recipe.AnswerBytes:
		content, _ := base64.StdEncoding.DecodeString(text)
		w.Header().Set("Content-Type", "application/octet-stream")
		w.WriteHeader(status)
		_, _ = w.Write(content)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(wrapped(action, s.onlyPage(action, r, body)))
	}
}

// body is the output that an action gives: the document's example where it fits, else
// one that is made.
func (s *Sim) body(action *openapi.Action) json.RawMessage {
	schema := tree.Of(action.Output)
	defs := schema.Get("$defs")
	if example := action.Example(); example != nil && (fitter{defs}).fits(schema, example, 0) {
		return example.JSON()
	}
	return maker{defs}.of(schema, 0)
}

// onlyPage takes the items out of a page behind the first: each list has one page.
func (s *Sim) onlyPage(action *openapi.Action, r *http.Request, body json.RawMessage) json.RawMessage {
	page := action.Recipe.Page
	if page == nil {
		return body
	}
	asked := r.URL.Query().Get(page.Input)
	first := asked == "" || page.Kind == recipe.NextNumber && asked == strconv.FormatInt(page.From, 10) || page.Kind == recipe.NextOffset && asked == "0"
	out, isObject := tree.ReadObject(body)
	if page.Next != "" && isObject {
		name := strings.SplitN(strings.TrimPrefix(page.Next, "/"), "/", 2)[0]
		if out.Get(name) != nil {
			out = out.With(name, json.RawMessage("null"))
		}
	}
	switch {
	case !isObject && !first:
		return json.RawMessage("[]")
	case isObject && !first && page.Items != "":
		out = out.With(page.Items, json.RawMessage("[]"))
	case !isObject:
		return body
	}
	return out.JSON()
}

// wrapped puts an output into the envelope of the service.
func wrapped(action *openapi.Action, body json.RawMessage) json.RawMessage {
	e := action.Recipe.Envelope
	if e == nil {
		return body
	}
	out := tree.Object{}
	set := func(pointer string, value json.RawMessage) {
		if name := strings.TrimPrefix(pointer, "/"); name != "" && !strings.Contains(name, "/") {
			out = out.With(name, value)
		}
	}
	if e.Data == "" {
		out, _ = tree.ReadObject(body)
	}
	set(e.Mark, json.RawMessage("true"))
	set(e.Data, body)
	is := json.RawMessage("true")
	if e.Is != nil {
		is = e.Is
	}
	set(e.OK, is)
	set(e.Status, json.RawMessage("200"))
	return out.JSON()
}

func statusOf(status string) int {
	number, err := strconv.Atoi(strings.Replace(status, "XX", "00", 1))
	if err != nil || number < 200 || number > 299 {
		return http.StatusOK
	}
	return number
}
