package check

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// Delivery says how an output goes out where a workflow names a connection alone: the
// action, and the inputs that take its parts (the protocol's Delivery).
type Delivery struct {
	Action                         string
	Content, Markdown, Path, Title string // "" = no input takes it
}

// DeliveryCatalog is a Catalog that knows which plugins deliver outputs.
type DeliveryCatalog interface {
	// Delivery returns how a plugin delivers outputs; nil where it does not.
	Delivery(plugin string) *Delivery
}

// The roots that the calls of destinations read.
const (
	outputRoot = "output"
	// notifyTargets begins a destination that is a notify target.
	notifyTargets = "notify"
	// maxDestinations is how many an output has at most.
	maxDestinations = 16
)

// destinations checks where an output goes when the run has succeeded.
func (c *checker) destinations(out *plan.Output, node *spec.Node, t *schema.Type) {
	if node.Kind != spec.Sequence {
		c.errorAt(node.Pos, CodeShape, "`to` must be a list, not a %s", node.Kind).Hint = diag.Say("write `to: [mail.team]`; quote a path with braces")
		return
	}
	if t != nil && t.HasSecret() {
		c.errorAt(node.Pos, CodeSecretText, "an output with a secret in it goes nowhere").Hint = diag.Say("let the output have what others may see")
		return
	}
	if t != nil && t.HasBlob() {
		c.errorAt(node.Pos, CodeDestination, "an output with a large value in it is not delivered: it lives as long as its run").Hint =
			diag.Say("send it by a step, such as files.write or http.put with `blob: ${{ … }}`")
		return
	}
	if len(node.Items) == 0 || len(node.Items) > maxDestinations {
		c.errorAt(node.Pos, CodeDestination, "an output has 1 to %d destinations", maxDestinations)
		return
	}
	d := &destination{c: c, output: out, scope: c.destinationScope(out, t)}
	for _, item := range node.Items {
		d.item(item)
	}
}

// destination reads the destinations of one output.
type destination struct {
	c      *checker
	output *plan.Output
	scope  *eval.Scope
}

// destinationScope is what the calls see: what is known when the run has ended.
func (c *checker) destinationScope(out *plan.Output, t *schema.Type) *eval.Scope {
	if t == nil {
		t = schema.Of(schema.Any)
	}
	text := schema.Of(schema.String)
	scope := eval.NewScope()
	for _, name := range []string{"run", inputsKey, "secrets"} {
		if known, ok := c.roots.Lookup(name); ok {
			scope = scope.With(name, known)
		}
	}
	return scope.With(outputRoot, schema.ObjectOf(
		schema.Required("name", schema.EnumOf(out.Name)), schema.Required("text", text), schema.Required("value", t),
		schema.Required("format", schema.EnumOf("", "markdown", "csv")), schema.Required("media_type", text),
	))
}

func (d *destination) item(node *spec.Node) {
	switch {
	case node.Bad:
	case node.Kind == spec.Mapping:
		d.written(node)
	case node.Kind == spec.Scalar:
		d.short(node)
	default:
		d.c.errorAt(node.Pos, CodeShape, "a destination is a text or a map, not a %s", node.Kind)
	}
}

// written reads a call that is written out.
func (d *destination) written(node *spec.Node) {
	c, nodes := d.c, map[string]*spec.Node{}
	read := func(key *spec.Key, n *spec.Node) { nodes[key.Name] = n }
	c.fields(node, "destination", map[string]reader{"uses": read, "with": read, "connection": read})
	for _, name := range []string{"uses", "connection"} {
		if n := nodes[name]; n != nil && !c.scalar(n, "`"+name+"`") {
			return
		}
	}
	uses := nodes["uses"]
	if uses == nil {
		return // told
	}
	if isWorkflowPath(uses) {
		c.errorAt(uses.Pos, CodeDestination, "a workflow is no destination").Hint = diag.Say("`after` follows a workflow with another one")
		return
	}
	s := d.step(&spec.Step{Node: node, Kind: spec.ActionStep, Uses: uses, With: nodes["with"], Connection: nodes["connection"]})
	s.plan.Title = uses.Text
	if connection := nodes["connection"]; connection != nil {
		s.plan.Title += " (" + connection.Text + ")"
		if c.text(connection).hasExpr() {
			c.errorAt(connection.Pos, CodeStatic, "the connection of a destination is a name")
			return
		}
	}
	d.call(s, func() { c.with(s) })
}

