// Package plugintree reads the folder that a plugin comes in: its manifest
// flowrun-plugin.yaml, the digest over all that it holds, its copy, and the archives
// that it is packed in (ADR 49).
package plugintree

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/spec"
)

// ManifestName is the file at the top of a tree that says what the plugin is.
const ManifestName = "flowrun-plugin.yaml"

// maxManifest bounds the manifest's bytes.
const maxManifest = 64 << 10

// Manifest is a read flowrun-plugin.yaml.
type Manifest struct {
	Name      string
	Version   string
	Platforms []string // os/arch that it runs on; nil = all
	Wants     Wants
	commands  map[string][]string // by platform; "" = every one
}

// Wants is what a plugin asks to be granted. Without it the plugin runs without it.
type Wants struct {
	Env      []string
	Hosts    []string
	Paths    []string // with :ro where they are read alone
	Commands []string
	Memory   string // such as 4GiB; "" = the bound that all plugins have
	State    bool   // it keeps state with the engine
}

var (
	namePattern     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`) })
	versionPattern  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$`) })
	platformPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+/[a-z0-9]+$`) })
)

// NameRule says what the name of a plugin is made of.
const NameRule = "lower-case letters, digits, _ and -, at most 63, a letter first"

// ValidName reports whether a plugin may be called so.
func ValidName(name string) bool { return namePattern().MatchString(name) }

// ReadManifest reads the manifest of a tree. The error names file, line and column.
func ReadManifest(tree fs.FS) (*Manifest, error) {
	info, err := fs.Stat(tree, ManifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s in it, which says how the plugin is started", ManifestName)
	}
	if err == nil && info.Size() > maxManifest {
		return nil, fmt.Errorf("%s has %d bytes, at most %d are read", ManifestName, info.Size(), maxManifest)
	}
	src, err := fs.ReadFile(tree, ManifestName)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ManifestName, err)
	}
	return ParseManifest(src)
}

// ParseManifest reads the bytes of a manifest.
func ParseManifest(src []byte) (*Manifest, error) {
	root, problems := spec.ParseNode(ManifestName, src, spec.DefaultLimits())
	if err := problems.Err(); err != nil {
		return nil, err
	}
	m := &manifestReader{Manifest: Manifest{commands: map[string][]string{}}}
	m.keys(root, ManifestName, map[string]func(*spec.Node){
		"name": func(n *spec.Node) {
			m.Name = m.matching(n, "name", namePattern(), NameRule)
		},
		"version":   func(n *spec.Node) { m.Version = m.matching(n, "version", versionPattern(), "such as 1.4.0") },
		"command":   m.command,
		"platforms": func(n *spec.Node) { m.Platforms = m.platforms(n) },
		"wants":     m.wants,
	})
	for _, key := range []string{"name", "version", "command"} {
		if _, there := root.Pair(key); !there && m.err == nil {
			m.err = fmt.Errorf("%s has no `%s`", ManifestName, key)
		}
	}
	if m.err != nil {
		return nil, m.err
	}
	return &m.Manifest, nil
}

// Command returns what starts the plugin on a platform ("linux/amd64"): a file of the
// tree (./plugin) or a program of the system (python3), and its arguments.
func (m *Manifest) Command(platform string) ([]string, error) {
	if len(m.Platforms) > 0 && !slices.Contains(m.Platforms, platform) {
		return nil, fmt.Errorf("it does not run on %s, but on %s", platform, strings.Join(m.Platforms, ", "))
	}
	if command, ok := m.commands[platform]; ok {
		return command, nil
	}
	if command, ok := m.commands[""]; ok {
		return command, nil
	}
	return nil, fmt.Errorf("it has no command for %s, but for %s", platform, strings.Join(slices.Sorted(maps.Keys(m.commands)), ", "))
}

// ProgramFolder is where, below the top of a tree, the programs lie that the plugin names
// by a relative path, such as its simulator: beside its executable, or at the top where a
// program of the system starts it.
func (m *Manifest) ProgramFolder(platform string) string {
	command, err := m.Command(platform)
	if err != nil || !OfTree(command[0]) {
		return "."
	}
	return path.Dir(command[0])
}

// Interpreters are the programs outside of the tree that start it.
func (m *Manifest) Interpreters() []string {
	var names []string
	for _, command := range m.commands {
		if !OfTree(command[0]) {
			names = append(names, command[0])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// OfTree reports whether a program is a file of the tree: it is written with a slash.
func OfTree(program string) bool { return strings.Contains(program, "/") }

// manifestReader keeps the first problem.
type manifestReader struct {
	Manifest
	err error
}

func (m *manifestReader) wrong(n *spec.Node, format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("%s: %s", n.Pos, fmt.Sprintf(format, args...))
	}
}

func (m *manifestReader) keys(n *spec.Node, what string, readers map[string]func(*spec.Node)) {
	if n.Kind != spec.Mapping {
		m.wrong(n, "%s must be a mapping", what)
		return
	}
	for _, pair := range n.Pairs {
		read, ok := readers[pair.Key.Text]
		if !ok {
			hint := diag.MeantOr(pair.Key.Text, slices.Sorted(maps.Keys(readers)), "its keys are ")
			m.wrong(pair.Key, "%s has no key `%s`; %s", what, pair.Key.Text, hint.Text)
			return
		}
		read(pair.Value)
	}
}

func (m *manifestReader) matching(n *spec.Node, what string, pattern *regexp.Regexp, rule string) string {
	if n.Kind != spec.Scalar || !pattern.MatchString(n.Text) {
		m.wrong(n, "`%s` must be %s", what, rule)
		return ""
	}
	return n.Text
}

func (m *manifestReader) texts(n *spec.Node, what string) []string {
	if n.Kind != spec.Sequence {
		m.wrong(n, "`%s` must be a list", what)
		return nil
	}
	texts := []string{}
	for _, item := range n.Items {
		if item.Kind != spec.Scalar || item.Text == "" {
			m.wrong(item, "`%s` must be a list of texts", what)
			return nil
		}
		texts = append(texts, item.Text)
	}
	return texts
}

func (m *manifestReader) platforms(n *spec.Node) []string {
	names := m.texts(n, "platforms")
	for i, name := range names {
		if !platformPattern().MatchString(name) {
			m.wrong(n.Items[i], "`%s` is no platform: write it as linux/amd64", name)
		}
	}
	return names
}

// command reads a list of words, or a mapping of platforms to such lists.
func (m *manifestReader) command(n *spec.Node) {
	if n.Kind != spec.Mapping {
		m.commands[""] = m.words(n)
		return
	}
	for _, pair := range n.Pairs {
		if !platformPattern().MatchString(pair.Key.Text) {
			m.wrong(pair.Key, "`%s` is no platform: write it as linux/amd64", pair.Key.Text)
		}
		m.commands[pair.Key.Text] = m.words(pair.Value)
	}
}

func (m *manifestReader) words(n *spec.Node) []string {
	words := m.texts(n, "command")
	switch {
	case m.err != nil:
		return []string{"-"}
	case len(words) == 0:
		m.wrong(n, "`command` must be a list of a program and its arguments")
		return []string{"-"}
	case OfTree(words[0]) && !fs.ValidPath(strings.TrimPrefix(words[0], "./")):
		m.wrong(n.Items[0], "`%s` is no file of the tree: write ./NAME for one, or a program's bare name", words[0])
	}
	return words
}

func (m *manifestReader) wants(n *spec.Node) {
	list := func(what string, into *[]string) func(*spec.Node) {
		return func(n *spec.Node) { *into = m.texts(n, what) }
	}
	w := &m.Wants
	m.keys(n, "`wants`", map[string]func(*spec.Node){
		"env": list("env", &w.Env), "hosts": list("hosts", &w.Hosts), "paths": list("paths", &w.Paths), "commands": list("commands", &w.Commands),
		"memory": func(n *spec.Node) {
			if _, err := quota.ParseSize(n.Text); n.Kind != spec.Scalar || err != nil {
				m.wrong(n, "`memory` must be a size such as 4GiB")
			}
			w.Memory = n.Text
		},
		"state": func(n *spec.Node) {
			if n.Kind != spec.Scalar || n.Text != "true" && n.Text != "false" {
				m.wrong(n, "`state` must be true or false")
			}
			w.State = n.Text == "true"
		},
	})
}
