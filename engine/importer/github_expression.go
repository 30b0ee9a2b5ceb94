package importer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/spec"
)

// githubScope is what expressions of GitHub Actions mean, in a job or outside of one.
type githubScope struct {
	*github
	job   *githubJob // nil outside
	env   map[string]*spec.Foreign
	depth int  // of variables that stand for variables
	loose bool // what is read may not have ended well, or not be there
}

func (g *github) translator(scope *githubScope) *translator {
	if scope == nil {
		scope = &githubScope{github: g, env: g.env}
	}
	return &translator{scope: scope, dialect: dialect{hyphens: true, doubled: true}, truthy: true}
}

// translateText translates a text with `${{ }}`.
func (g *github) translateText(source string, job *githubJob, scope *githubScope) template {
	if scope == nil {
		scope = &githubScope{github: g, job: job, env: g.env}
	}
	return g.translator(scope).translate(split(source, "${{", "}}"), func(inner string) string { return "${{" + inner + "}}" })
}

func (s *githubScope) read(path []string) (expr, error) {
	switch root := path[0]; root {
	case "inputs":
		return s.input(path[1:])
	case "github":
		return s.github.context(path[1:])
	case "env":
		return s.variable(path[1:])
	case "secrets":
		if len(path) == 2 {
			return expr{source: "secrets." + path[1], kind: kindText, secret: path[1]}, nil
		}
	case "vars":
		if len(path) == 2 {
			return s.repositoryVariable(path[1])
		}
	case "matrix":
		return s.matrixValue(path[1:])
	case "needs", "jobs":
		return s.needs(path[1:])
	case "steps":
		return s.steps(path[1:])
	case "strategy":
		if len(path) == 2 && path[1] == "job-index" {
			return expr{source: "index", kind: kindNumber}, nil
		}
	case "job":
		if len(path) == 2 && path[1] == "status" {
			return expr{source: "run.status", kind: kindText}, nil
		}
	}
	return expr{}, fmt.Errorf("%s has no counterpart", strings.Join(path, "."))
}

func (s *githubScope) input(path []string) (expr, error) {
	if len(path) != 1 {
		return expr{}, fmt.Errorf("all inputs at once have no counterpart")
	}
	name := path[0]
	if !isField(name) {
		name = identifier(name)
	}
	of, ok := s.declared[name]
	if !ok {
		return expr{}, fmt.Errorf("there is no input `%s`", path[0])
	}
	return expr{source: "inputs." + name, kind: of}, nil
}

// context is what `github.x` means.
func (g *github) context(path []string) (expr, error) {
	name := strings.Join(path, ".")
	switch name {
	case "run_id":
		return expr{source: "run.id", kind: kindText}, nil
	case "run_attempt":
		return expr{source: "run.attempt", kind: kindNumber}, nil
	case "workflow":
		return expr{source: "run.workflow", kind: kindText}, nil
	case "event_name":
		return expr{source: "trigger.kind", kind: kindText}, nil
	}
	if len(path) == 3 && path[0] == "event" && path[1] == "inputs" {
		return (&githubScope{github: g}).input(path[2:])
	}
	if len(path) == 3 && path[0] == "event" && path[1] == "client_payload" && g.hook != nil && isField(path[2]) {
		if !slices.Contains(g.sent, path[2]) {
			g.sent = append(g.sent, path[2])
			g.declare(path[2], kindText, nil, mapping(field("type", text("string")), field("default", text(""))))
		}
		return expr{source: "inputs." + path[2], kind: kindText}, nil
	}
	return expr{}, fmt.Errorf("nothing is known of a repository and its events: make it an input")
}

// variable is what a variable of the environment stands for.
func (s *githubScope) variable(path []string) (expr, error) {
	if len(path) != 1 || s.env[path[0]] == nil || s.depth > 8 {
		return expr{}, fmt.Errorf("the variable `%s` is not set by the workflow: make it an input", strings.Join(path, "."))
	}
	f := s.env[path[0]]
	inner := *s
	inner.depth++
	t := s.github.translateText(f.Text, s.job, &inner)
	if len(t.gaps) > 0 {
		return expr{}, fmt.Errorf("the variable `%s` is %s", path[0], t.gaps[0])
	}
	return t.source(), nil
}

