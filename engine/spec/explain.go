package spec

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
)

// KeyDoc is a key of the language as a person reads of it.
type KeyDoc struct {
	Path     string   `json:"path"`           // where it stands, from the top: "steps.retry.attempts"; NAME is a name that the author chooses
	Also     []string `json:"also,omitempty"` // where it stands besides
	Value    string   `json:"value"`          // what it may be: "an integer from 1 to 1000"
	Words    []string `json:"words,omitempty"`
	Least    *float64 `json:"least,omitempty"` // of numbers, and in seconds of durations
	Most     *float64 `json:"most,omitempty"`
	Default  string   `json:"default,omitempty"`
	Required bool     `json:"required"`
	Kinds    []string `json:"kinds,omitempty"` // of steps, triggers or schemas that have it; empty = all
	Doc      string   `json:"doc"`
	Example  string   `json:"example,omitempty"`
	Keys     []string `json:"keys,omitempty"` // what a map has
	Page     string   `json:"page"`
}

// page is the page of the language.
const page = "docs/language.md"

// Explain returns the keys that a path names, in the order of the table: a key alone, or with those around it ("retry.attempts"). A name that
// the author chooses may stand for NAME ("triggers.nightly.jitter"). It is nil when there is none.
func (l *Language) Explain(path string) []KeyDoc {
	var docs []KeyDoc
	for i := range l.Maps {
		from := &l.Maps[i]
		if !from.hasSection() {
			continue
		}
		names := path
		if action, isWith := from.ofAction(); isWith {
			names = strings.TrimPrefix(path, action+".")
		}
		for _, found := range l.resolve(from, strings.Split(names, ".")) {
			if found.key.Name == "" && found.key.Doc == "" && found.key.Map == "" {
				continue // a name that the author chooses, of which nothing is to be said
			}
			if doc := l.doc(found.in, found.key, path); !slices.ContainsFunc(docs, func(d KeyDoc) bool { return d.Path == doc.Path && d.Value == doc.Value }) {
				docs = append(docs, doc)
			}
		}
	}
	return docs
}

// Near returns the path that is most like one that Explain does not know, "" when none is.
func (l *Language) Near(path string) string {
	var tails []string
	parts := strings.Count(path, ".") + 1
	for i := range l.Maps {
		for j := range l.Maps[i].Keys {
			for _, whole := range l.paths(&l.Maps[i], &l.Maps[i].Keys[j]) {
				names := strings.Split(whole, ".")
				tails = append(tails, strings.Join(names[max(0, len(names)-parts):], "."))
			}
		}
	}
	return diag.Nearest(path, tails)
}

// ofAction returns the action whose `with` the map is.
func (m *Map) ofAction() (string, bool) { return strings.CutPrefix(m.Name, "with ") }

// member is a key with the map that has it.
type member struct {
	in  *Map
	key *Key
}

// resolve follows names from a map on.
func (l *Language) resolve(from *Map, names []string) []member {
	var found []member
	for _, key := range from.members(names[0]) {
		next := l.below(key)
		switch {
		case len(names) == 1:
			found = append(found, member{from, key})
		case next != nil:
			found = append(found, l.resolve(next, names[1:])...)
		}
	}
	return found
}

// members are the keys that a name stands for.
func (m *Map) members(name string) []*Key {
	if m.Each != nil {
		return []*Key{m.Each}
	}
	var keys []*Key
	for i := range m.Keys {
		if m.Keys[i].Name == name {
			keys = append(keys, &m.Keys[i])
		}
	}
	return keys
}

// below is the map that a key's value is, or that each of its items is.
func (l *Language) below(key *Key) *Map {
	if key.Items != nil && key.Items.Map != "" {
		return l.Map(key.Items.Map)
	}
	return l.Map(key.Map)
}

// doc describes a key. asked is the path by which it was asked for: it comes first where it is whole.
func (l *Language) doc(in *Map, key *Key, asked string) KeyDoc {
	paths := l.paths(in, key)
	if at := slices.Index(paths, asked); at > 0 {
		paths = append([]string{asked}, slices.Delete(paths, at, at+1)...)
	}
	doc := KeyDoc{
		Path: paths[0], Also: paths[1:], Value: key.Value(), Default: key.Default, Required: key.Needed, Kinds: key.Kinds,
		Doc: key.Doc, Example: key.Example, Page: page + "#" + l.sectionOf(in).anchor(),
	}
	if key.Makes != "" {
		doc.Kinds = append([]string{key.Makes}, key.Kinds...)
	}
	if key.Type == Word {
		doc.Words = key.Values
	}
	if key.Most != 0 {
		doc.Least, doc.Most = &key.Least, &key.Most
	} else if key.Least != 0 {
		doc.Least = &key.Least
	}
	below := l.below(key)
	switch {
	case doc.Doc == "" && below != nil:
		doc.Doc = below.Doc
	case doc.Doc == "":
		doc.Doc = in.Doc
	}
	if below != nil {
		doc.Keys = below.KeyNames("")
	}
	return doc
}

