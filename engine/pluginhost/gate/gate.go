// Package gate is the one way by which anything that a plugin says comes into the
// engine: the messages of all calls, the gRPC statuses, the lines of its streams.
// Each field of the protocol has a row in a table that says what it is; the walk goes
// by the descriptor, so that a field can't be forgotten: known secrets are masked in
// all their forms, documents are JSON that all read alike
// (ADR 27). What is stored has its quotas before (pluginhost/quotas.go).
package gate

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Options is what a Gate takes from its surroundings.
type Options struct {
	// Redact masks the known secrets of a text in all their forms; nil = there are none.
	Redact func(text string) string
	// Digest makes a keyed digest of a text, the same for the same text for good. nil =
	// a key that holds a secret is refused.
	Digest func(text string) (string, error)
}

// Gate passes what plugins say. Safe for concurrent use.
type Gate struct {
	redact func(string) string
	digest func(string) (string, error)
	walks  func() map[protoreflect.FullName]*walk // made with the first message: most commands get none
}

// New returns a gate for the protocol as it is.
func New(o Options) *Gate {
	g := &Gate{redact: o.Redact, digest: o.Digest}
	if g.redact == nil {
		g.redact = func(text string) string { return text }
	}
	g.walks = sync.OnceValue(func() map[protoreflect.FullName]*walk {
		return walksOf(pluginv1.File_flowrun_plugin_v1_plugin_proto, Table())
	})
	return g
}

// Fault says which field of a message can't be taken, and why.
type Fault struct {
	Path   string // of the field, from the message: completed.output.json
	Why    string
	Secret bool // it holds a known secret where none may be
}

// Error tells the field and what is wrong with it.
func (f *Fault) Error() string { return "`" + f.Path + "`: " + f.Why }

// Message passes a message that a plugin sent, and changes it in its place. The error
// is a *Fault: then nothing of the message may be used.
func (g *Gate) Message(m proto.Message) error {
	reflected := m.ProtoReflect()
	w := g.walks()[reflected.Descriptor().FullName()]
	if w == nil {
		return &Fault{Path: string(reflected.Descriptor().FullName()), Why: "the protocol has no such message"}
	}
	if fault := g.pass(reflected, w); fault != nil {
		return fault
	}
	return nil
}

func (g *Gate) pass(m protoreflect.Message, w *walk) *Fault {
	if len(m.GetUnknown()) > 0 {
		m.SetUnknown(nil) // of a later minor version: nobody reads it
	}
	for i := range w.steps { // numbers, times and words of an enum have none
		step := &w.steps[i]
		field := step.field
		if !m.Has(field) {
			continue
		}
		var fault *Fault
		if step.message != nil {
			fault = g.messages(m.Get(field), field, step)
		} else {
			fault = g.leaves(m, field, m.Get(field), step)
		}
		if fault != nil {
			fault.Path = strings.TrimSuffix(string(field.Name())+"."+fault.Path, ".")
			return fault
		}
	}
	return nil
}

func (g *Gate) messages(value protoreflect.Value, field protoreflect.FieldDescriptor, step *step) *Fault {
	if !field.IsList() {
		return g.pass(value.Message(), step.message)
	}
	list := value.List()
	for i := range list.Len() {
		if fault := g.pass(list.Get(i).Message(), step.message); fault != nil {
			fault.Path = g.element(list.Get(i).Message(), i) + "." + fault.Path
			return fault
		}
	}
	return nil
}

// element names one message of a list for people: by its own name where it has one.
func (g *Gate) element(m protoreflect.Message, index int) string {
	if field := m.Descriptor().Fields().ByName("name"); field != nil && m.Get(field).String() != "" {
		return Clip(g.Text(m.Get(field).String()), 100)
	}
	return strconv.Itoa(index)
}

func (g *Gate) leaves(m protoreflect.Message, field protoreflect.FieldDescriptor, value protoreflect.Value, step *step) *Fault {
	if field.IsList() {
		list := value.List()
		for i := range list.Len() {
			passed, changed, fault := g.leaf(list.Get(i), field.Kind(), step)
			if fault != nil {
				return fault
			}
			if changed {
				list.Set(i, passed)
			}
		}
		return nil
	}
	passed, changed, fault := g.leaf(value, field.Kind(), step)
	if fault == nil && changed {
		m.Set(field, passed)
	}
	return fault
}

