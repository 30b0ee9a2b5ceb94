package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/plugins/content"
	"github.com/flowrun/flowrun/plugins/internal/naming"
	"github.com/flowrun/flowrun/sdk"
)

// toolsDocument is a file with the tools of a server.
type toolsDocument struct {
	Server serverName `json:"server"`
	Tools  []tool     `json:"tools"`
}

type serverName struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// tool is what a server says of one of its tools (MCP, tools/list).
type tool struct {
	Name         string    `json:"name"`
	Title        string    `json:"title,omitempty"`
	Description  string    `json:"description,omitempty"`
	InputSchema  sdk.Value `json:"inputSchema"`
	OutputSchema sdk.Value `json:"outputSchema,omitempty"`
	Annotations  *hints    `json:"annotations,omitempty"`
}

// hints are what a server says of the effect of a tool.
type hints struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint,omitempty"`
	Idempotent  bool   `json:"idempotentHint,omitempty"`
	Destructive *bool  `json:"destructiveHint,omitempty"`
	OpenWorld   *bool  `json:"openWorldHint,omitempty"`
}

// readTools reads a file: what Capture writes, or the answer of tools/list itself.
func readTools(content []byte) (toolsDocument, error) {
	var document toolsDocument
	text := bytes.TrimSpace(content)
	var err error
	if bytes.HasPrefix(text, []byte("[")) {
		err = json.Unmarshal(text, &document.Tools)
	} else {
		err = json.Unmarshal(text, &document)
	}
	if err != nil {
		return document, fmt.Errorf("read it as JSON: %w", err)
	}
	if len(document.Tools) == 0 {
		return document, errors.New("it has no tools")
	}
	seen := map[string]bool{}
	for i, one := range document.Tools {
		if one.Name == "" {
			return document, fmt.Errorf("its tool %d has no name", i+1)
		}
		if seen[one.Name] {
			return document, fmt.Errorf("it has the tool %s twice", one.Name)
		}
		seen[one.Name] = true
	}
	return document, nil
}

// has reports whether a pattern takes one of the tools.
func (d toolsDocument) has(pattern string) bool {
	return slices.ContainsFunc(d.Tools, func(t tool) bool { return naming.Matches(pattern, t.Name) })
}

