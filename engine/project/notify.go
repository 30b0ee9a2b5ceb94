package project

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// Notify is a target of core.notify. Exactly one of Webhook, Secret and Command
// is set.
type Notify struct {
	Name    string
	Webhook string   // the URL
	Secret  string   // NAME of secrets.NAME, whose value is the URL
	Command []string // program and arguments
	On      []string // of what it is told without being asked: failed, paused, recovered, delivery_failed
	Request Request  // of a webhook: what is sent in place of the message as it is
	Pos     diag.Pos // of the name
}

// Request is what a webhook is sent, in the words of its service. Its texts may hold
// expressions over the message, and secrets as whole values.
type Request struct {
	Method      string      // POST or PUT; "" = POST
	ContentType string      // "" = what the body says: JSON or text
	Headers     []spec.Pair // in written order
	Body        *spec.Node  // nil = the message as JSON
}

// Secrets returns the names of the secrets that the target needs: of its address, its
// headers and its body, each once.
func (n *Notify) Secrets() []string {
	var names []string
	add := func(text string) {
		if name, ok := SecretName(text); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if n.Secret != "" {
		names = append(names, n.Secret)
	}
	for _, header := range n.Request.Headers {
		header.Value.EachScalar(func(scalar *spec.Node) { add(scalar.Text) })
	}
	n.Request.Body.EachScalar(func(scalar *spec.Node) { add(scalar.Text) })
	return names
}

// NotifyTarget returns the target of that name.
func (p *Project) NotifyTarget(name string) (*Notify, bool) {
	for i := range p.Notify {
		if p.Notify[i].Name == name {
			return &p.Notify[i], true
		}
	}
	return nil, false
}

var secretReference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\$\{\{\s*secrets\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}$`)
})

// SecretName returns NAME of a text that is one reference, ${{ secrets.NAME }}; false
// for all others.
func SecretName(text string) (name string, ok bool) {
	if !strings.Contains(text, "${{") { // as most: nothing is compiled for them
		return "", false
	}
	match := secretReference().FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return "", false
	}
	return match[1], true
}

// notifyWords are the events that a target can be told of.
func notifyWords() []string { return []string{"failed", "paused", "recovered", "delivery_failed"} }

func (p *parser) notifyTarget(name, value *spec.Node) {
	target := Notify{Name: name.Text, Pos: name.Pos}
	webhook, command := false, false
	p.keys(value, "notify target `"+name.Text+"`", map[string]func(*spec.Node){
		"webhook": func(n *spec.Node) {
			webhook = true
			p.webhook(n, &target)
		},
		"command": func(n *spec.Node) {
			command = true
			target.Command = p.command(n, CodeTarget, "a command takes no expressions", diag.Say("it gets the message as JSON on its standard input"))
		},
		"on":           func(n *spec.Node) { p.notifyOn(n, &target) },
		"body":         func(n *spec.Node) { target.Request.Body = n },
		"headers":      func(n *spec.Node) { p.notifyHeaders(n, &target) },
		"method":       func(n *spec.Node) { p.notifyMethod(n, &target) },
		"content_type": func(n *spec.Node) { p.notifyContentType(n, &target) },
	})
	if value.Kind != spec.Mapping {
		return
	}
	if command && !webhook {
		p.onlyWebhooks(value)
	}
	switch {
	case webhook && command:
		p.problems.Errorf(firstKey(value, name), CodeTargetKind, "notify target `%s` has both a `webhook` and a `command`", name.Text).Hint = diag.Say("make two targets of it")
	case !webhook && !command:
		p.problems.Errorf(firstKey(value, name), CodeTargetKind, "notify target `%s` has neither a `webhook` nor a `command`", name.Text).Hint =
			diag.Say("write `webhook: \"${{ secrets.OPS_HOOK }}\"` or `command: [./tell.sh]`")
	}
	p.project.Notify = append(p.project.Notify, target)
}

func (p *parser) webhook(n *spec.Node, target *Notify) {
	text := p.text(n, "`webhook`")
	if name, ok := SecretName(text); ok {
		target.Secret = name
		return
	}
	address, err := url.Parse(text)
	if text == "" || err == nil && address.Host != "" && (address.Scheme == "https" || address.Scheme == "http") && !strings.Contains(text, "${{") {
		target.Webhook = text
		return
	}
	p.problems.Errorf(n.Pos, CodeTarget, "a webhook is an http or https address, or one ${{ secrets.NAME }}")
}

// command reads a program with its arguments, which hold no expressions: told says so.
func (p *parser) command(n *spec.Node, code, told string, hint diag.Hint) []string {
	command := p.texts(n, "`command`")
	switch {
	case n.Kind == spec.Sequence && len(n.Items) == 0:
		p.problems.Errorf(n.Pos, CodeShape, "`command` must name a program")
	case slices.ContainsFunc(command, func(text string) bool { return strings.Contains(text, "${{") }):
		p.problems.Errorf(n.Pos, code, "%s", told).Hint = hint
	}
	return command
}

func (p *parser) notifyOn(n *spec.Node, target *Notify) {
	for _, item := range p.items(n, "`on`") {
		if slices.Contains(notifyWords(), item.Text) {
			target.On = append(target.On, item.Text)
			continue
		}
		problem := p.problems.Errorf(item.Pos, CodeNotTold, "`%s` is nothing that a target can be told of", item.Text)
		problem.Hint = diag.MeantOr(item.Text, notifyWords(), "it is one of ")
	}
}