// leaf passes one text or one run of bytes.
func (g *Gate) leaf(value protoreflect.Value, kind protoreflect.Kind, step *step) (passed protoreflect.Value, changed bool, fault *Fault) {
	if kind == protoreflect.StringKind {
		text := value.String()
		taken, fault := g.text(text, step)
		return protoreflect.ValueOfString(taken), taken != text, fault
	}
	data := value.Bytes()
	taken, fault := g.bytes(data, step)
	changed = len(taken) != len(data) || len(data) > 0 && &taken[0] != &data[0]
	return protoreflect.ValueOfBytes(taken), changed, fault
}

func (g *Gate) text(text string, step *step) (string, *Fault) {
	switch step.kind {
	case Text:
		return g.cut(g.Text(text), step), nil
	case Name:
		return text, g.name(text)
	case Key:
		return g.key(text)
	case Opaque, Cursor, Credential, Outbound:
		return text, nil
	}
	return text, errNoRow()
}

func (g *Gate) bytes(data []byte, step *step) ([]byte, *Fault) {
	switch step.kind {
	case Said:
		return g.Said(data), nil
	case Opaque, Outbound:
		return data, nil
	case Recipe:
		return data, g.recipe(data)
	case Document, Schema, Sample:
		if why := DocumentFault(data); len(data) > 0 && why != "" {
			return data, &Fault{Why: why}
		}
	default:
		return data, errNoRow()
	}
	switch step.kind { // of JSON that all read alike
	case Schema:
		return data, g.schema(data)
	case Sample:
		return g.Mask(data), nil
	}
	return data, nil
}

// errNoRow is for a field that the table forgot, or whose row does not fit it: what
// nobody has judged does not come in.
func errNoRow() *Fault { return &Fault{Why: "nothing is known of this field"} }

// Text masks the known secrets of a text, and makes it one where it is none.
func (g *Gate) Text(text string) string {
	if text == "" {
		return text
	}
	return g.redact(strings.ToValidUTF8(text, "\uFFFD"))
}

// Holds reports whether a text holds a known secret.
func (g *Gate) Holds(text string) bool { return text != "" && g.redact(text) != text }

// cut keeps what a text may have. It is cut behind the mask: a secret that was cut in
// two would be known by nobody.
func (g *Gate) cut(text string, step *step) string {
	if step.limit <= 0 {
		return text
	}
	return Clip(text, step.limit)
}

// Clip cuts text to at most limit bytes at a character's border.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// name refuses a known secret where a plugin names something: a masked name would be
// another one. A name that is nothing but a short word hides none: a secret such as
// "password" must not take away each plugin that has a field of this name.
func (g *Gate) name(text string) *Fault {
	if isWord(text) || !g.Holds(text) {
		return nil
	}
	return &Fault{Why: "it holds the value of a secret", Secret: true}
}

// longestWord is the most letters of a word that is taken for no secret.
const longestWord = 15

func isWord(text string) bool {
	if len(text) > longestWord {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }) < 0
}

// ownWords finds the words that stand alone in a text.
var ownWords = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b[a-z_]{1,15}\b`) })

// recipe refuses a known secret in what is kept with a description, but for words, as
// name does: a recipe has the names of fields in it.
func (g *Gate) recipe(data []byte) *Fault {
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	if !g.Holds(text) {
		return nil
	}
	text = ownWords().ReplaceAllStringFunc(text, func(word string) string {
		if g.Holds(word) {
			return "."
		}
		return word
	})
	if !g.Holds(text) {
		return nil
	}
	return &Fault{Why: "it holds the value of a secret", Secret: true}
}

// key replaces a key of a stored row that holds a known secret: keys stand in clear.
func (g *Gate) key(text string) (string, *Fault) {
	if !g.Holds(text) {
		return text, nil
	}
	if g.digest != nil {
		if digest, err := g.digest(text); err == nil {
			return "digest:" + digest, nil
		}
	}
	return text, &Fault{Why: "it holds the value of a secret", Secret: true}
}

// Status passes the end of a call that a plugin gave no answer to: its code stays, its
// message is a text like any other, and its details, which nobody reads, are gone.
// Other errors are the host's own.
func (g *Gate) Status(err error) error {
	var fault *Fault
	if err == nil || errors.Is(err, io.EOF) || errors.As(err, &fault) {
		return err
	}
	state, is := status.FromError(err)
	if !is {
		return err
	}
	message := Clip(g.Text(state.Message()), maxText)
	if message == state.Message() && len(state.Proto().GetDetails()) == 0 {
		return err
	}
	return status.Error(state.Code(), message)
}
