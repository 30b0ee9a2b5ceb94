package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
)

// Fits reports whether a value of type t may stand where `into` is expected, as
// far as can be said before it is known: nil when it may, else what is wrong.
// Any fits everything; it is checked when the value is known. An integer fits a
// number, text fits an enum, a pattern, a time and a duration (checked when
// known), and nothing else converts.
func (t *Type) Fits(into *Type) *Misfit {
	f := fitting{}
	return f.fits(t, into)
}

// SurelyFits is Fits for who wants to know before the run: a part of which
// nothing is known does not fit where a type is expected, nor does an object of
// any names where names are declared. The whole may be of any type.
func (t *Type) SurelyFits(into *Type) *Misfit {
	f := fitting{sure: true}
	return f.fits(t, into)
}

type fitting struct {
	path     path
	sure     bool
	inSecret int // objects around that are secret as a whole
}

func (f *fitting) misfit(hint diag.Hint, format string, args ...any) *Misfit {
	return &Misfit{Pointer: f.path.pointer(), Message: fmt.Sprintf(format, args...), Hint: hint}
}

func (f *fitting) fits(t, into *Type) *Misfit {
	if m := f.secrets(t, into); m != nil || t.Secret {
		return m
	}
	switch {
	case !t.Known() && f.sure && into.Known() && len(f.path) > 0 && !f.secretsAround(into):
		return f.misfit(diag.Say("make one of it with string(x), int(x) or float(x)"), "expects %s, but nothing is known of this", into.Article())
	case !t.Known():
		return nil
	case t.Kind == Null && !into.AcceptsNull():
		return f.misfit(diag.Hint{}, "expects %s, got null", into.Article())
	case t.Nullable && !into.AcceptsNull():
		return f.misfit(orElse(into), "expects %s, but this may be null", into.Article())
	case t.Kind == Null, !into.Known():
		return nil
	}
	for _, alternative := range t.Each() {
		if m := f.oneOf(alternative, into); m != nil {
			return m
		}
	}
	return nil
}

// oneOf holds a type of one kind against what is expected: one of its types must take it.
// Where one has its kind, what is wrong is told of that.
func (f *fitting) oneOf(t, into *Type) *Misfit {
	var told *Misfit
	for _, one := range into.Each() {
		m := f.kinds(t, one)
		if m == nil {
			return nil
		}
		if told == nil && (t.Kind == one.Kind || into.Alternatives == nil) {
			told = m
		}
	}
	if told == nil {
		told = f.misfit(diag.Hint{}, "expects %s, got %s", into.Article(), t.Article())
	}
	return told
}

func (f *fitting) secretsAround(into *Type) bool { return into.Secret || f.inSecret > 0 }

func (f *fitting) secrets(t, into *Type) *Misfit {
	const hint = "secrets go only into fields that are marked secret"
	switch {
	case into.Secret && !t.Secret && into.Kind != Object && t.Kind != Any && f.inSecret == 0:
		return f.misfit(diag.Say("write ${{ secrets.NAME }} as the whole value"), "expects a secret, got %s", t.Article())
	case t.Secret && !into.Secret && f.inSecret == 0:
		return f.misfit(diag.Say(hint), "a secret can't stand here")
	case !t.Secret && !into.Known() && !into.Secret && f.inSecret == 0 && t.HasSecret():
		return f.misfit(diag.Say(hint), "this %s has a secret in it, which can't stand here", t.baseName())
	}
	return nil
}

// orElse says what to do where null can't stand.
func orElse(into *Type) diag.Hint {
	if into.Blob {
		return diag.Say("nothing stands for a large value: let the step run only where there is one, by `if: x != nil`")
	}
	return diag.Say("give a value for that case with `??`, such as `x ?? " + exampleOf(into) + "`")
}

// exampleOf is a literal to show in a hint.
func exampleOf(t *Type) string {
	switch t.Kind {
	case Bool:
		return "false"
	case Int, Number:
		return "0"
	case List:
		return "[]"
	case Object:
		return "{}"
	}
	if len(t.Enum) > 0 {
		return show(t.Enum[0])
	}
	return `""`
}