// step makes the call of a destination.
func (d *destination) step(src *spec.Step) *step {
	return &step{src: src, list: &list{}, plan: &plan.Step{
		ID: runs.DeliveryID(d.output.Name, len(d.output.To)), Kind: plan.StepAction, RunIf: plan.RunIfOK, Pos: position(src.Node.Pos), Uses: src.Uses.Text,
	}, readsAll: true, scope: d.scope}
}

// call checks the action and the connection of a destination; with reads its inputs.
func (d *destination) call(s *step, with func()) {
	c := d.c
	if s.action = c.actionOf(s.src.Uses); s.action == nil {
		c.unknownUse(s)
		return
	}
	s.plan.Timeout = s.action.plan.DefaultTimeout
	switch name := s.action.plan.FullName(); {
	case s.action.inside():
		c.errorAt(s.src.Uses.Pos, CodeDestination, "`%s` is no destination", name).Hint = diag.Say("it belongs into a step; of core only core.notify tells others")
		return
	case s.action.plan.Effect == plan.EffectRead:
		c.errorAt(s.src.Uses.Pos, CodeDestination, "`%s` is no destination: it only reads", name).Hint = diag.Say("a destination is an action that does something with the output")
		return
	}
	with()
	c.notifyTarget(s)
	c.connection(s)
	d.output.To = append(d.output.To, *s.plan)
}

var (
	shortForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(spec.DestinationPattern)
	})
	field = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$`)
	})
)

// short reads `plugin.connection`, `plugin.connection/path` or `notify.target`.
func (d *destination) short(node *spec.Node) {
	c := d.c
	match := shortForm().FindStringSubmatchIndex(node.Text)
	if match == nil {
		c.errorAt(node.Pos, CodeDestination, "`%s` is no destination", node.Text).Hint =
			diag.Say("write `plugin.connection`, `plugin.connection/path`, `notify.target`, or a call: `{uses: http.put, with: {…}}`")
		return
	}
	part := func(i int) *spec.Node {
		made := *node
		made.Text, made.Pos = node.Text[match[2*i]:match[2*i+1]], node.Span(match[2*i], match[2*i+1])
		return &made
	}
	plugin, connection := part(1), part(2)
	hasPath := match[6] >= 0
	how := d.how(plugin)
	switch {
	case how == nil && plugin.Text == notifyTargets:
		d.target(node, connection, hasPath)
		return
	case how == nil:
		d.noDelivery(plugin)
		return
	case how.Path == "" && hasPath:
		c.errorAt(node.Span(match[6], match[7]), CodeDestination, "nothing can stand behind `%s.%s`: the plugin takes no path", plugin.Text, connection.Text)
		return
	case how.Path != "" && (!hasPath || match[6] == match[7]):
		c.errorAt(node.Pos, CodeDestination, "a path is missing behind `%s.%s`", plugin.Text, connection.Text).Hint =
			diag.Say("write `" + plugin.Text + "." + connection.Text + "/" + d.output.Name + "-{run.id}.txt`")
		return
	}
	uses := *plugin
	uses.Text = plugin.Text + "." + how.Action
	s := d.step(&spec.Step{Node: node, Kind: spec.ActionStep, Uses: &uses, Connection: connection})
	s.plan.Title = node.Text
	d.call(s, func() { d.inputs(s, how, node, max(match[6], 0)) })
}

// how is the delivery of a plugin, nil where it has none.
func (d *destination) how(plugin *spec.Node) *Delivery {
	if catalog, ok := d.c.catalog.(DeliveryCatalog); ok {
		return catalog.Delivery(plugin.Text)
	}
	return nil
}

// noDelivery says why a plugin's name alone is no destination.
func (d *destination) noDelivery(plugin *spec.Node) {
	c := d.c
	if own, _ := byPlugin(c.catalog.ActionNames(), plugin.Text); len(own) == 0 || c.catalog.PluginProblem(plugin.Text) != "" {
		unknown := *plugin
		unknown.Text += ".deliver"
		c.unknownAction(&unknown) // of a plugin that is not there, or can't be described
		return
	}
	c.errorAt(plugin.Pos, CodeDestination, "the plugin `%s` does not say how it delivers an output", plugin.Text).Hint =
		diag.Say("write the call out: `{uses: " + plugin.Text + ".ACTION, connection: NAME, with: {…: \"${{ output.text }}\"}}`")
}