// repositoryVariable becomes an input: nothing else holds what is set outside of the file.
func (s *githubScope) repositoryVariable(name string) (expr, error) {
	field := identifier(name)
	comment := []string{"import: vars." + oneLine(name) + " was a variable of the repository: give its value as the default"}
	if _, there := s.declared[field]; !there {
		s.notes = append(s.notes, Note{Line: 1, Text: strings.TrimPrefix(comment[0], "import: ")})
		s.declare(field, kindText, comment, mapping(pair{key: "type", value: text("string")}, pair{key: "default", value: text("")}))
	}
	return expr{source: "inputs." + field, kind: s.declared[field]}, nil
}

func (s *githubScope) matrixValue(path []string) (expr, error) {
	if s.job == nil || len(path) == 0 {
		return expr{}, fmt.Errorf("there is no matrix")
	}
	of, ok := s.job.matrix[path[0]]
	if !ok {
		if of, ok = s.job.matrix["*"]; !ok {
			return expr{}, fmt.Errorf("the matrix has no `%s`", path[0])
		}
		of = member(of, path[0])
	}
	for _, name := range path[1:] {
		of = member(of, name)
	}
	return of, nil
}

// needs is what `needs.x.outputs.y` and `needs.x.result` mean.
func (s *githubScope) needs(path []string) (expr, error) {
	if len(path) < 2 {
		return expr{}, fmt.Errorf("all jobs at once have no counterpart")
	}
	job := s.github.jobs[path[0]]
	switch {
	case job == nil:
		return expr{}, fmt.Errorf("there is no job `%s` before", path[0])
	case path[1] == "result" && len(job.ends) > 0:
		return expr{source: "steps." + job.ends[len(job.ends)-1] + ".status", kind: kindText}, nil
	case len(path) != 3 || path[1] != "outputs" || job.result == "" || !slices.Contains(job.outputs, path[2]):
		return expr{}, fmt.Errorf("the job `%s` gives nothing of the kind", path[0])
	case job.looped:
		return expr{source: "last(map(steps." + job.result + ".outputs.items, ." + identifier(path[2]) + "))", kind: kindText, absent: true}, nil
	case job.maybe || s.loose:
		return expr{source: "steps." + job.result + "?.outputs?." + identifier(path[2]), kind: kindText, absent: true}, nil
	}
	return expr{source: "steps." + job.result + ".outputs." + identifier(path[2]), kind: kindText}, nil
}

// steps is what `steps.x.outputs.y` and `steps.x.outcome` mean.
func (s *githubScope) steps(path []string) (expr, error) {
	if s.job == nil || len(path) < 2 || s.job.steps[path[0]] == nil {
		return expr{}, fmt.Errorf("there is no step `%s` before", strings.Join(path[:min(1, len(path))], ""))
	}
	step := s.job.steps[path[0]]
	switch {
	case path[1] == "outcome" || path[1] == "conclusion":
		if step.id == "" {
			return expr{source: `"succeeded"`, kind: kindText}, nil
		}
		return expr{source: "steps." + step.id + ".status", kind: kindText}, nil
	case len(path) == 3 && path[1] == "outputs" && step.kind == "exec" && slices.Contains(step.outputs, path[2]):
		if step.absent || s.loose {
			return expr{source: "steps." + step.id + "?.outputs?.json" + fieldOf("?.", path[2]), kind: kindText, absent: true}, nil
		}
		return expr{source: "steps." + step.id + ".outputs.json" + fieldOf(".", path[2]), kind: kindText}, nil
	case len(path) == 3 && path[1] == "outputs":
		if known, ok := step.named[path[2]]; ok {
			return known, nil
		}
	}
	return expr{}, fmt.Errorf("the step `%s` gives nothing of the kind here", path[0])
}

// fieldOf reads a field whatever its name is.
func fieldOf(sign, name string) string {
	if isField(name) {
		return sign + name
	}
	return strings.TrimSuffix(sign, ".") + map[bool]string{true: ".", false: ""}[sign == "?."] + "[" + quoteText(name) + "]"
}

