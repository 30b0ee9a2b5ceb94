package project

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/spec"
)

var ratePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([1-9][0-9]{0,8})/([0-9A-Za-z.]+)$`) })

// maxName is how many letters a name has at most.
const maxName = 63

// isName reports whether a text names a plugin, a connection or an alike thing: small
// letters, digits, _ and -, a letter first.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && 'a' <= text[0] && text[0] <= 'z' && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// Parse reads the bytes of a flowrun.yaml. It returns what could be read
// besides all problems.
func Parse(file string, src []byte) (*Project, diag.List) {
	root, problems := spec.ParseNode(file, src, spec.DefaultLimits())
	if root == nil && len(problems) == 1 && problems[0].Code == spec.CodeEmpty {
		problems = nil // nothing is set: that is fine
	}
	p := &parser{project: &Project{File: file, Secrets: []string{"env", "store"}}, problems: problems}
	if root != nil {
		p.topLevel(root)
		p.checkSimulators()
	}
	p.problems.Sort()
	return p.project, p.problems
}

type parser struct {
	project  *Project
	problems diag.List
}

// keys calls the reader of each key of a mapping and reports unknown ones.
func (p *parser) keys(node *spec.Node, what string, readers map[string]func(*spec.Node)) {
	if node.Kind != spec.Mapping {
		p.problems.Errorf(node.Pos, CodeShape, "%s must be a mapping", what)
		return
	}
	for _, pair := range node.Pairs {
		read, ok := readers[pair.Key.Text]
		if !ok {
			p.problems.Errorf(pair.Key.Pos, CodeUnknownKey, "%s has no key `%s`", what, pair.Key.Text).Hint =
				diag.MeantOr(pair.Key.Text, slices.Sorted(maps.Keys(readers)), "its keys are ")
			continue
		}
		if read != nil {
			read(pair.Value)
		}
	}
}

func (p *parser) topLevel(root *spec.Node) {
	p.keys(root, FileName, map[string]func(*spec.Node){
		"connections": func(n *spec.Node) { p.named(n, "`connections` must be a mapping of names", "connection", p.connection) },
		"plugins":     func(n *spec.Node) { p.named(n, "`plugins` must be a mapping of names", "plugin", p.plugin) },
		"workflows":   func(n *spec.Node) { p.project.Workflows = p.texts(n, "`workflows`") },
		"secrets":     p.secrets,
		"retention":   p.retention,
		"limits":      p.limits,
		"notify":      func(n *spec.Node) { p.named(n, "`notify` must be a mapping of names", "notify target", p.notifyTarget) },
		"server":      p.server,
		"sandbox": func(n *spec.Node) {
			p.named(n, "`sandbox` must be a mapping of connections", "connection", p.simulator)
		},
	})
}

// named reads a mapping of names of what; shape says what it must be.
func (p *parser) named(node *spec.Node, shape, what string, read func(name, value *spec.Node)) {
	if node.Kind != spec.Mapping {
		p.problems.Errorf(node.Pos, CodeShape, "%s", shape)
		return
	}
	for _, pair := range node.Pairs {
		if !isName(pair.Key.Text) {
			problem := p.problems.Errorf(pair.Key.Pos, CodeName, "`%s` is not a %s name", pair.Key.Text, what)
			problem.Hint = diag.Say("use lower-case letters, digits, _ and -, at most 63, a letter first")
			continue
		}
		read(pair.Key, pair.Value)
	}
}

func (p *parser) connection(name, value *spec.Node) {
	connection := Connection{Name: name.Text, Plugin: name.Text, Pos: name.Pos}
	p.keys(value, "connection `"+name.Text+"`", map[string]func(*spec.Node){
		"plugin": func(n *spec.Node) { connection.Plugin = p.text(n, "`plugin`") },
		"config": func(n *spec.Node) { connection.Config = n },
		"rate": func(n *spec.Node) {
			connection.Rate = p.text(n, "`rate`")
			p.rate(n)
		},
	})
	p.project.Connections = append(p.project.Connections, connection)
}

func (p *parser) rate(n *spec.Node) {
	parts := ratePattern().FindStringSubmatch(n.Text)
	if parts != nil {
		if _, err := duration.Parse(parts[2]); err == nil {
			return
		}
	}
	p.problems.Errorf(n.Pos, CodeRate, "`%s` is not a rate", n.Text).Hint = diag.Say("write requests/duration, such as 60/1m")
}

func (p *parser) plugin(name, value *spec.Node) {
	plugin, granted, told := Plugin{Name: name.Text, Pos: name.Pos}, false, false
	p.keys(value, "plugin `"+name.Text+"`", map[string]func(*spec.Node){
		"source": func(n *spec.Node) {
			plugin.Source = p.source(n, name.Text)
			if bundled, is := strings.CutPrefix(plugin.Source, BundledPrefix); is {
				plugin.Source, plugin.Bundled = "", bundled
			}
		},
		"with": func(n *spec.Node) {
			if plugin.With = n; n.Kind != spec.Mapping {
				p.problems.Errorf(n.Pos, CodeShape, "`with` must be a mapping of the plugin's settings")
				plugin.With = nil
			}
			told = true
		},
		"version": func(n *spec.Node) { plugin.Version = p.text(n, "`version`") },
		"grants": func(n *spec.Node) {
			granted = true
			p.grants(n, &plugin)
		},
	})
	if plugin.Source == "" && plugin.Bundled == "" && !granted && !told && value.Kind == spec.Mapping {
		p.problems.Errorf(firstKey(value, name), CodeNoSource, "plugin `%s` has no `source`", name.Text).Hint = diag.Say("name the path of its executable: source: ./bin/flowrun-plugin-" + name.Text)
	}
	p.project.Plugins = append(p.project.Plugins, plugin)
}

// BundledPrefix begins the source of a plugin that is bundled under another name.
const BundledPrefix = "bundled:"

// source reads where a plugin lies: on this machine, or an archive's https address, which
// flowrun.lock must have.
func (p *parser) source(n *spec.Node, plugin string) string {
	text := p.text(n, "`source`")
	if scheme, _, isURL := strings.Cut(text, "://"); isURL && scheme != "https" {
		p.problems.Errorf(n.Pos, CodeNoSource, "the source of plugin `%s` is an address (%s), and plugins come over https alone", plugin, scheme).Hint =
			diag.Say("name a file, a folder or an archive on this machine, or an archive's https address: flowrun plugins add ADDRESS --digest sha256:..")
	}
	return text
}

// firstKey is where what a mapping lacks is reported: at its name where it is empty.
func firstKey(mapping, name *spec.Node) diag.Pos {
	if len(mapping.Pairs) == 0 {
		return name.Pos
	}
	return mapping.FirstKey()
}

func (p *parser) secrets(n *spec.Node) {
	p.project.Secrets = nil
	for _, item := range p.items(n, "`secrets`") {
		if item.Text != "env" && item.Text != "store" {
			p.problems.Errorf(item.Pos, CodeProvider, "there is no secret provider `%s`", item.Text).Hint = diag.Say("the providers are env and store")
			continue
		}
		p.project.Secrets = append(p.project.Secrets, item.Text)
	}
}

func (p *parser) retention(n *spec.Node) {
	p.keys(n, "`retention`", map[string]func(*spec.Node){
		"keep": func(v *spec.Node) {
			p.project.Retention.Keep = p.duration(v, math.MinInt64, math.MaxInt64, "")
		},
		"max_runs":  func(v *spec.Node) { p.project.Retention.MaxRuns = p.count(v, "max_runs") },
		"max_total": func(v *spec.Node) { p.project.Retention.MaxTotal = p.count(v, "max_total") },
	})
}

func (p *parser) items(n *spec.Node, what string) []*spec.Node {
	if n.Kind != spec.Sequence {
		p.problems.Errorf(n.Pos, CodeShape, "%s must be a list", what)
		return nil
	}
	return n.Items
}

func (p *parser) texts(n *spec.Node, what string) []string {
	var texts []string
	for _, item := range p.items(n, what) {
		texts = append(texts, p.text(item, what))
	}
	return texts
}

func (p *parser) text(n *spec.Node, what string) string {
	if n.Kind != spec.Scalar || n.Text == "" {
		p.problems.Errorf(n.Pos, CodeShape, "%s must be text", what)
		return ""
	}
	return n.Text
}

func (p *parser) count(n *spec.Node, what string) int {
	count, err := strconv.Atoi(n.Text)
	if n.Kind != spec.Scalar || err != nil || count < 1 || strings.HasPrefix(n.Text, "+") || strings.HasPrefix(n.Text, "0") {
		p.problems.Errorf(n.Pos, CodeNumber, "`%s` must be a whole number of at least 1", what)
		return 0
	}
	return count
}