// target is a notify target: it is sent the output's text.
func (d *destination) target(node, name *spec.Node, hasPath bool) {
	c := d.c
	if hasPath {
		c.errorAt(node.Pos, CodeDestination, "nothing can stand behind the name of a notify target")
		return
	}
	uses := *name
	uses.Text = runs.CoreNotify
	with := &spec.Node{Kind: spec.Mapping, Pos: node.Pos, Pairs: []spec.Pair{{Key: &spec.Node{Text: "to", Pos: name.Pos}, Value: name}}}
	s := d.step(&spec.Step{Node: node, Kind: spec.ActionStep, Uses: &uses, With: with})
	s.plan.Title = node.Text
	d.call(s, func() {
		s.plan.With = plan.Value{Kind: plan.ValueObject, Object: []plan.Binding{{Name: "to", Value: literal(jsonText(name.Text))}, {Name: "text", Value: d.text(node)}}}
	})
}

// text is the output as text.
func (d *destination) text(node *spec.Node) plan.Value {
	return plan.Value{Kind: plan.ValueExpr, Expr: &plan.Expr{Source: outputRoot + ".text", Pos: position(node.Pos)}}
}

// inputs fills the inputs of a plugin's delivery, and asks it about what is known of them.
func (d *destination) inputs(s *step, how *Delivery, node *spec.Node, pathAt int) {
	c := d.c
	content := how.Content
	if d.output.Format == "markdown" && how.Markdown != "" {
		content = how.Markdown
	}
	known, unknown := object{}, []string{child("", content)}
	given := []plan.Binding{{Name: content, Value: d.text(node)}}
	if how.Path != "" {
		path, fine := d.path(node, pathAt)
		if !fine {
			return
		}
		given = append(given, plan.Binding{Name: how.Path, Value: path})
		if path.Kind == plan.ValueLiteral {
			known = append(known, member{how.Path, path.Literal})
		} else {
			unknown = append(unknown, child("", how.Path))
		}
	}
	if how.Title != "" {
		title := jsonText(c.plan.Name + ": " + d.output.Name)
		given = append(given, plan.Binding{Name: how.Title, Value: literal(title)})
		known = append(known, member{how.Title, title})
	}
	for _, f := range s.action.input.Fields {
		if f.Required && !slices.ContainsFunc(given, func(b plan.Binding) bool { return b.Name == f.Name }) {
			c.errorAt(node.Pos, CodeDestination, "`%s` needs `%s` besides", s.src.Uses.Text, f.Name).Hint =
				diag.Say("write the call out: `{uses: " + s.src.Uses.Text + ", with: {" + f.Name + ": …, " + content + ": \"${{ output.text }}\"}}`")
			return
		}
	}
	s.plan.With = plan.Value{Kind: plan.ValueObject, Object: given}
	c.ask(s, known.encode(), unknown)
}

// path reads what stands behind the name of a connection: text with fields in braces.
func (d *destination) path(node *spec.Node, at int) (path plan.Value, fine bool) {
	c, whole := d.c, &text{node: node}
	var parts []plan.TextPart
	fine = true
	plain := strings.Builder{}
	for rest := node.Text[at:]; rest != ""; {
		before, after, brace := strings.Cut(rest, "{")
		plain.WriteString(before)
		if before != "" {
			parts = append(parts, plan.TextPart{Text: before})
		}
		if !brace {
			break
		}
		offset := len(node.Text) - len(after)
		source, behind, closed := strings.Cut(after, "}")
		if !closed || !field().MatchString(source) {
			c.errorAt(node.Span(offset-1, offset+len(source)), CodeDestination, "in braces stands a field, such as {run.scheduled_at} or {inputs.site}").Hint =
				diag.Say("for more than a field write the call out: `{uses: …, with: {…: \"${{ … }}\"}}`")
			return path, false
		}
		rest = behind
		p := c.parse(whole, source, offset)
		if whole.bad {
			return path, false
		}
		x := plan.Expr{Source: source, Pos: position(node.At(offset))}
		parts = append(parts, plan.TextPart{Expr: &x})
		plain.WriteByte('x')
		result, issues := c.infer(&p, d.scope)
		for _, issue := range issues {
			c.issue(node, offset, issue)
		}
		if eval.HasErrors(issues) {
			fine = false
		} else if misfit := eval.FitsText(result); misfit != nil {
			fine = false
			c.errorAt(node.Span(offset, offset+len(source)), CodeType, "%s", misfit.Message).Hint = misfit.Hint
		}
	}
	if strings.HasPrefix(plain.String(), "/") || slices.Contains(strings.Split(plain.String(), "/"), "..") {
		c.errorAt(node.Span(at, len(node.Text)), CodeDestination, "a path starts below the connection: it is relative, without `..`")
		return path, false
	}
	if len(parts) == 1 && parts[0].Expr == nil {
		return literal(jsonText(parts[0].Text)), fine
	}
	return plan.Value{Kind: plan.ValueText, Text: parts}, fine
}
