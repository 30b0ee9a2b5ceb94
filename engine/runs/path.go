package runs

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
)

// The words of an operation path's parts: what repeats a step's call.
const (
	PartPlan      = "plan"      // another plan changed its request
	PartRound     = "round"     // of `repeat`
	PartWindow    = "window"    // of a range that is read in parts
	PartRestart   = "restart"   // of a reading whose cursor was refused
	PartPage      = "page"      // of `paginate`
	PartReconcile = "reconcile" // the question about a lost call
)

// The names of the handlers, as files and paths write them.
const (
	HandlerSuccess = "on_success"
	HandlerFailure = "on_failure"
	HandlerFinally = "finally"
)

// Path is a step of a run, an item of its loops, an operation or a timer. Its text
// is what journals, the API and people write:
//
//	finally@2:domains[example.com].whois#round2#page3!retry2@2
//
// Parse and text are exact: what ParsePath makes of a text has that text.
type Path struct {
	Handler string // "" = the main steps
	Again   int    // which time the handler runs, from 2; 0 = the first
	Items   []Item // what the step stands in, the outermost first
	Step    string // its id; "" of an item, and of the run's own timers
	Part    string // what repeats its call: "page3", "round2#page3"
	Timer   string // "retry2"; "" = it is no timer
	Epoch   int    // of a timer: the attempt of the run that set it, from 2; 0 = the first
}

// Item is one item of a loop.
type Item struct {
	Loop string // the loop's id
	Key  string // as paths write it: Plain is the key itself
}

// Plain is the item's key as the workflow has it.
func (i Item) Plain() string { return plainKey(i.Key) }

func plainKey(written string) string {
	if key, err := url.PathUnescape(written); err == nil {
		return key
	}
	return written
}

// ParsePath reads a path. What is none is the id of a step.
func ParsePath(text string) Path {
	if p, ok := parsePath(text); ok {
		return p
	}
	return Path{Step: text}
}

func parsePath(text string) (p Path, ok bool) {
	rest, timer, timed := strings.Cut(text, "!")
	rest, part, parted := strings.Cut(rest, "#")
	if timed && timer == "" || parted && part == "" {
		return p, false
	}
	p.Part = part
	p.Timer, p.Epoch = cutNumber(timer)
	if head, behind, exists := strings.Cut(rest, ":"); exists {
		switch name, again := cutNumber(head); name {
		case HandlerSuccess, HandlerFailure, HandlerFinally:
			p.Handler, p.Again, rest = name, again, behind
		}
	}
	for {
		loop, inner, inside := strings.Cut(rest, "[")
		if !inside {
			p.Step = rest
			return p, true
		}
		key, behind, closed := strings.Cut(inner, "]")
		if loop == "" || !closed {
			return p, false
		}
		p.Items = append(p.Items, Item{loop, key})
		if behind == "" {
			return p, true
		}
		if rest, ok = strings.CutPrefix(behind, "."); !ok || rest == "" {
			return p, false
		}
	}
}

// cutNumber takes the "@2" from the end of a name.
func cutNumber(text string) (name string, number int) {
	if at := strings.LastIndexByte(text, '@'); at > 0 {
		number, err := strconv.Atoi(text[at+1:])
		if err == nil && number > 1 && strconv.Itoa(number) == text[at+1:] {
			return text[:at], number
		}
	}
	return text, 0
}

// String is the path's text.
func (p Path) String() string {
	var b strings.Builder
	if p.Handler != "" {
		b.WriteString(HandlerPrefix(p.Handler, p.Again))
	}
	for i, item := range p.Items {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(item.Loop + "[" + item.Key + "]")
	}
	if len(p.Items) > 0 && p.Step != "" {
		b.WriteByte('.')
	}
	b.WriteString(p.Step)
	if p.Part != "" {
		b.WriteString("#" + p.Part)
	}
	if p.Timer != "" {
		return TimerPath(b.String(), p.Timer, p.Epoch)
	}
	return b.String()
}

// Operation is the call that a timer belongs to, or the path itself.
func (p Path) Operation() Path {
	p.Timer, p.Epoch = "", 0
	return p
}

// Top is the step of the run that the path is of or in: finally:domains of
// finally:domains[example.com].whois.
func (p Path) Top() Path {
	top := Path{Handler: p.Handler, Again: p.Again, Step: p.Step}
	if len(p.Items) > 0 {
		top.Step = p.Items[0].Loop
	}
	return top
}

