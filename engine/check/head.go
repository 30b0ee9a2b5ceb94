package check

import (
	"encoding/json"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

const defaultRunTimeout = 24 * time.Hour

// isField is spec.FieldPattern. Names are matched without an expression, which takes longer
// to compile than the names of a small workflow take to be checked.
func isField(text string) bool {
	return text != "" && (isLetter(text[0]) || text[0] == '_') && !strings.ContainsFunc(text, func(r rune) bool {
		return r >= utf8.RuneSelf || !isLetter(byte(r)) && !isDigit(byte(r)) && r != '_'
	})
}

// isID is spec.IDPattern.
func isID(text string) bool {
	return isField(text) && text[0] != '_' && strings.ToLower(text) == text
}

// isTrigger is spec.TriggerPattern.
func isTrigger(text string) bool {
	return isField(strings.ReplaceAll(text, "-", "_")) && isLetter(text[0])
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isName is spec.NamePattern.
func isName(text string) bool {
	for i, r := range text {
		switch {
		case unicode.In(r, unicode.L, unicode.N):
		case i > 0 && (unicode.Is(unicode.M, r) || strings.ContainsRune(" ._-", r)):
		default:
			return false
		}
	}
	return text != ""
}

const (
	nameHint  = "it starts with a letter or digit and has letters, digits, spaces, `.`, `_` and `-`"
	fieldHint = "it has letters, digits and `_`, and starts with a letter or `_`"
)

// head reads what stands above the steps.
func (c *checker) head() {
	c.plan.Name = c.name()
	if node := c.tree.Description; node != nil && c.static(node) {
		c.plan.Description = node.Text
	}
	c.labels()
	c.plan.Timeout = defaultRunTimeout
	if node := c.tree.Timeout; node != nil {
		into(&c.plan.Timeout, c.duration)(c.key("workflow", "timeout"), node)
	}
	c.others(c.tree.Others)
}

// name is the workflow's name: the file's where none is written.
func (c *checker) name() string {
	node := c.tree.Name
	if node == nil {
		base := path.Base(strings.ReplaceAll(c.tree.File, "\\", "/"))
		return strings.TrimSuffix(base, path.Ext(base))
	}
	if c.static(node) {
		switch {
		case !isName(node.Text):
			c.errorAt(node.Pos, CodeName, "`%s` is not a name for a workflow", node.Text).Hint = diag.Say(nameHint)
		case len([]rune(node.Text)) > spec.MaxName:
			c.errorAt(node.Pos, CodeName, "the name is longer than %d characters", spec.MaxName)
		}
	}
	return node.Text
}

func (c *checker) labels() {
	if c.tree.Labels == nil {
		return
	}
	c.plan.Labels = map[string]string{}
	for _, pair := range c.tree.Labels.Pairs {
		key := pair.Key.Text
		if !isName(key) || len([]rune(key)) > spec.MaxName {
			c.errorAt(pair.Key.Pos, CodeName, "`%s` is not a name for a label", key).Hint = diag.Say(nameHint)
		}
		if !c.scalar(pair.Value, "a label's text") {
			continue
		}
		if len([]rune(pair.Value.Text)) > spec.MaxName {
			c.errorAt(pair.Value.Pos, CodeName, "the label is longer than %d characters", spec.MaxName)
		}
		c.plan.Labels[key] = pair.Value.Text
	}
}

// defaults reads what steps that call a plugin take where they say nothing.
func (c *checker) defaults() {
	c.retry = plan.Retry{
		Attempts: 4, Delay: time.Second, Factor: 2, MaxDelay: 30 * time.Second, Jitter: 0.2,
		On: plan.DefaultRetryKinds(),
	}
	if c.tree.Defaults == nil {
		return
	}
	c.fields(c.tree.Defaults, "defaults", map[string]reader{
		"timeout": func(key *spec.Key, n *spec.Node) { c.timeout = c.bounded(key, n) },
		"retry":   func(_ *spec.Key, n *spec.Node) { c.retryWords(n, &c.retry) },
	})
}

// bounded reads a duration that the workflow's own timeout must allow; 0 = not
// valid.
func (c *checker) bounded(key *spec.Key, node *spec.Node) time.Duration {
	d, ok := c.duration(key, node)
	if !ok {
		return 0
	}
	if most := c.plan.Timeout; d > most {
		c.errorAt(node.Pos, CodeTooLong, "%s is longer than the workflow's timeout, which is %s", node.Text, duration.Text(most)).Hint =
			diag.Say("make it shorter, or write a longer `timeout` at the top")
	}
	return d
}

func jsonText(text string) json.RawMessage { return encode(text) }