// sectionOf is the map whose section of the page has what is to be said of a map: its own, or that of the key that it is the value of.
func (l *Language) sectionOf(m *Map) *Map {
	for i := range l.Maps {
		if m.hasSection() {
			break
		}
		for j := range l.Maps[i].Keys {
			if l.below(&l.Maps[i].Keys[j]) == m {
				return l.sectionOf(&l.Maps[i])
			}
		}
	}
	return m
}

// paths are the ways from the top to a key, the shortest first. Through lists of steps they lead by `steps` alone.
func (l *Language) paths(in *Map, key *Key) []string {
	name := key.Name
	if name == "" {
		name = "NAME"
	}
	var all []string
	for _, way := range l.ways(in, nil) {
		all = append(all, strings.TrimPrefix(way+"."+name, "."))
	}
	slices.SortStableFunc(all, func(a, b string) int { return length(a) - length(b) })
	return slices.Compact(all)
}

// length orders paths: the shortest first, and of equally long ones that of a step.
func length(path string) int {
	n := 2 * strings.Count(path, ".")
	if !strings.HasPrefix(path, "steps.") {
		n++
	}
	return n
}

// ways are the paths of a map, none of which enters a map twice.
func (l *Language) ways(to *Map, within []*Map) []string {
	if to == &l.Maps[0] {
		return []string{""}
	}
	if action, isWith := to.ofAction(); isWith {
		return []string{"." + action}
	}
	within = append(within, to)
	var all []string
	for i := range l.Maps {
		in := &l.Maps[i]
		if slices.Contains(within, in) {
			continue
		}
		keys := in.Keys
		if in.Each != nil {
			keys = []Key{*in.Each}
			keys[0].Name = "NAME"
		}
		for j := range keys {
			if l.below(&keys[j]) != to || to.Name == "step" && keys[j].Name != "steps" {
				continue
			}
			for _, way := range l.ways(in, within) {
				all = append(all, way+"."+keys[j].Name)
			}
		}
	}
	return all
}

// Value says what the key's value may be: "an integer from 1 to 1000 or a map".
func (k *Key) Value() string {
	var forms []string
	switch k.Type {
	case Text, Named:
		forms = append(forms, "text")
	case Template:
		forms = append(forms, "text with `${{ }}`")
	case Expression:
		forms = append(forms, "one `${{ }}`")
	case Condition:
		forms = append(forms, "a condition")
	case Word:
		words := "`" + strings.Join(k.Values, "`, `") + "`"
		if at := strings.LastIndex(words, ", "); at > 0 {
			words = words[:at] + " or " + words[at+2:]
		}
		if len(k.Values) > 7 {
			words = k.What
		}
		forms = append(forms, words)
	case Integer:
		forms = append(forms, "an integer"+k.bounds())
	case Number:
		forms = append(forms, "a number"+k.bounds())
	case Duration:
		text := "a duration"
		if k.Least != 0 {
			text += " of at least " + format(k.Least) + "s"
		}
		forms = append(forms, text)
	case Secret:
		forms = append(forms, "`${{ secrets.NAME }}`")
	case Anything:
		return "any value"
	}
	if k.Map != "" {
		forms = append(forms, "a map")
	}
	if k.Items != nil {
		switch item := k.Items.Value(); {
		case k.Items.Map == "step":
			forms = append(forms, "a list of steps")
		case k.Type == k.Items.Type:
			forms = append(forms, "a list of such")
		case k.Items.Type == Anything:
			forms = append(forms, "a list")
		default:
			forms = append(forms, "a list of "+item)
		}
	}
	return strings.Join(forms, ", or ")
}

// bounds are those of a number; such as no number reaches are not said.
func (k *Key) bounds() string {
	if k.Most == 0 || k.Most > 1e18 {
		return ""
	}
	return " from " + format(k.Least) + " to " + format(k.Most)
}

func format(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
