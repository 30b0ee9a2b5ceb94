package spec

import (
	"strings"
	"unicode"
)

// Markdown is the table of the language as docs/language.md has it: a section for each map, with a row for each key. A key that must be there
// has a `!`.
func (l *Language) Markdown() string {
	var b strings.Builder
	for i := range l.Maps {
		if m := &l.Maps[i]; m.hasSection() {
			l.section(&b, m)
		}
	}
	return b.String()
}

// hasSection leaves out maps of names, and those whose keys say the same.
func (m *Map) hasSection() bool {
	return len(m.Keys) > 0 && m.Keys[0].Doc != ""
}

func (l *Language) section(b *strings.Builder, m *Map) {
	b.WriteString("### " + m.title() + "\n\n")
	if m.Doc != "" {
		b.WriteString(m.Doc + "\n\n")
	}
	kinds, defaults := m.Kinds() != nil, false
	for _, key := range m.Keys {
		defaults = defaults || key.Default != ""
	}
	row := func(name, of, value, otherwise, doc string) {
		cells := []string{name}
		if kinds {
			cells = append(cells, of)
		}
		cells = append(cells, value)
		if defaults {
			cells = append(cells, otherwise)
		}
		b.WriteString("|")
		for _, cell := range append(cells, doc) {
			b.WriteString(strings.TrimRight(" "+strings.ReplaceAll(cell, "|", `\|`), " ") + " |")
		}
		b.WriteString("\n")
	}
	row("key", "of", "value", "default", "what it is for")
	row("---", "---", "---", "---", "---")
	for i := range m.Keys {
		key := &m.Keys[i]
		name, otherwise := "`"+key.Name+"`", ""
		if key.Needed {
			name = "`" + key.Name + "!`"
		}
		if key.Default != "" {
			otherwise = "`" + key.Default + "`"
		}
		row(name, strings.Join(l.doc(m, key, "").Kinds, ", "), l.linked(key), otherwise, key.Doc)
	}
	b.WriteString("\n")
}

// linked is the value of a key with a link to the section of its map.
func (l *Language) linked(key *Key) string {
	value, below := key.Value(), l.below(key)
	switch {
	case below == nil:
		return value
	case below.Each != nil && l.below(below.Each) != nil:
		to := l.below(below.Each)
		return strings.Replace(value, "a map", "a map of names, each "+to.link(), 1)
	case below.Each != nil:
		return strings.Replace(value, "a map", "a map of names", 1)
	case !below.hasSection():
		return value
	}
	value = strings.Replace(value, "a map", below.link(), 1)
	return strings.Replace(value, "a list of steps", "a list of [steps](#"+below.anchor()+")", 1)
}

// title is the heading of the map's section.
func (m *Map) title() string {
	runes := []rune(m.What)
	runes[0] = unicode.ToUpper(runes[0])
	if action, isWith := m.ofAction(); isWith {
		return "`with` of `" + action + "`"
	}
	return string(runes)
}

func (m *Map) link() string {
	if strings.HasPrefix(m.What, "`") {
		return "a map: [" + m.What + "](#" + m.anchor() + ")"
	}
	article, what, _ := strings.Cut(m.What, " ")
	return article + " [" + what + "](#" + m.anchor() + ")"
}

// anchor is how a page links to the section: as GitHub makes it of the heading.
func (m *Map) anchor() string {
	return strings.NewReplacer(" ", "-", "`", "", ".", "").Replace(strings.ToLower(m.title()))
}
