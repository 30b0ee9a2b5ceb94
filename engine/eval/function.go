package eval

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/schema"
)

// FunctionDoc describes a function for `flowrun explain` and completion.
type FunctionDoc struct {
	Name      string
	Signature string
	Doc       string
	Example   string
}

// Functions returns the documentation of all functions, sorted by name.
func Functions() []FunctionDoc {
	var docs []FunctionDoc
	for name, f := range functionTable() {
		docs = append(docs, FunctionDoc{Name: name, Signature: f.signature, Doc: f.doc, Example: f.example})
	}
	for name, p := range predicateTable() {
		docs = append(docs, FunctionDoc{Name: name, Signature: p.signature, Doc: p.doc, Example: p.example})
	}
	order.Sort(docs, func(a, b FunctionDoc) int { return strings.Compare(a.Name, b.Name) })
	return docs
}

// FunctionNames returns the names of all functions, sorted.
func FunctionNames() []string {
	names := slices.Collect(maps.Keys(functionTable()))
	return slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(predicateTable()))))
}

// function is a function whose arguments are all values. Its signature is the
// one source of its name, parameters and result type:
//
//	name(a: text, b?: integer|number, c...: list): type
//
// A parameter with ? may be left out, one with ... may repeat.
type function struct {
	signature string
	doc       string
	example   string

	// result infers the type where the signature's is too coarse, and checks
	// what depends on literal arguments. nil = the signature's type.
	result func(call *call) *schema.Type
	// converts says that the function is there to make a known type of a value of
	// which nothing is known: the strict check takes any.
	converts bool
	// encoded says that run takes a list that is kept as text as it is; for others it
	// is decoded.
	encoded bool
	// chooses says that the result is made of elements of its lists: of a stored one it
	// keeps places.
	chooses bool
	// run computes the result. The arguments have the kinds that the signature
	// says; an int stands where only number is said.
	run func(m *machine, args []any) (any, error)

	name     string
	params   []param
	required int
	variadic bool
	returns  *schema.Type
}

type param struct {
	name  string
	kinds kinds
	text  string // "text or list", for messages
}

// kinds is a set of schema kinds.
type kinds uint16

const (
	anyKinds kinds = 1<<16 - 1
	texts    kinds = 1 << schema.String
	integers kinds = 1 << schema.Int
	numbers  kinds = integers | 1<<schema.Number
	lists    kinds = 1 << schema.List
	objects  kinds = 1 << schema.Object
	// scalars are what has a text; ordered is what can be compared with its like.
	scalars kinds = ordered | 1<<schema.Bool
	ordered kinds = numbers | texts | 1<<schema.Time | 1<<schema.Duration
)

func (k kinds) has(kind schema.Kind) bool { return k&(1<<kind) != 0 }

var kindWords = sync.OnceValue(func() map[string]schema.Kind {
	return map[string]schema.Kind{
		"boolean": schema.Bool, "integer": schema.Int, "number": schema.Number, "text": schema.String,
		"time": schema.Time, "duration": schema.Duration, "list": schema.List, "object": schema.Object, "any": schema.Any,
	}
})

// tables holds all functions. They are made on first use, since the functions
// look at the tables themselves, and never change afterwards.
var tables struct {
	once       sync.Once
	functions  map[string]*function
	predicates map[string]*predicate
}

func functionTable() map[string]*function {
	tables.once.Do(fillTables)
	return tables.functions
}

func predicateTable() map[string]*predicate {
	tables.once.Do(fillTables)
	return tables.predicates
}

func fillTables() {
	functions, predicates := map[string]*function{}, map[string]*predicate{}
	for _, group := range [][]*function{
		numberFunctions(), bitFunctions(), textFunctions(), encodingFunctions(), listFunctions(), objectFunctions(),
		timeFunctions(), zonedFunctions(), tableFunctions(),
	} {
		for _, f := range group {
			f.parse()
			functions[f.name] = f
		}
	}
	for _, group := range []map[string]*predicate{testPredicates(), findPredicates(), shapePredicates()} {
		maps.Copy(predicates, group)
	}
	tables.functions, tables.predicates = functions, predicates
}

// parse fills in what the signature says. A wrong signature is a programming
// error, which any test of the package finds.
func (f *function) parse() {
	name, rest, _ := strings.Cut(f.signature, "(")
	list, returns, ok := strings.Cut(rest, "): ")
	if !ok {
		panic("signature " + f.signature)
	}
	f.name = name
	f.returns = schema.Of(kindOfWord(returns))
	for _, text := range strings.Split(list, ", ") {
		if text == "" {
			continue
		}
		name, kinds, _ := strings.Cut(text, ": ")
		switch {
		case strings.HasSuffix(name, "?"):
		case strings.HasSuffix(name, "..."):
			f.variadic = true
			f.required++
		default:
			f.required++
		}
		f.params = append(f.params, parseParam(strings.TrimRight(name, "?."), kinds))
	}
}

func parseParam(name, words string) param {
	p := param{name: name}
	list := strings.Split(words, "|")
	for _, word := range list {
		p.kinds |= 1 << kindOfWord(word)
	}
	if p.kinds.has(schema.Any) {
		p.kinds = anyKinds
	}
	if p.kinds.has(schema.Number) {
		p.kinds |= 1 << schema.Int
	}
	p.text = strings.Join(list, " or ")
	if len(list) > 2 {
		p.text = strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
	}
	return p
}

func kindOfWord(word string) schema.Kind {
	kind, ok := kindWords()[word]
	if !ok {
		panic("type " + word)
	}
	return kind
}

// param returns the parameter of the i-th argument.
func (f *function) param(i int) param { return f.params[min(i, len(f.params)-1)] }

// arity says how many arguments are wanted when n is wrong, else "".
func (f *function) arity(n int) string {
	switch most := len(f.params); {
	case f.variadic && n < f.required:
		return "at least " + diag.Count(f.required, "argument")
	case f.variadic, n >= f.required && n <= most:
		return ""
	case f.required == most:
		return diag.Count(most, "argument")
	default:
		return strconv.Itoa(f.required) + " to " + diag.Count(most, "argument")
	}
}

// take checks the arguments of a call at run time.
func (f *function) take(m *machine, args []any) error {
	for i, arg := range args {
		p := f.param(i)
		if list, kept := arg.(*schema.Encoded); kept && !f.encoded && (p.kinds == anyKinds || p.kinds.has(schema.List)) {
			values, err := m.whole(f.name, list)
			if err != nil {
				return err
			}
			args[i], arg = values, values
		}
		if p.kinds == anyKinds {
			continue
		}
		if kind := schema.KindOf(arg); !p.kinds.has(kind) {
			failure := failf("%s expects %s, got %s", f.name, p.text, article(arg))
			if arg == nil {
				failure.Hint = diag.Say("give a value for that case with `??`")
			}
			return failure
		}
		if isLarge(arg) {
			return failf("%s can't work with an integer beyond 64 bits", f.name)
		}
	}
	return nil
}
