package check

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/spec"
)

// The ways in which other products write an expression inside text. The name is
// the first word of what stands inside, the dot before it that of Go's
// templates.
var foreignForms = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`\{\{-?\s*(\.?)([A-Za-z_]\w*)([^{}]*?)\s*-?\}\}`),
		regexp.MustCompile(`\$\{\s*(\.?)([A-Za-z_]\w*)([^{}]*?)\s*\}`),
		regexp.MustCompile(`\$\(\s*(\.?)([A-Za-z_]\w*)([^()]*?)\s*\)`),
	}
})

// foreign is text that looks like an expression of ours in another product's
// signs.
type foreign struct {
	node    *spec.Node
	from    int
	to      int
	meant   string // as the language writes it
	written string
}

// noteForeign finds what the author of a text may have meant as an expression:
// whatever begins with a name that can be read somewhere.
func (c *checker) noteForeign(t *text) {
	source := t.node.Text
	if t.bad || !t.mayBeForeign() {
		return
	}
	names := rootNames()
	for _, form := range foreignForms() {
		for _, at := range form.FindAllStringSubmatchIndex(source, -1) {
			from, to := at[0], at[1]
			if from > 0 && source[from-1] == '$' || t.within(from) {
				continue // one of ours, or literally `${{`
			}
			if source[from] == '$' && to < len(source) && source[to] == '}' {
				to++ // `${ x }}`: the first brace is forgotten
			}
			name, rest := source[at[4]:at[5]], source[at[6]:at[7]]
			if at[3] > at[2] { // .Inputs.who
				name = strings.ToLower(name)
			}
			if !slices.Contains(names, name) || !startsMember(rest) {
				continue
			}
			c.foreign = append(c.foreign, foreign{
				node: t.node, from: from, to: to, written: source[from:to], meant: "${{ " + name + rest + " }}",
			})
		}
	}
	c.noteVariables(t)
}

var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(inputs|steps)((?:\.[A-Za-z_]\w*)+)`) })

// noteVariables finds `$inputs.name` and `$steps.id.outputs…`, as shells write variables,
// of inputs and steps that there are.
func (c *checker) noteVariables(t *text) {
	source := t.node.Text
	for _, at := range variable().FindAllStringSubmatchIndex(source, -1) {
		from, to := at[0], at[1]
		if from > 0 && source[from-1] == '$' || t.within(from) {
			continue
		}
		if name := source[at[2]:at[3]] + source[at[4]:at[5]]; c.isThere(name) {
			c.foreign = append(c.foreign, foreign{node: t.node, from: from, to: to, written: source[from:to], meant: "${{ " + name + " }}"})
		}
	}
}

// isThere reports whether a path begins with an input or a step of the workflow.
func (c *checker) isThere(path string) bool {
	parts := strings.SplitN(path, ".", 3)
	if len(parts) < 2 {
		return false
	}
	if parts[0] == stepsRoot {
		return c.byID[parts[1]] != nil
	}
	if c.inputs == nil {
		return false
	}
	_, ok := c.inputs.Field(parts[1])
	return parts[0] == inputsKey && ok
}

// startsMember reports whether what follows a name reads a part of it, or goes
// on with an expression.
func startsMember(rest string) bool {
	return rest == "" || strings.ContainsRune(".?[ |=!<>+", rune(rest[0]))
}

// within reports whether an offset lies in an expression of the text.
// mayBeForeign reports whether a form may begin anywhere but in an expression of ours. To
// look takes less than the expressions for the forms take to be compiled.
func (t *text) mayBeForeign() bool {
	source := t.node.Text
	for i := range source {
		rest := source[i:]
		begins := strings.HasPrefix(rest, "$inputs.") || strings.HasPrefix(rest, "$steps.") || strings.HasPrefix(rest, "{{") || strings.HasPrefix(rest, "$(") || strings.HasPrefix(rest, "${") && !strings.HasPrefix(rest, "${{")
		if begins && (i == 0 || source[i-1] != '$') && !t.within(i) {
			return true
		}
	}
	return false
}

func (t *text) within(offset int) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool {
		return p.isExpr && p.offset <= offset && offset < p.offset+len(p.source)
	})
}

// reportForeign warns of all that was found, once the rest is known: where the
// text is refused anyway, that error says what was meant.
func (c *checker) reportForeign() {
	for _, f := range c.foreign {
		if refused := c.refused(f); refused != nil {
			refused.Hint = diag.Say("expressions are written `" + f.meant + "`")
			refused.Mend = mendOf(c.surely(f), f.node.Change(spec.Change{Start: f.from, End: f.to, Text: f.meant}))
			continue
		}
		problem := c.problems.Warnf(f.node.Span(f.from, f.to), CodeForeign, "`%s` is text; expressions are `${{ }}`", f.written)
		if _, issues := eval.Parse(strings.TrimSuffix(strings.TrimPrefix(f.meant, "${{"), "}}")); len(issues) == 0 {
			problem.Hint = diag.Say("write `" + f.meant + "`; ")
			problem.Mend = mendOf(c.surely(f), f.node.Change(spec.Change{Start: f.from, End: f.to, Text: f.meant}))
		}
		problem.Hint = diag.Say(problem.Hint.Text + "if the text is meant, `${{ '" + f.written + "' }}` says so")
	}
}

// surely reports whether a text in the signs of another product is an expression: what it
// reads is there.
func (c *checker) surely(f foreign) bool {
	inside := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(f.meant, "${{"), "}}"))
	x, issues := eval.Parse(inside)
	if len(issues) > 0 {
		return false
	}
	reads := x.Reads()
	return len(reads) > 0 && !slices.ContainsFunc(reads, func(r eval.Read) bool {
		return r.Path[0] != "run" && !c.isThere(strings.Join(r.Path, "."))
	})
}

// refused is an error about the scalar that holds f, or about that part of it.
func (c *checker) refused(f foreign) *diag.Problem {
	for i := range c.problems {
		p := &c.problems[i]
		if p.Severity != diag.Error || p.Line != f.node.Pos.Line {
			continue
		}
		at := f.node.Span(f.from, f.to)
		if p.Column == f.node.Pos.Column || p.Line == at.Line && p.Column >= at.Column && p.Column < at.EndColumn {
			return p
		}
	}
	return nil
}

// foreignCondition tells an `if` or `until` in the signs of another product.
func foreignCondition(source string) (meant string, ok bool) {
	for _, form := range foreignForms() {
		at := form.FindStringSubmatchIndex(source)
		if at == nil || at[0] != 0 || at[1] != len(source) {
			continue
		}
		name := source[at[4]:at[5]]
		if at[3] > at[2] {
			name = strings.ToLower(name)
		}
		if !slices.Contains(rootNames(), name) {
			continue
		}
		inside := name + source[at[6]:at[7]]
		if _, issues := eval.Parse(inside); len(issues) == 0 {
			return inside, true
		}
	}
	return "", false
}