func (f *fitting) kinds(t, into *Type) *Misfit {
	switch {
	case t.Kind == into.Kind && t.Kind == List:
		f.path.push("*")
		defer f.path.pop()
		return f.fits(t.Element(), into.Element())
	case into.Blob && t.Kind == Object:
		return f.blobs(t)
	case t.Kind == into.Kind && t.Kind == Object:
		return f.objects(t, into)
	case t.Kind == into.Kind, t.Kind == Int && into.Kind == Number,
		t.Kind == String && (into.Kind == Time || into.Kind == Duration):
		return f.known(t, into)
	}
	hint := ""
	switch {
	case t.Kind == Number && into.Kind == Int:
		hint = "int(x) cuts the fraction off, int(round(x)) rounds"
	case t.Kind == Time && into.Kind == String:
		hint = `formatTime(t, "2006-01-02") makes text of a time`
	case into.Kind == String && (t.Kind == Int || t.Kind == Number || t.Kind == Bool || t.Kind == Duration):
		hint = "string(x) makes text of it"
	case into.Kind == String && (t.Kind == List || t.Kind == Object):
		hint = "toJSON(x) makes text of it"
	case t.Kind == String && into.Kind == Int:
		hint = "int(x) makes an integer of text"
	case t.Kind == String && into.Kind == Number:
		hint = "float(x) makes a number of text"
	}
	return f.misfit(diag.Say(hint), "expects %s, got %s", into.Article(), t.Article())
}

// blobs holds an object against a large value: only one is one.
func (f *fitting) blobs(t *Type) *Misfit {
	if t.Blob {
		return nil
	}
	return f.misfit(diag.Say("only what a step gave refers to a large value: give it as it is, such as ${{ steps.fetch.output.body }}"),
		"expects a large value, got an object")
}

// known checks the values that t can have when they are few and known.
func (f *fitting) known(t, into *Type) *Misfit {
	var last *Mismatch
	for _, value := range t.Enum {
		_, err := into.Accept(value)
		if err == nil {
			return nil
		}
		errors.As(err, &last)
	}
	if last == nil {
		return nil
	}
	return f.misfit(last.Hint, "%s", last.Message)
}

func (f *fitting) objects(t, into *Type) *Misfit {
	m := f.members(t, into)
	if m != nil || into.Variants == nil {
		return m
	}
	variants := t.Variants
	if variants == nil {
		variants = []*Type{t}
	}
	for _, one := range variants { // each of them fits one that is expected, whole
		var told *Misfit
		fits := false
		for _, want := range into.Variants {
			m := f.members(one, want)
			if fits = m == nil; fits {
				break
			}
			if told == nil {
				told = m
			}
		}
		if !fits {
			return f.misfit(told.Hint, "it is none of the %d objects that are allowed here; of the first: %s", len(into.Variants), told.Message)
		}
	}
	return nil
}

func (f *fitting) members(t, into *Type) *Misfit {
	if into.Secret {
		f.inSecret++
		defer func() { f.inSecret-- }()
	}
	for _, want := range into.Fields {
		have, declared := t.declared(want.Name)
		switch {
		case declared && want.Required && !have.Required && (t.Additional == nil || f.sure),
			!declared && want.Required && t.Additional != nil && f.sure:
			return f.misfit(diag.Hint{}, "field `%s` may be missing", want.Name)
		case !declared && want.Required && t.Additional == nil:
			return f.misfit(diag.DidYouMean(want.Name, t.FieldNames()), "field `%s` is missing", want.Name)
		case declared:
			if m := f.part(want.Name, have.Type, want.Type); m != nil {
				return m
			}
		case t.Additional != nil, t.Open && f.sure:
			if m := f.part(want.Name, t.Others(), want.Type); m != nil {
				return m
			}
		}
	}
	return f.extras(t, into)
}

// extras checks the names that `into` does not declare.
func (f *fitting) extras(t, into *Type) *Misfit {
	for _, field := range t.Fields {
		if _, declared := into.declared(field.Name); declared {
			continue
		}
		if into.Additional == nil {
			return f.misfit(diag.DidYouMean(field.Name, into.FieldNames()), "unknown field `%s`", field.Name)
		}
		if m := f.part(field.Name, field.Type, into.Additional); m != nil {
			return m
		}
	}
	switch {
	case t.Additional == nil && !(t.Open && f.sure):
	case into.Additional != nil:
		return f.part("*", t.Others(), into.Additional)
	case f.sure:
		return f.misfit(diag.Say("write the fields out, such as {a: x.a}"), "takes only the fields that are declared, and this may have others")
	}
	return nil
}

func (f *fitting) part(name string, t, into *Type) *Misfit {
	f.path.push(name)
	defer f.path.pop()
	m := f.fits(t, into)
	if m != nil && !strings.HasPrefix(m.Message, "field `") {
		m.Message = "field `" + name + "` " + m.Message
	}
	return m
}

func (t *Type) declared(name string) (Field, bool) {
	if i := t.fieldIndex(name); i >= 0 {
		return t.Fields[i], true
	}
	return Field{}, false
}
