package openapi

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// response is a documented answer of an operation.
type response struct {
	status string
	node   *tree.Node
	place  string
	media  string     // of its content, "" = it has none
	schema *tree.Node // of its content
	kind   string
}

// responses are the documented answers of an operation.
func (d *document) responses(o *Operation) []response {
	var all []response
	for _, member := range o.node.Get("responses").Members() {
		if strings.HasPrefix(member.Name, "x-") {
			continue
		}
		node, place := d.deref(member.Value, child(o.place, "responses", member.Name))
		r := response{status: strings.ToUpper(member.Name), node: node, place: place, kind: recipe.AnswerNone}
		if r.status == "DEFAULT" {
			r.status = "default"
		}
		if r.status != "204" && r.status != "205" && !node.Get("content").IsObject() {
			r.kind = recipe.AnswerAny
		}
		for _, content := range node.Get("content").Members() {
			kind := answerKind(content.Name)
			if r.media != "" && (rank(kind) > rank(r.kind) || rank(kind) == rank(r.kind) && baseMedia(content.Name) != "application/json") {
				continue
			}
			r.media, r.kind, r.schema = content.Name, kind, content.Value.Get("schema")
		}
		all = append(all, r)
	}
	return all
}

func answerKind(media string) string {
	switch {
	case isJSON(media), strings.Contains(media, "*"):
		return recipe.AnswerJSON
	case isText(media):
		return recipe.AnswerText
	}
	return recipe.AnswerBytes
}

func rank(kind string) int {
	return slices.Index([]string{recipe.AnswerJSON, recipe.AnswerText, recipe.AnswerBytes, recipe.AnswerNone, recipe.AnswerAny}, kind)
}

// successes are the answers that an operation succeeds with: those of 2xx, else the
// default.
func successes(all []response) []response {
	var good []response
	for _, r := range all {
		if strings.HasPrefix(r.status, "2") {
			good = append(good, r)
		}
	}
	if len(good) == 0 {
		for _, r := range all {
			if r.status == "default" {
				good = append(good, r)
			}
		}
	}
	return good
}

// output writes the schema of what an operation gives: that of its success, of several
// one of them.
func (s *schemas) output(o *Operation, r *recipe.Recipe) tree.Object {
	good := successes(s.responses(o))
	var choices []tree.Object
	var accept []string
	for _, answer := range good {
		if o.Method == http.MethodHead {
			answer.kind = recipe.AnswerNone
		}
		r.Answers = append(r.Answers, recipe.Answer{Status: answer.status, Kind: answer.kind})
		if answer.media != "" && !slices.Contains(accept, answer.media) {
			accept = append(accept, answer.media)
		}
		written := s.answer(answer, o)
		same := func(other tree.Object) bool { return bytes.Equal(other.JSON(), written.JSON()) }
		if !slices.ContainsFunc(choices, same) {
			choices = append(choices, written)
		}
		for _, content := range answer.node.Get("content").Members() {
			if answerKind(content.Name) != answer.kind {
				s.notes.add(child(answer.place, "content", content.Name), "is not asked for: %s is", answer.media)
			}
		}
	}
	if len(accept) != 1 || baseMedia(accept[0]) != "application/json" {
		r.Accept = strings.Join(accept, ", ")
	}
	switch len(choices) {
	case 0:
		if o.Method == http.MethodHead {
			return tree.Object{{Name: "type", Value: sdk.Value(`"null"`)}}
		}
		r.Answers = []recipe.Answer{{Status: "default", Kind: recipe.AnswerAny}}
		s.notes.add(child(o.place, "responses"), "no success is documented: the output is any value")
		return tree.Object{}
	case 1:
		return choices[0]
	}
	var texts []sdk.Value
	for _, choice := range choices {
		texts = append(texts, choice.JSON())
	}
	return tree.Object{{Name: "anyOf", Value: tree.List(texts)}}
}

// answer writes the schema of one answer.
func (s *schemas) answer(r response, o *Operation) tree.Object {
	switch r.kind {
	case recipe.AnswerAny:
		return tree.Object{}
	case recipe.AnswerNone:
		return tree.Object{{Name: "type", Value: sdk.Value(`"null"`)}}
	case recipe.AnswerText:
		return tree.Object{{Name: "type", Value: sdk.Value(`"string"`)}}
	case recipe.AnswerBytes:
		return tree.Object{{Name: "type", Value: sdk.Value(`"string"`)}, {Name: "contentEncoding", Value: sdk.Value(`"base64"`)}}
	}
	schema, place := r.schema, child(r.place, "content", r.media, "schema")
	if o.Envelope != nil && o.Envelope.Data != "" {
		inner, at := s.inside(schema, place, o.Envelope.Data)
		if inner == nil {
			s.notes.add(place, "the envelope's data (%s) is not in this schema: the output is any value", o.Envelope.Data)
		}
		schema, place = inner, at
	}
	return s.of(schema, place)
}

// inside finds the schema of a part of a value, by a JSON Pointer into the value.
func (d *document) inside(n *tree.Node, place, pointer string) (*tree.Node, string) {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		if n, place = d.field(n, place, token, 0); n == nil {
			return nil, place
		}
	}
	return n, place
}

// maxChoices bounds how deep allOf lies in each other where a field is looked for.
const maxChoices = 16

// field finds the schema of a member of an object, in allOf too.
func (d *document) field(n *tree.Node, place, name string, depth int) (*tree.Node, string) {
	n, place = d.deref(n, place)
	if found := n.Get("properties").Get(name); found != nil {
		return d.deref(found, child(place, "properties", name))
	}
	if depth > maxChoices {
		return nil, place
	}
	for i, part := range n.Get("allOf").Items() {
		if found, at := d.field(part, child(place, "allOf", i), name, depth+1); found != nil {
			return found, at
		}
	}
	return nil, place
}

// fields are the members that an object is said to have, in allOf too.
func (d *document) fields(n *tree.Node, place string, depth int) []tree.Member {
	n, place = d.deref(n, place)
	all := slices.Clone(n.Get("properties").Members())
	if depth > maxChoices {
		return all
	}
	for i, part := range n.Get("allOf").Items() {
		all = append(all, d.fields(part, child(place, "allOf", i), depth+1)...)
	}
	return all
}

// faults are the failures of an operation: those of the settings, and the documented
// ones.
func (d *document) faults(o *Operation) []Fault {
	var all []Fault
	for _, f := range o.Faults {
		all = append(all, Fault{
			Status: f.Status, Code: codeOf(f), Reason: f.Reason, Input: f.Input, Doc: cmp.Or(f.Doc, usualDoc(f)),
			general: f.Status == 0 || f.Status == http.StatusInternalServerError,
		})
	}
	for _, r := range d.responses(o) {
		status := statusOf(r.status)
		said := slices.ContainsFunc(o.Faults, func(f FaultRule) bool { return f.Status == status })
		if status < 400 || said {
			continue
		}
		doc := cmp.Or(firstLine(r.node.Get("description").Text()), "The service says "+statusText(status)+".")
		all = append(all, Fault{Status: status, Code: sdk.CodeOfStatus(status), Doc: doc + " (" + r.status + ")"})
	}
	return all
}