// compare knows what `github.event_name == 'schedule'` and results of jobs and steps mean.
func (s *githubScope) compare(op string, a, b *node) (expr, bool) {
	path, ok := a.path()
	word, written := b.literalText()
	if !ok || !written {
		return expr{}, false
	}
	last := path[len(path)-1]
	switch {
	case slices.Equal(path, []string{"github", "event_name"}):
		kind, known := map[string]string{"schedule": "cron", "workflow_dispatch": "manual", "repository_dispatch": "webhook", "workflow_run": "after"}[word]
		if !known {
			return expr{source: strconv.FormatBool(op == "!="), kind: kindBool}, true // what never happens here
		}
		return expr{source: "trigger.kind " + op + " " + quoteText(kind), kind: kindBool, joined: true}, true
	case last == "result" || last == "outcome" || last == "conclusion" || last == "status" && path[0] == "job":
		status, known := map[string]string{"success": "succeeded", "failure": "failed", "cancelled": "canceled", "skipped": "skipped"}[word]
		of, err := s.read(path)
		if err != nil || !known {
			return expr{}, false
		}
		return expr{source: of.source + " " + op + " " + quoteText(status), kind: kindBool, joined: true}, true
	}
	return expr{}, false
}

func (s *githubScope) call(name string, args []*node, t *translator) (expr, error) {
	if name == "format" && len(args) > 0 {
		return formatCall(args, t)
	}
	values := make([]expr, len(args))
	for i, arg := range args {
		e, err := t.value(arg)
		if err != nil {
			return e, err
		}
		if err := secretAlone(e); err != nil {
			return e, err
		}
		values[i] = e
	}
	switch {
	case name == "contains" && len(values) == 2:
		list, item := values[0], values[1]
		if list.kind == kindText {
			return expr{source: list.present().operand() + " contains " + expr{source: item.asText(), joined: item.joined}.operand(), kind: kindBool, joined: true}, nil
		}
		return expr{source: item.present().operand() + " in " + list.present().operand(), kind: kindBool, joined: true}, nil
	case (name == "startsWith" || name == "endsWith") && len(values) == 2:
		return expr{source: expr{source: values[0].asText(), joined: values[0].joined || values[0].absent}.operand() + " " + name + " " + values[1].operand(), kind: kindBool, joined: true}, nil
	case name == "join" && len(values) > 0:
		by := `","`
		if len(values) == 2 {
			by = values[1].source
		}
		return expr{source: "join(" + values[0].present().source + ", " + by + ")", kind: kindText}, nil
	case strings.EqualFold(name, "toJSON") && len(values) == 1:
		return expr{source: "toJSON(" + values[0].present().source + ")", kind: kindText}, nil
	case strings.EqualFold(name, "fromJSON") && len(values) == 1:
		return fromJSON(args[0], values[0]), nil
	}
	return expr{}, fmt.Errorf("`%s()` has no counterpart", name)
}

// fromJSON is the value of a JSON text; one that is written out is written as it is.
func fromJSON(n *node, of expr) expr {
	if source, ok := n.literalText(); ok {
		if documents, problems := spec.ParseForeign("json", []byte(source), spec.DefaultLimits()); len(problems) == 0 && len(documents) == 1 {
			return literalExpr(documents[0])
		}
	}
	if of.kind == kindBool || of.kind == kindNumber {
		return of
	}
	return expr{source: "fromJSON(" + of.asText() + ")", kind: kindAny}
}

// formatCall joins a text that is written out with its values.
func formatCall(args []*node, t *translator) (expr, error) {
	layout, ok := args[0].literalText()
	if !ok {
		return expr{}, fmt.Errorf("a format that is not written out has no counterpart")
	}
	var made template
	for _, p := range split(strings.NewReplacer("{{", "\x00", "}}", "\x01").Replace(layout), "{", "}") {
		if !p.isExpr {
			made.parts = append(made.parts, translated{text: strings.NewReplacer("\x00", "{", "\x01", "}").Replace(p.text)})
			continue
		}
		n, err := strconv.Atoi(p.text)
		if err != nil || n < 0 || n+1 >= len(args) {
			return expr{}, fmt.Errorf("the format has no value {%s}", p.text)
		}
		e, err := t.value(args[n+1])
		if err == nil {
			err = secretAlone(e)
		}
		if err != nil {
			return e, err
		}
		made.parts = append(made.parts, translated{expr: e, isExpr: true})
	}
	return made.source(), nil
}
