package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

type schema map[string]any

func object(required []string, properties schema) schema {
	return schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func (s schema) bytes() []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return text
}

var (
	text   = schema{"type": "string"}
	config = object([]string{"base_url", "token"}, schema{"base_url": schema{"type": "string", "format": "uri"}, "token": schema{"type": "string", "writeOnly": true}})
	inputs = map[string]schema{
		"word":  object([]string{"name"}, schema{"name": schema{"type": "string", "minLength": 1}, "size": schema{"type": "integer", "default": 10}, "exact": schema{"type": "boolean"}}),
		"items": object([]string{}, schema{"cursor": text}),
		"note":  object([]string{"text"}, schema{"text": schema{"type": "string", "minLength": 1}}),
		"notes": object([]string{}, schema{}),
		"pay":   object([]string{"reference"}, schema{"reference": text}),
		"wait":  object([]string{}, schema{}),
		"key":   object([]string{}, schema{}),
		"file":  object([]string{}, schema{}),
	}
	outputs = map[string]schema{
		"word":  object([]string{"word", "size"}, schema{"word": text, "size": schema{"type": "integer"}}),
		"items": object([]string{"items"}, schema{"items": schema{"type": "array", "items": object([]string{"id"}, schema{"id": text})}, "next": text}),
		"note":  object([]string{"id", "at"}, schema{"id": text, "at": text}),
		"notes": object([]string{"notes"}, schema{"notes": schema{"type": "array", "items": text}}),
		"pay":   object([]string{"id"}, schema{"id": text}),
		"wait":  object([]string{"done"}, schema{"done": schema{"type": "boolean"}}),
		"key":   object([]string{"id", "secret"}, schema{"id": text, "secret": text}),
		"file":  object([]string{"file"}, schema{"file": schema{"type": "object", "x-flowrun-blob": true}}),
	}
)

// Describe answers with the description, as the fault has it.
func (p *plugin) Describe(_ context.Context, r *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	if p.has("describe.answers") || p.has("describe.newer") && r.GetProtocolMinor() > 1 {
		return nil, errors.New("no")
	}
	d := &pluginv1.DescribeResponse{
		Name: "faulty", Version: "1.0.0", Doc: "Breaks one promise", ConfigSchema: config.bytes(), Simulator: []string{"faulty", p.fault, "simulate"},
		Plugin: &pluginv1.Capabilities{Features: []string{"reconcile", "validate_config"}},
	}
	if p.streams() {
		d.Plugin.Features = append(d.Plugin.Features, "execute_stream")
	}
	names := []string{"word", "items", "note", "notes", "pay", "wait", "key"}
	if p.hasFile() {
		names = append(names, "file")
	}
	for _, name := range names {
		a := &pluginv1.Action{Name: name, Doc: name, Effect: pluginv1.Effect_EFFECT_READ, InputSchema: inputs[name].bytes(), OutputSchema: outputs[name].bytes()}
		switch name {
		case "word":
			a.Examples = []*pluginv1.Example{
				{Name: "flow", Input: []byte(`{"name":"flow"}`), Output: []byte(`{"word":"flow","size":10}`)}, {Name: "exact", Input: []byte(`{"name":"run","exact":true}`)},
			}
		case "items":
			a.Paging = &pluginv1.Paging{CursorField: "cursor", ItemsField: "items", NextField: "next", Identity: "id"}
		case "notes", "wait":
			a.SchemasDecide = true
		case "note":
			a.SchemasDecide = !p.has("validate.expressions") // that fault breaks this word too
			a.Effect = pluginv1.Effect_EFFECT_KEYED
		case "pay", "key":
			a.Effect = pluginv1.Effect_EFFECT_ONCE
		}
		d.Actions = append(d.Actions, a)
	}
	p.spoil(d)
	if !p.isTold() {
		return d, nil
	}
	return p.told(d, r), nil
}

