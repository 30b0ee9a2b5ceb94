package project

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/spec"
)

// Edits of flowrun.yaml by commands. They put lines in and take lines out: comments,
// order and form of all else stay. What comes out is read again, and refused where it
// says something else than what was meant.

// EditError says that an edit can't be made, and what to write by hand.
type EditError struct{ Line string }

func (e *EditError) Error() string {
	return "flowrun.yaml is written in a way that commands do not change"
}

// AddPlugin returns the file with one more plugin: its source, and what it is granted.
func AddPlugin(src []byte, plugin Plugin) ([]byte, error) {
	entry := plugin.Name + ": {source: " + quoted(plugin.Source) + grantsAfter(plugin.Grants) + "}"
	root, problems := spec.ParseNode(FileName, src, spec.DefaultLimits())
	edited := slices.Clone(src)
	plugins, there := root.Pair("plugins")
	switch {
	case root == nil && problems.HasErrors() && len(bytes.TrimSpace(stripComments(src))) > 0:
		return nil, problems
	case !there:
		if len(edited) > 0 && !bytes.HasSuffix(edited, []byte("\n")) {
			edited = append(edited, '\n')
		}
		edited = append(edited, "plugins:\n  "+entry+"\n"...)
	case plugins.Value.Kind == spec.Mapping && !plugins.Value.Flow && len(plugins.Value.Pairs) > 0:
		first := plugins.Value.Pairs[0].Key.Pos
		edited = insertLine(src, first.Line, strings.Repeat(" ", first.Column-1)+entry)
	case plugins.Value.Kind == spec.Mapping && plugins.Value.Flow:
		between := ", "
		if len(plugins.Value.Pairs) == 0 {
			between = ""
		}
		edited = insertAt(src, plugins.Value.Pos.Line, plugins.Value.Pos.Column, "{", entry+between)
	}
	return edited, judge(src, edited, "plugins: {"+entry+"}", func(p *Project) { p.Plugins = append(p.Plugins, plugin) })
}

// GrantPlugin returns the file with other grants of a plugin; the empty ones take the key out.
func GrantPlugin(src []byte, name string, grants Grants) ([]byte, error) {
	line := "plugins: {" + name + ": {grants: " + grants.YAML() + "}}"
	pair, ok := pluginPair(src, name)
	if !ok || pair.Value.Kind != spec.Mapping {
		return nil, &EditError{Line: line}
	}
	edited := src
	if old, there := pair.Value.Pair("grants"); there {
		edited = cutPair(edited, old, pair.Value)
		if pair, ok = pluginPair(edited, name); !ok {
			return nil, &EditError{Line: line}
		}
	}
	if text := grants.YAML(); text != "{}" {
		if source, there := pair.Value.Pair("source"); there && pair.Value.Flow {
			edited = insertAt(edited, pair.Value.Pos.Line, pair.Value.Pos.Column, "{", "grants: "+text+", ")
		} else if there {
			key := source.Key.Pos
			edited = insertLine(edited, key.Line, strings.Repeat(" ", key.Column-1)+"grants: "+text)
		}
	}
	return edited, judge(src, edited, line, func(p *Project) {
		for i := range p.Plugins {
			if p.Plugins[i].Name == name {
				p.Plugins[i].Grants = grants
			}
		}
	})
}

