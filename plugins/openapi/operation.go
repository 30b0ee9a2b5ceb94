package openapi

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/naming"
	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// Operation is an operation of a service, as lists show it.
type Operation struct {
	Name       string // of the action
	ID         string // operationId, "" = it has none
	Method     string
	Path       string
	Tags       []string
	Doc        string // one line
	Deprecated string // what to use instead, "" = it is not deprecated
	Extension         // of the document, with the rules of the settings over it

	node, item *tree.Node // the operation, and the path item that it stands in
	place      string     // of the operation
	order      int        // of the operation in the document
}

// methods are those of operations that become actions.
var methods = []string{"get", "head", "put", "delete", "post", "patch"}

// taken reports whether one of the patterns takes the operation.
func (o *Operation) taken(pattern string) bool {
	pattern = strings.TrimSpace(pattern)
	if tag, ok := strings.CutPrefix(pattern, "tag:"); ok {
		return slices.ContainsFunc(o.Tags, func(t string) bool { return naming.Matches(tag, t) })
	}
	return o.ID != "" && naming.Matches(pattern, o.ID) || o.Name != "" && naming.Matches(pattern, o.Name) || naming.Matches(pattern, o.Path) || naming.Matches(pattern, o.Method+" "+o.Path)
}

// EffectWord is what a second call would do: as the settings or the document say, else by
// the method. GET and HEAD read, PUT and DELETE leave the same state, and of POST and
// PATCH nothing is known.
func (o *Operation) EffectWord() string {
	if o.Effect != "" {
		return o.Effect
	}
	switch o.Method {
	case http.MethodGet, http.MethodHead:
		return effectRead
	case http.MethodPut, http.MethodDelete:
		return effectIdempotent
	}
	return effectOnce
}

// The effects of actions.
const (
	effectRead       = "read"
	effectIdempotent = "idempotent"
	effectKeyed      = "keyed"
	effectOnce       = "once"
)

// keyHeader is the header that carries the idempotency key, "" for none.
func (o *Operation) keyHeader() string {
	if o.EffectWord() != effectKeyed {
		return ""
	}
	return cmp.Or(o.KeyHeader, "Idempotency-Key")
}

// operations reads the index of a document: all operations that could be actions, with
// names of their own.
func (d *document) operations() []*Operation {
	var list []*Operation
	for _, path := range d.root.Get("paths").Members() {
		place := child("/paths", path.Name)
		if strings.HasPrefix(path.Name, "x-") {
			continue
		}
		item, itemPlace := d.deref(path.Value, place)
		for _, member := range item.Members() {
			list = d.operation(list, path.Name, member, item, itemPlace)
		}
	}
	if d.root.Get("webhooks").IsObject() {
		d.notes.add("/webhooks", "what the service sends is no action; take it in with a webhook trigger")
	}
	name(list)
	return list
}

// operation adds one operation of a path item, if the member is one.
func (d *document) operation(list []*Operation, path string, member tree.Member, item *tree.Node, place string) []*Operation {
	at := child(place, member.Name)
	switch {
	case slices.Contains(methods, member.Name):
	case member.Name == "options" || member.Name == "trace":
		d.notes.add(at, "the method %s is no action", strings.ToUpper(member.Name))
		return list
	default:
		return list
	}
	node := member.Value
	o := &Operation{
		ID: node.Get("operationId").Text(), Method: strings.ToUpper(member.Name), Path: path, Tags: node.Get("tags").Texts(),
		Doc: cmp.Or(firstLine(node.Get("summary").Text()), firstLine(node.Get("description").Text())), node: node, item: item, place: at,
	}
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#") {
		d.notes.add(at, "the operation is left out: its path has a query or a fragment, or does not begin with a slash")
		return list
	}
	if o.Doc == "" {
		o.Doc = o.Method + " " + sdk.Shown(path, 150)
	}
	if node.Get("deprecated").True() {
		o.Deprecated = "the service's document calls it deprecated"
		if url := node.Get("externalDocs").Get("url").Text(); url != "" {
			o.Deprecated += ": see " + sdk.Shown(url, 200)
		}
	}
	o.Extension = d.extension(node, at)
	o.Doc = cmp.Or(sdk.Shown(o.Extension.Doc, maxDoc), o.Doc)
	o.order = len(list)
	return append(list, o)
}

// extension reads the words x-flowrun-NAME of an operation.
func (d *document) extension(node *tree.Node, place string) Extension {
	said := tree.Object{}
	for _, member := range node.Members() {
		word, ok := strings.CutPrefix(member.Name, "x-flowrun-")
		if ok {
			said = append(said, tree.Field{Name: strings.ReplaceAll(word, "-", "_"), Value: member.Value.JSON()})
		}
	}
	if len(said) == 0 {
		return Extension{}
	}
	e, err := readExtension(said.JSON())
	if err != nil {
		d.notes.add(place, "the words x-flowrun-... are not read: %v", err)
	}
	return e
}

// name gives each operation a name that no other has. Names follow from operationId, or
// from method and path; where several are the same, each has a mark of its method and
// path, so that no name depends on the order of the document.
func name(list []*Operation) {
	wanted := map[string][]*Operation{}
	for _, o := range list {
		base := cmp.Or(o.Extension.Name, naming.Action(o.ID), nameOfPath(o.Method, o.Path))
		o.Name = fitted(base, o.Method, o.Path)
		wanted[o.Name] = append(wanted[o.Name], o)
	}
	for _, base := range slices.Sorted(maps.Keys(wanted)) {
		same := wanted[base]
		if len(same) == 1 {
			continue
		}
		for _, o := range same {
			o.Name = strings.TrimRight(base[:min(len(base), naming.Max-7)], "_") + "_" + mark(o.Method, o.Path)
		}
	}
}