// spoil puts a fault into a description.
func (p *plugin) spoil(d *pluginv1.DescribeResponse) {
	more := &pluginv1.Action{Name: "more", Doc: "More", Effect: pluginv1.Effect_EFFECT_ONCE, InputSchema: inputs["wait"].bytes(), OutputSchema: outputs["wait"].bytes()}
	switch p.fault {
	case "describe.same":
		d.Doc += fmt.Sprint(time.Now().UnixNano())
		return
	case "describe.sizes":
		d.Doc = strings.Repeat("long ", 2<<20)
		return
	case "describe.names":
		more.Name = "More-Words"
	case "describe.effects":
		more.Effect = 0
	case "describe.schemas":
		more.InputSchema = []byte(`{"type":"array"}`)
	case "describe.closed":
		more.InputSchema = []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	case "describe.documents":
		more.Examples = []*pluginv1.Example{{Name: "twice", Input: []byte(`{}`), Output: []byte(`{"done":true,"done":true}`)}}
	case "describe.references":
		more.Limiters = []string{"api"}
	case "describe.examples":
		more.Examples = []*pluginv1.Example{{Name: "wrong", Input: []byte(`{}`), Output: []byte(`{"done":"yes"}`)}}
	case "describe.taken":
		d.Limiters = []*pluginv1.Limiter{{Name: "api", Requests: 5}}
		return
	case "validate.examples":
		d.Actions[0].Examples[1].Input = []byte(`{"name":"refused","exact":true}`)
		return
	default:
		return
	}
	d.Actions = append(d.Actions, more)
}

// problem is what is wrong with an input.
type problem struct{ pointer, what string }

// check finds what is wrong with a document by a schema of this program.
func check(doc []byte, s schema, unknown []string) []problem {
	var in map[string]any
	if err := json.Unmarshal(doc, &in); err != nil || in == nil {
		return []problem{{"", "it is no object"}}
	}
	skipped := map[string]bool{}
	for _, pointer := range unknown {
		skipped[strings.TrimPrefix(pointer, "/")] = true
	}
	properties := s["properties"].(schema)
	var found []problem
	for name, v := range in {
		if properties[name] == nil {
			found = append(found, problem{"/" + name, "there is no such name"})
		} else if want := properties[name].(schema)["type"]; !skipped[name] && kind(v) != want {
			found = append(found, problem{"/" + name, fmt.Sprintf("it must be %s", want)})
		}
	}
	for _, name := range s["required"].([]string) {
		if v, ok := in[name]; (!ok || v == "") && !skipped[name] {
			found = append(found, problem{"/" + name, "it is missing"})
		}
	}
	return found
}

func kind(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case float64:
		return "integer"
	case bool:
		return "boolean"
	}
	return "other"
}

func diagnostics(problems []problem) []*pluginv1.Diagnostic {
	var said []*pluginv1.Diagnostic
	for _, found := range problems {
		said = append(said, &pluginv1.Diagnostic{Severity: 1, Summary: found.what, Pointer: found.pointer})
	}
	return said
}

// Validate checks an input, as the fault has it.
func (p *plugin) Validate(_ context.Context, r *pluginv1.ValidateRequest) (*pluginv1.ValidateResponse, error) {
	s, ok := inputs[r.GetAction()]
	if !ok {
		s = inputs["wait"]
	}
	if p.has("validate.newer") && len(r.ProtoReflect().GetUnknown()) > 0 {
		return nil, errors.New("unknown field")
	}
	if err := p.recipeOf(r.GetAction(), r.GetRecipe()); err != nil {
		return nil, err
	}
	unknown := r.GetUnknown()
	if p.has("validate.expressions") {
		unknown = nil
	}
	found := check(r.GetInput().GetJson(), s, unknown)
	var kept []problem
	for _, f := range found {
		switch {
		case p.has("validate.missing") && f.what == "it is missing":
			f.pointer = ""
		case p.has("validate.unknown") && f.what == "there is no such name", p.has("validate.kinds") && strings.HasPrefix(f.what, "it must be"):
			continue
		}
		kept = append(kept, f)
	}
	if p.has("validate.examples") && strings.Contains(string(r.GetInput().GetJson()), "refused") {
		kept = append(kept, problem{"/name", "refused"})
	}
	if p.has("validate.decided") && r.GetAction() == "note" && strings.Contains(string(r.GetInput().GetJson()), "üü") {
		kept = append(kept, problem{"/text", "it is not ASCII"})
	}
	if r.GetConfig() != nil {
		for _, f := range check(r.GetConfig().GetJson(), config, r.GetConfigUnknown()) {
			if !p.has("validate.config") {
				f.pointer = ""
			}
			kept = append(kept, f)
		}
	}
	response := &pluginv1.ValidateResponse{Diagnostics: diagnostics(kept)}
	if r.GetAction() == "word" && strings.Contains(string(r.GetInput().GetJson()), `"exact":true`) {
		narrowed := object([]string{"word", "size"}, schema{"word": text, "size": schema{"type": "integer"}})
		if p.has("execute.narrowed") {
			narrowed["required"] = []string{"word", "size", "root"}
			narrowed["properties"].(schema)["root"] = text
		}
		response.OutputSchema = narrowed.bytes()
		if p.has("validate.narrowed") {
			response.OutputSchema = []byte(`{"type":"objekt"}`)
		}
	}
	return response, nil
}
