package preview

import (
	"regexp"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
)

var readsClock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bnow\s*\(`) })

// static evaluates an expression that reads only what is known: inputs, and
// outputs of steps that env has.
func static(source string, env map[string]any) (any, bool) {
	if readsClock().MatchString(source) {
		return nil, false
	}
	program, err := eval.Compile(source)
	if err != nil {
		return nil, false
	}
	for _, read := range program.Expression().Reads() {
		if !isKnown(read, env) {
			return nil, false
		}
	}
	value, err := program.Run(env, time.Time{})
	if list, stored := value.(*schema.Encoded); stored && err == nil {
		value, err = list.Values()
	}
	return value, err == nil
}

// isKnown reports whether what an expression reads is in env.
func isKnown(read eval.Read, env map[string]any) bool {
	root, ok := env[read.Path[0]]
	if !ok {
		return false
	}
	if read.Path[0] != "inputs" && read.Path[0] != "steps" {
		return true // a value of the same `let`
	}
	if len(read.Path) < 2 {
		return false
	}
	_, ok = root.(map[string]any)[read.Path[1]]
	return ok
}

func staticText(source string, env map[string]any) (string, bool) {
	shown := "${{ " + source + " }}"
	value, ok := static(source, env)
	if !ok {
		return shown, false
	}
	text, err := eval.Text(value)
	if err != nil {
		return shown, false
	}
	return text, true
}
