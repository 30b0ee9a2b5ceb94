package importer

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/spec"
)

// command is a shell script, or a program, that becomes a command of the plugin exec.
type command struct {
	name    string
	argv    []string
	given   []given  // values that it gets: variables of its environment
	secrets []secret // variables of its environment that are secrets
	answer  []string // fields of the JSON that it shall write
	cwd     string
	effect  string   // "" = once
	exits   []string // codes with which it did well, besides 0
}

// given is a value that a workflow gives to a command.
type given struct {
	name string
	text string // with `${{ }}`, of type text
}

// secret is a variable that holds a secret.
type secret struct{ variable, name string }

// give adds a value under a name, another one where it is taken by another value.
func (c *command) give(name, text string) string {
	base := variable(name)
	name = base
	for n := 2; ; n++ {
		at := slices.IndexFunc(c.given, func(g given) bool { return g.name == name })
		if at < 0 {
			c.given = append(c.given, given{name, text})
			return name
		}
		if c.given[at].text == text {
			return name
		}
		name = base + "_" + string(rune('0'+min(n, 9)))
		if n > 9 {
			return name
		}
	}
}

func (c *command) giveSecret(name, of string) string {
	name = variable(name)
	if !slices.Contains(c.secrets, secret{name, of}) {
		c.secrets = append(c.secrets, secret{name, of})
	}
	return name
}

var notInVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9]+`) })

// variable makes the name of a variable of an environment.
func variable(text string) string {
	name := strings.Trim(notInVariable().ReplaceAllString(text, "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "V_" + name
	}
	if len(name) > 60 {
		name = name[:60]
	}
	return name
}

// inScript is a template as the text of a shell script: its expressions are variables.
func (t template) inScript(c *command, original []part) string {
	var b strings.Builder
	for i, p := range t.parts {
		switch {
		case !p.isExpr:
			b.WriteString(p.text)
		case p.expr.secret != "":
			b.WriteString("${" + c.giveSecret(p.expr.secret, p.expr.secret) + "}")
		default:
			name := strings.ToUpper(notInVariable().ReplaceAllString(original[i].text, "_"))
			b.WriteString("${" + c.give(name, template{parts: []translated{p}}.text()) + "}")
		}
	}
	return b.String()
}

// shellOptions are those of a script that ends at the first mistake.
var shellOptions = []string{"-eo", "pipefail"}

// script makes s a call of a script that becomes a file of its own. shell is the program
// that runs it with its options; line is where it stood.
func (w *workflow) script(s *step, line int, c command, shell []string, body string) {
	if c.name == "" {
		c.name = s.id
	}
	extension := ".sh"
	for program, ending := range map[string]string{"python": ".py", "python3": ".py", "node": ".js", "ruby": ".rb", "pwsh": ".ps1", "Rscript": ".r"} {
		if len(shell) > 0 && shell[0] == program {
			extension = ending
		}
	}
	file := "scripts/" + identifier(w.name) + "/" + c.name + extension
	if !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	w.scripts = append(w.scripts, Script{Name: file, Text: body})
	c.argv = append(slices.Clone(shell), file)
	what := "the script is " + file + ", the command `" + c.name + "` of the plugin exec: declare it in flowrun.yaml, as at the end of this file"
	if len(c.answer) > 0 {
		what += "; it shall write its outputs to stdout as one line of JSON, `" + jsonShape(c.answer) + "`"
	}
	w.call(s, line, c, what)
}

func jsonShape(fields []string) string {
	parts := make([]string, len(fields))
	for i, name := range fields {
		parts[i] = quoteText(name) + ": …"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// call makes s a call of a declared command.
func (w *workflow) call(s *step, line int, c command, what string) {
	w.gap(s, line, "%s", what)
	with := mapping(field("command", text(c.name)))
	if len(c.given) > 0 {
		input := mapping()
		for _, g := range c.given {
			input.add(g.name, text(g.text))
		}
		with.add("input", input)
	}
	uses := "exec.run"
	if c.effect == "read" {
		uses = "exec.read"
	}
	s.add("uses", text(uses)).add("with", with)
	w.commands = append(w.commands, c)
}

// declaration is a command as flowrun.yaml has it.
func (c command) declaration() *value {
	argv := list()
	for _, arg := range c.argv {
		argv.items = append(argv.items, text(strings.NewReplacer("{", "{{", "}", "}}").Replace(arg)))
	}
	out := mapping(field("argv", argv))
	if c.effect != "" {
		out.add("effect", text(c.effect))
	}
	if len(c.exits) > 0 {
		exits := mapping()
		for _, code := range c.exits {
			exits.add(code, text("ok"))
		}
		out.add("exits", exits)
	}
	if len(c.given) > 0 {
		env, properties, required := mapping(), mapping(), list()
		for _, g := range c.given {
			env.add(g.name, text("{"+g.name+"}"))
			properties.add(g.name, mapping(field("type", text("string"))))
			required.items = append(required.items, text(g.name))
		}
		out.add("env", env)
		out.add("input", mapping(field("type", text("object")), field("required", required), field("properties", properties)))
	}
	if len(c.secrets) > 0 {
		env := mapping()
		for _, s := range c.secrets {
			env.add(s.variable, text("${{ secrets."+s.name+" }}"))
		}
		out.add("secret_env", env)
	}
	if len(c.answer) > 0 {
		properties := mapping()
		for _, name := range c.answer {
			properties.add(name, mapping(field("type", text("string"))))
		}
		out.add("answer", mapping(field("type", text("object")), field("required", texts(c.answer)), field("properties", properties)))
	}
	if c.cwd != "" {
		out.add("cwd", text(c.cwd))
	}
	return out
}

// client is a service that is called over HTTP: a connection of flowrun.yaml.
type client struct{ name, base string }

// client returns the name of the connection for the origin of a URL.
func (w *workflow) client(base string) string {
	for _, c := range w.clients {
		if c.base == base {
			return c.name
		}
	}
	host := base[strings.LastIndex(base, "/")+1:]
	name := identifier(strings.Split(host, ":")[0])
	for slices.ContainsFunc(w.clients, func(c client) bool { return c.name == name }) || name == "exec" {
		name += "_2"
	}
	w.clients = append(w.clients, client{name, base})
	return name
}

// fragment writes what flowrun.yaml must have, as comments.
func (w *workflow) fragment(out *writer) {
	if len(w.commands)+len(w.clients) == 0 {
		return
	}
	connections := &value{kind: spec.Mapping, block: true}
	if len(w.commands) > 0 {
		commands := &value{kind: spec.Mapping, block: true}
		for _, c := range w.commands {
			commands.add(c.name, c.declaration())
		}
		config := &value{kind: spec.Mapping, block: true, pairs: []pair{field("commands", commands)}}
		connections.add("exec", &value{kind: spec.Mapping, block: true, pairs: []pair{field("plugin", text("exec")), field("config", config)}})
	}
	for _, c := range w.clients {
		config := mapping(field("base_url", text(c.base)))
		connections.add(c.name, &value{kind: spec.Mapping, block: true, pairs: []pair{field("plugin", text("http")), field("config", config)}})
	}
	root := mapping(field("connections", connections))
	if len(w.scripts) > 0 {
		grants := mapping(field("paths", list(text("scripts:ro"))))
		root.pairs = append([]pair{field("plugins", mapping(field("exec", mapping(field("grants", grants)))))}, root.pairs...)
	}
	inner := &writer{}
	inner.pairs(0, "", root.pairs)
	out.line(0, "")
	out.line(0, "# import: for flowrun.yaml")
	for line := range strings.Lines(inner.out.String()) {
		out.line(0, strings.TrimRight("#   "+strings.TrimSuffix(line, "\n"), " "))
	}
}

// plainShell is what of a shell's line has no meaning of its own.
var shellMeaning = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[`;&|<>()\\\\\n*?!~#\\[\\]{}]") })