// Loop is the innermost loop that a step stands in.
func (p Path) Loop() (loop Path, inside bool) {
	last := len(p.Items) - 1
	if last < 0 {
		return Path{}, false
	}
	return Path{Handler: p.Handler, Again: p.Again, Items: p.Items[:last], Step: p.Items[last].Loop}, true
}

// Written is the step's place in the workflow: finally:domains.whois for each item
// and each time that the handler runs.
func (p Path) Written() string {
	ids := make([]string, 0, len(p.Items)+1)
	for _, item := range p.Items {
		ids = append(ids, item.Loop)
	}
	if p.Step != "" {
		ids = append(ids, p.Step)
	}
	text := strings.Join(ids, ".")
	if p.Handler != "" {
		text = HandlerPrefix(p.Handler, 0) + text
	}
	return text
}

// IsTimer reports whether a path is a timer's.
func IsTimer(path string) bool { return strings.Contains(path, "!") }

// OperationOf is the text of a path's Operation.
func OperationOf(path string) string {
	operation, _, _ := strings.Cut(path, "!")
	return operation
}

// StepOf is the text of the step that a path belongs to.
func StepOf(path string) string {
	step, _, _ := strings.Cut(OperationOf(path), "#")
	return step
}

// InLoop reports whether a step stands in an item of a loop.
func InLoop(step, loop string) bool {
	return len(step) > len(loop) && step[len(loop)] == '[' && step[:len(loop)] == loop
}

// ItemOf returns the item of a loop that a step stands in: its path, its plain key,
// and the step's place in it. All are empty where it stands in none.
func ItemOf(step, loop string) (item, key, inner string) {
	if !InLoop(step, loop) {
		return "", "", ""
	}
	written, inner, ok := strings.Cut(step[len(loop)+1:], "].")
	if !ok {
		return "", "", ""
	}
	return step[:len(step)-len(inner)-1], plainKey(written), inner
}

// EachStep visits the steps of a workflow in file order, those of a loop behind it and
// those of handlers last, with their paths without keys of items. visit returns whether
// to go on below a loop.
func EachStep(w *plan.Workflow, visit func(path string, step *plan.Step, inLoop bool) (below bool)) {
	var list func(prefix string, steps []plan.Step, inLoop bool)
	list = func(prefix string, steps []plan.Step, inLoop bool) {
		for i := range steps {
			step := &steps[i]
			if visit(prefix+step.ID, step, inLoop) && step.Loop != nil {
				list(prefix+step.ID+".", step.Loop.Steps, true)
			}
		}
	}
	list("", w.Steps, false)
	for _, handler := range [...]struct {
		name  string
		steps []plan.Step
	}{{HandlerSuccess, w.OnSuccess}, {HandlerFailure, w.OnFailure}, {HandlerFinally, w.Finally}} {
		if len(handler.steps) > 0 {
			list(HandlerPrefix(handler.name, 0), handler.steps, false)
		}
	}
}

// HandlerPrefix begins the paths of a handler's steps. again is which time it runs;
// up to 1 it is not written.
func HandlerPrefix(handler string, again int) string { return numbered(handler, again) + ":" }

// ItemPrefix begins the paths of the steps of an item. The key is written so that it
// can't be taken for another part of the path.
func ItemPrefix(loop, key string) string { return loop + "[" + escapeKey(key) + "]." }

// PartPath names what repeats a call; a number of 0 is not written.
func PartPath(operation, part string, number int) string {
	if number == 0 {
		return operation + "#" + part
	}
	return operation + "#" + part + strconv.Itoa(number)
}

// TimerPath names a timer of an operation. epoch is the attempt of the run; up to 1
// it is not written.
func TimerPath(operation, timer string, epoch int) string {
	return operation + "!" + numbered(timer, epoch)
}

func numbered(name string, number int) string {
	if number < 2 {
		return name
	}
	return name + "@" + strconv.Itoa(number)
}

func escapeKey(key string) string {
	var b strings.Builder
	for _, r := range key {
		if r < 0x20 || r == 0x7f || strings.ContainsRune("[]#!%", r) {
			fmt.Fprintf(&b, "%%%02X", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