// digest tells what a tool takes and gives, whatever the order of its words.
func (t tool) digest() string {
	var parts []any
	for _, raw := range []sdk.Value{t.InputSchema, t.OutputSchema} {
		var part any
		_ = json.Unmarshal(raw, &part) // what can't be read is nothing, here as there
		parts = append(parts, part)
	}
	text, _ := json.Marshal(parts) // of what was decoded
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// action is a tool as an action.
type action struct {
	entry         sdk.Entry
	tool          tool
	input, output sdk.Value
	recipe        recipe
}

// check finds what the schema of the settings can't say.
func (s Settings) check() *sdk.Error {
	for pattern, effect := range s.Effects {
		if !slices.Contains([]string{effectRead, effectIdempotent, effectOnce}, effect) {
			return sdk.Invalid("/effects"+sdk.Pointer(pattern), "must be read, idempotent or once; got %q", effect)
		}
	}
	if d, err := time.ParseDuration(s.Timeout); s.Timeout != "" && (err != nil || d <= 0 || d > 24*time.Hour) {
		return sdk.Invalid("/timeout", "must be a duration of at most 24h, such as 5m; got %q", s.Timeout)
	}
	return nil
}

// actions are the tools that the settings take, and what could not be expressed.
func (s Settings) actions(document toolsDocument) (made []action, warnings []sdk.Problem) {
	taken := map[string]string{}
	tools := slices.SortedFunc(slices.Values(document.Tools), func(a, b tool) int { return cmp.Compare(a.Name, b.Name) })
	for _, t := range tools {
		fits := func(pattern string) bool { return naming.Matches(pattern, t.Name) }
		if len(s.Only) > 0 && !slices.ContainsFunc(s.Only, fits) || slices.ContainsFunc(s.Except, fits) {
			continue
		}
		a, err := s.action(t)
		if err == nil && taken[a.entry.Name] != "" {
			err = fmt.Errorf("its name is that of %s as an action", taken[a.entry.Name])
		}
		if err != nil {
			warnings = append(warnings, sdk.Warningf("/tools", "the tool %s is left out: %v", sdk.Shown(t.Name, 100), err))
			continue
		}
		taken[a.entry.Name] = t.Name
		made = append(made, a)
	}
	return made, warnings
}

func (s Settings) action(t tool) (action, error) {
	name := naming.Action(t.Name)
	if name == "" || len(name) > naming.Max {
		return action{}, fmt.Errorf("its name makes no name of an action of at most %d letters", naming.Max)
	}
	input, err := inputOf(t.InputSchema, s.Secrets[t.Name])
	if err != nil {
		return action{}, fmt.Errorf("its input: %w", err)
	}
	a := action{tool: t, input: input, recipe: recipe{Tool: t.Name, Data: !sdk.IsNull(t.OutputSchema)}}
	if a.output, err = outputOf(t.OutputSchema); err != nil {
		return action{}, fmt.Errorf("its output: %w", err)
	}
	a.recipe.Sample = sampleOf(t.OutputSchema)
	effects := map[string]sdk.Effect{effectRead: sdk.EffectRead, effectIdempotent: sdk.EffectIdempotent, effectOnce: sdk.EffectOnce}
	a.entry = sdk.Entry{Name: name, Doc: docOf(t), Effect: effects[s.effect(t)]}
	if d, err := time.ParseDuration(s.Timeout); err == nil {
		a.entry.Options = append(a.entry.Options, sdk.Timeout(d))
	}
	return a, nil
}

// effect is what the settings say of a tool, the strictest of several patterns, else what
// its server's hints do.
func (s Settings) effect(t tool) string {
	order := []string{effectRead, effectIdempotent, effectOnce}
	strictest := -1
	for _, pattern := range slices.Sorted(maps.Keys(s.Effects)) {
		if pattern == t.Name {
			return s.Effects[pattern]
		}
		if naming.Matches(pattern, t.Name) {
			strictest = max(strictest, slices.Index(order, s.Effects[pattern]))
		}
	}
	switch {
	case strictest >= 0:
		return order[strictest]
	case s.Trust != nil && !*s.Trust, t.Annotations == nil:
		return effectOnce
	case t.Annotations.ReadOnly:
		return effectRead
	case t.Annotations.Idempotent:
		return effectIdempotent
	}
	return effectOnce
}

// docOf is one line about a tool.
func docOf(t tool) string {
	title := ""
	if t.Annotations != nil {
		title = t.Annotations.Title
	}
	line, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(t.Description, t.Title, title, t.Name)), "\n")
	return sdk.Shown(strings.TrimSpace(line), 300)
}

// inputOf is the schema of what a tool takes, closed: an argument that it does not declare
// is a mistake.
func inputOf(schema sdk.Value, secrets []string) (sdk.Value, error) {
	if sdk.IsNull(schema) {
		schema = sdk.Value(`{"type":"object"}`)
	}
	members, ok := sdk.ReadMembers(schema)
	if !ok {
		return nil, errors.New("its schema is no object")
	}
	kept := make(sdk.Members, 0, len(members)+2)
	for _, member := range members {
		if member.Name != "$schema" && member.Name != "$id" {
			kept = append(kept, member)
		}
	}
	if kept.Get("type") == nil {
		kept = kept.With("type", sdk.Text("object"))
	}
	if kept.Get("properties") == nil {
		kept = kept.With("properties", sdk.Value("{}"))
	}
	if extra := kept.Get("additionalProperties"); extra == nil || string(extra) == "{}" && string(kept.Get("properties")) != "{}" {
		kept = kept.With("additionalProperties", sdk.Value("false"))
	}
	properties, _ := sdk.ReadMembers(kept.Get("properties"))
	for _, name := range secrets {
		of, ok := sdk.ReadMembers(properties.Get(name))
		if !ok {
			return nil, fmt.Errorf("it has no argument %s, which the settings call a secret", name)
		}
		properties = properties.With(name, of.With("writeOnly", sdk.Value("true")).JSON())
		kept = kept.With("properties", properties.JSON())
	}
	closed := kept.JSON()
	_, err := sdk.ParseSchema(closed)
	return closed, err
}