// simple makes a step of the plainest commands: echo, sleep, exit. It reports whether the
// script is one of them.
func (w *workflow) simple(s *step, t template) bool {
	if len(t.gaps) > 0 || t.hasSecret() {
		return false
	}
	first := ""
	if len(t.parts) > 0 && !t.parts[0].isExpr {
		first = strings.TrimLeft(t.parts[0].text, " \n")
	}
	word, rest, _ := strings.Cut(strings.TrimRight(first, "\n"), " ")
	switch {
	case word == "echo":
		return w.echo(s, t)
	case !t.literal():
		return false
	case (word == "exit" || word == "false") && strings.TrimSpace(first) != "exit 0":
		if word == "exit" && !isInteger(strings.TrimSpace(rest)) {
			return false
		}
		s.add("uses", text("core.fail")).add("with", mapping(field("message", text("ended with `"+strings.TrimSpace(first)+"`"))))
		return true
	case word == "sleep":
		wait, ok := sleepTime(strings.TrimSpace(rest))
		if ok {
			s.add("uses", text("core.sleep")).add("with", mapping(field("for", bare(wait))))
		}
		return ok
	}
	return false
}

// sleepTime reads what follows `sleep`.
func sleepTime(text string) (string, bool) {
	switch {
	case isInteger(text) && text != "0" && len(text) < 9:
		return text + "s", true
	case len(text) > 1 && len(text) < 9 && isInteger(text[:len(text)-1]) && text[0] != '0' && strings.ContainsAny(text[len(text)-1:], "smhd"):
		return text, true
	}
	return "", false
}

// echo makes core.log of an echo whose text the shell does nothing with.
func (w *workflow) echo(s *step, t template) bool {
	parts := slices.Clone(t.parts)
	last := len(parts) - 1
	parts[0].text = strings.TrimPrefix(strings.TrimLeft(parts[0].text, " \n"), "echo ")
	parts[0].text = strings.TrimLeft(parts[0].text, " ")
	if !parts[last].isExpr {
		parts[last].text = strings.TrimRight(parts[last].text, " \n")
	}
	quote := ""
	for _, sign := range []string{`"`, "'"} {
		if strings.HasPrefix(parts[0].text, sign) && !parts[last].isExpr && strings.HasSuffix(parts[last].text, sign) && (last > 0 || len(parts[0].text) > 1) {
			quote = sign
			parts[0].text = strings.TrimPrefix(parts[0].text, sign)
			parts[last].text = strings.TrimSuffix(parts[last].text, sign)
		}
	}
	for _, p := range parts {
		if p.isExpr {
			continue
		}
		text := p.text
		if quote != "" {
			text = strings.NewReplacer("(", "", ")", "", ";", "", "&", "", "|", "", "<", "", ">", "", "*", "", "?", "", "!", "", "~", "", "#", "", "[", "", "]", "", "{", "", "}", "").Replace(text)
		}
		if strings.HasPrefix(text, "-") || strings.ContainsAny(text, `"'$`) || shellMeaning().MatchString(text) {
			return false
		}
	}
	shown := template{parts: slices.DeleteFunc(parts, func(p translated) bool { return !p.isExpr && p.text == "" })}
	if len(shown.parts) == 0 {
		return false
	}
	s.add("uses", text("core.log")).add("with", mapping(field("text", text(shown.text()))))
	return true
}
