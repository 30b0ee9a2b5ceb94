package check

import (
	"path"
	"regexp"
	"strings"

	"github.com/flowrun/flowrun/engine/spec"
)

var (
	workflowName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	labelKey     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)
)

const maxLabel = 256

// head checks what stands at the top of the workflow: name, description,
// labels, timeout, and keys of later versions.
func (c *checker) head() {
	c.name()
	if n := c.tree.Description; n != nil && c.scalar(n, "a text") {
		c.plan.Description = n.Text
	}
	c.labels()
	c.plan.Timeout = defaultRunTimeout
	if c.tree.Timeout != nil {
		if d, ok := c.duration(c.tree.Timeout); ok {
			c.plan.Timeout = d
		}
	}
	c.laterTop()
}

// name is the workflow's name; without one it is the file's.
func (c *checker) name() {
	if n := c.tree.Name; n != nil {
		if !c.scalar(n, "a name") {
			return
		}
		c.plan.Name = n.Text
		if !workflowName.MatchString(n.Text) {
			c.errorAt(n.Pos, CodeName, "`%s` can't be the name of a workflow", n.Text).Hint = nameHint(n.Text)
		}
		return
	}
	if _, written := c.tree.Root.Pair("name"); written {
		return
	}
	base := path.Base(strings.ReplaceAll(c.tree.File, "\\", "/"))
	c.plan.Name = strings.TrimSuffix(strings.TrimSuffix(base, ".yml"), ".yaml")
	if !workflowName.MatchString(c.plan.Name) {
		c.errorAt(c.tree.Root.FirstKey(), CodeMissing, "the workflow has no `name`, and that of the file can't be one").Hint =
			"add `name: …` with small letters, digits, `-` and `_`"
	}
}

var notNameCharacters = regexp.MustCompile(`[^a-z0-9_-]+`)

func nameHint(name string) string {
	fixed := strings.Trim(notNameCharacters.ReplaceAllString(strings.ToLower(name), "-"), "-_")
	if workflowName.MatchString(fixed) && fixed != name {
		return "write `" + fixed + "`: small letters, digits, `-` and `_`, at most 63"
	}
	return "a name has small letters, digits, `-` and `_`, at most 63"
}

func (c *checker) labels() {
	if c.tree.Labels == nil {
		return
	}
	c.plan.Labels = map[string]string{}
	for _, pair := range c.tree.Labels.Pairs {
		if !labelKey.MatchString(pair.Key.Text) {
			c.errorAt(pair.Key.Pos, CodeName, "`%s` can't be the name of a label", pair.Key.Text).Hint =
				"a label has letters, digits, `-`, `_` and `.`"
		}
		if c.label(pair.Value) {
			c.plan.Labels[pair.Key.Text] = pair.Value.Text
		}
	}
}

func (c *checker) label(node *spec.Node) bool {
	if !c.scalar(node, "a text") {
		return false
	}
	if len(node.Text) > maxLabel {
		c.errorAt(node.Pos, CodeNumber, "a label has at most %d characters", maxLabel)
		return false
	}
	return true
}