// contentSchema is one block of an answer.
const contentSchema = `{"oneOf":[
{"type":"object","required":["type","text"],"properties":{"type":{"const":"text"},"text":{"type":"string"}}},
{"type":"object","required":["type","mime_type","base64"],"properties":{"type":{"enum":["image","audio"]},"mime_type":{"type":"string"},"base64":{"type":"string","description":"Its bytes"}}},
{"type":"object","required":["type","uri"],"properties":{"type":{"const":"resource"},"uri":{"type":"string"},"mime_type":{"type":["string","null"]},"text":{"type":["string","null"]},"base64":{"type":["string","null"]}}},
{"type":"object","required":["type","uri","name"],"properties":{"type":{"const":"resource_link"},"uri":{"type":"string"},"name":{"type":"string"},"mime_type":{"type":["string","null"]},"size":{"type":["integer","null"],"description":"Bytes"}}}]}`

// outputOf is the schema of what an action gives: the texts of the answer, its blocks, and
// what the tool's own schema describes.
func outputOf(schema sdk.Value) (sdk.Value, error) {
	properties := sdk.Members{
		{Name: "text", Value: sdk.Value(`{"type":"string","default":"","description":"The texts of the answer, one behind the other"}`)},
		{Name: "content", Value: sdk.Value(`{"type":"array","default":[],"description":"The blocks of the answer","items":` + contentSchema + `}`)},
	}
	required := []string{"text", "content"}
	if !sdk.IsNull(schema) {
		members, ok := sdk.ReadMembers(schema)
		if !ok {
			return nil, errors.New("its schema is no object")
		}
		kept := make(sdk.Members, 0, len(members))
		for _, member := range members {
			if member.Name != "$schema" && member.Name != "$id" {
				kept = append(kept, member)
			}
		}
		properties = append(properties, sdk.Member{Name: "data", Value: content.Narrowed(content.JSON, kept.JSON(), "/properties/data")})
		required = append(required, "data")
	}
	output := sdk.Members{{Name: "type", Value: sdk.Text("object")}, {Name: "required", Value: sdk.JSON(required)}, {Name: "properties", Value: properties.JSON()}}.JSON()
	_, err := sdk.ParseSchema(output)
	return output, err
}

// sampleOf is the answer of a tool in a sandbox.
func sampleOf(schema sdk.Value) sdk.Value {
	sample := sdk.Members{{Name: "text", Value: sdk.Text("")}, {Name: "content", Value: sdk.Value("[]")}}
	if !sdk.IsNull(schema) {
		data := content.Sample(schema)
		sample = sdk.Members{{Name: "text", Value: sdk.Text(string(data))}, {Name: "content", Value: sdk.Value(`[{"type":"text","text":` + string(sdk.Text(string(data))) + `}]`)}, {Name: "data", Value: data}}
	}
	return sample.JSON()
}

// body is the rest of an action.
func (a action) body() (sdk.ActionBody, error) {
	text, err := json.Marshal(a.recipe)
	if err != nil {
		return sdk.ActionBody{}, fmt.Errorf("encode the recipe of %s: %w", a.tool.Name, err)
	}
	return sdk.ActionBody{Input: a.input, Output: a.output, Recipe: text, Options: []sdk.ActionOption{
		sdk.Fault(sdk.CodeInternal, reasonTool, "The tool says that it failed; the message is its own."),
		sdk.Fault(sdk.CodeNotFound, reasonNoTool, "The server has no such tool any more: capture its tools anew."),
		sdk.Fault(sdk.CodeUnavailable, "", "The server did not start, ended, or can't be reached."),
	}}, nil
}