// MovePlugin returns the file with another source of a plugin.
func MovePlugin(src []byte, name, source string) ([]byte, error) {
	line := "plugins: {" + name + ": {source: " + quoted(source) + "}}"
	pair, _ := pluginPair(src, name)
	old, ok := pair.Value.Pair("source")
	if !ok {
		return nil, &EditError{Line: line}
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	at := old.Value.Pos
	runes := []rune(string(lines[at.Line-1]))
	before, after := string(runes[:at.Column-1]), string(runes[at.Column-1:])
	edited := src
	for _, written := range []string{old.Value.Text, strconv.Quote(old.Value.Text), "'" + old.Value.Text + "'"} {
		if rest, found := strings.CutPrefix(after, written); found {
			lines[at.Line-1] = []byte(before + quoted(source) + rest)
			edited = bytes.Join(lines, nil)
			break
		}
	}
	return edited, judge(src, edited, line, func(p *Project) {
		for i := range p.Plugins {
			if p.Plugins[i].Name == name {
				p.Plugins[i].Source = source
			}
		}
	})
}

// RemovePlugin returns the file without a plugin.
func RemovePlugin(src []byte, name string) ([]byte, error) {
	pair, ok := pluginPair(src, name)
	root, _ := spec.ParseNode(FileName, src, spec.DefaultLimits())
	plugins, there := root.Pair("plugins")
	if !ok || !there {
		return nil, &EditError{}
	}
	edited := cutPair(src, pair, plugins.Value)
	if len(plugins.Value.Pairs) == 1 && !plugins.Value.Flow {
		edited = cutPair(src, plugins, root)
	}
	return edited, judge(src, edited, "", func(p *Project) {
		p.Plugins = slices.DeleteFunc(p.Plugins, func(plugin Plugin) bool { return plugin.Name == name })
	})
}

func pluginPair(src []byte, name string) (spec.Pair, bool) {
	root, _ := spec.ParseNode(FileName, src, spec.DefaultLimits())
	plugins, _ := root.Pair("plugins")
	return plugins.Value.Pair(name)
}

// judge reads what an edit has made: it must say what the file said, with the change.
func judge(before, after []byte, line string, change func(*Project)) error {
	want, _ := Parse(FileName, before)
	got, problems := Parse(FileName, after)
	if err := problems.Err(); err != nil {
		return fmt.Errorf("%w: %w", &EditError{Line: line}, err)
	}
	change(want)
	told, same := toldTexts(want), toldTexts(got)
	for _, p := range []*Project{want, got} {
		withoutPlaces(p)
	}
	if !maps.Equal(told, same) || !reflect.DeepEqual(want.Plugins, got.Plugins) || len(want.Connections) != len(got.Connections) || !reflect.DeepEqual(want.Workflows, got.Workflows) ||
		!reflect.DeepEqual(want.Limits, got.Limits) || !reflect.DeepEqual(want.Secrets, got.Secrets) || len(want.Notify) != len(got.Notify) || len(want.Sandbox) != len(got.Sandbox) {
		return &EditError{Line: line}
	}
	return nil
}

// toldTexts is what each plugin is told, as JSON.
func toldTexts(p *Project) map[string]string {
	texts := map[string]string{}
	for _, plugin := range p.Plugins {
		if plugin.With != nil {
			texts[plugin.Name] = string(plugin.With.JSON())
		}
	}
	return texts
}

// withoutPlaces takes out what tells where something stands: of what plugins are told all.
func withoutPlaces(p *Project) {
	for i := range p.Plugins {
		p.Plugins[i].Pos, p.Plugins[i].With = Plugin{}.Pos, nil
	}
	if len(p.Plugins) == 0 {
		p.Plugins = nil
	}
	order.Sort(p.Plugins, func(a, b Plugin) int { return strings.Compare(a.Name, b.Name) })
}

// YAML is what is granted as a flow mapping.
func (g Grants) YAML() string {
	var parts []string
	list := func(name string, values []string) {
		if values != nil {
			words := make([]string, len(values))
			for i, value := range values {
				words[i] = quoted(value)
			}
			parts = append(parts, name+": ["+strings.Join(words, ", ")+"]")
		}
	}
	var paths []string
	for _, path := range g.Paths {
		paths = append(paths, path.String())
	}
	list("paths", paths)
	list("hosts", g.Hosts)
	list("env", g.Env)
	list("commands", g.Commands)
	if g.Memory != "" {
		parts = append(parts, "memory: "+g.Memory)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func grantsAfter(g Grants) string {
	if text := g.YAML(); text != "{}" {
		return ", grants: " + text
	}
	return ""
}

// quoted is a text as a scalar of a flow mapping.
func quoted(text string) string {
	for i, r := range text {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' || r == '/' || r == '_'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-+@~%", r)) && (r != ':' || !strings.HasPrefix(text[i:], "://")) {
			return strconv.Quote(text)
		}
	}
	return text
}

func stripComments(src []byte) []byte {
	var kept [][]byte
	for _, line := range bytes.Split(src, []byte("\n")) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, []byte("\n"))
}

// insertLine puts a line before the line of that number, which counts from 1.
func insertLine(src []byte, line int, text string) []byte {
	lines := bytes.SplitAfter(src, []byte("\n"))
	at := min(line-1, len(lines))
	return bytes.Join(slices.Insert(lines, at, []byte(text+"\n")), nil)
}

// insertAt puts a text behind a sign that stands at a place.
func insertAt(src []byte, line, column int, sign, text string) []byte {
	lines := bytes.SplitAfter(src, []byte("\n"))
	runes := []rune(string(lines[line-1]))
	if column > len(runes) || string(runes[column-1]) != sign {
		return src // judge refuses it
	}
	lines[line-1] = []byte(string(runes[:column]) + text + string(runes[column:]))
	return bytes.Join(lines, nil)
}

// cutPair takes a key with its value out of its mapping.
func cutPair(src []byte, pair spec.Pair, parent *spec.Node) []byte {
	lines := bytes.SplitAfter(src, []byte("\n"))
	from := pair.Key.Pos.Line - 1
	if !parent.Flow {
		to := from + 1
		for end := to; end < len(lines); end++ {
			line := strings.TrimRight(string(lines[end]), "\r\n")
			indent := len(line) - len(strings.TrimLeft(line, " "))
			if strings.TrimSpace(line) == "" || indent < pair.Key.Pos.Column && strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			if indent < pair.Key.Pos.Column {
				break
			}
			to = end + 1
		}
		return bytes.Join(slices.Concat(lines[:from], lines[to:]), nil)
	}
	runes := []rune(string(bytes.Join(lines[from:], nil)))
	begin := pair.Key.Pos.Column - 1
	end, last := flowEnd(runes, begin)
	if last { // the comma before it goes
		for begin > 0 && (runes[begin-1] == ' ' || runes[begin-1] == ',') {
			begin--
		}
	} else {
		for end++; end < len(runes) && runes[end] == ' '; end++ {
		}
	}
	return append(bytes.Join(lines[:from], nil), string(runes[:begin])+string(runes[end:])...)
}

// flowEnd is where an entry of a flow mapping ends, and whether it is the last.
func flowEnd(runes []rune, at int) (end int, last bool) {
	depth := 0
	for ; at < len(runes); at++ {
		switch r := runes[at]; {
		case r == '\'' || r == '"':
			for at++; at < len(runes) && runes[at] != r; at++ {
				if runes[at] == '\\' && r == '"' {
					at++
				}
			}
		case r == '{' || r == '[':
			depth++
		case (r == '}' || r == ']') && depth == 0:
			return at, true
		case r == '}' || r == ']':
			depth--
		case r == ',' && depth == 0:
			return at, false
		}
	}
	return at, true
}
