package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/spec"
)

// The kinds of places that need secrets.
const (
	NeedConnection = "connection"
	NeedNotify     = "notify"
	NeedWebhook    = "webhook"
	NeedPoll       = "poll"
	NeedStep       = "step"
)

// SecretNeed is one place of flowrun.yaml or of a workflow that names a secret.
// Name is that of a connection or a notify target, WORKFLOW/TRIGGER or
// WORKFLOW/STEP.
type SecretNeed struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// Text names the place for people: a connection by its name alone.
func (n SecretNeed) Text() string {
	if n.Kind == NeedConnection {
		return n.Name
	}
	return n.Kind + " " + n.Name
}

// SecretNeeds are the places that need each secret, each once: those of the
// project file in its order, then those of workflows.
type SecretNeeds map[string][]SecretNeed

func (s SecretNeeds) add(name string, need SecretNeed) {
	same := func(n SecretNeed) bool { return n.Kind == need.Kind && n.Name == need.Name }
	if name != "" && !slices.ContainsFunc(s[name], same) {
		s[name] = append(s[name], need)
	}
}

// DeclaredNeeds are the places of the project file that name secrets.
func (p *Workspace) DeclaredNeeds() SecretNeeds {
	needs := SecretNeeds{}
	for _, connection := range p.file.Connections {
		for _, name := range configSecrets(connection.Config) {
			needs.add(name, p.needAt(NeedConnection, connection.Name, connection.Pos))
		}
	}
	for _, target := range p.file.Notify {
		for _, name := range target.Secrets() {
			needs.add(name, p.needAt(NeedNotify, target.Name, target.Pos))
		}
	}
	return needs
}

func (p *Workspace) needAt(kind, name string, pos diag.Pos) SecretNeed {
	file := project.FileName
	if p.config.ProjectFile != "" {
		file = relative(p.config.Dir, p.config.ProjectFile)
	}
	return SecretNeed{Kind: kind, Name: name, File: file, Line: pos.Line}
}

// configSecrets are the names of the secrets that a connection's settings refer to.
func configSecrets(config *spec.Node) (names []string) {
	config.EachScalar(func(n *spec.Node) {
		if name, ok := project.SecretName(n.Text); ok {
			names = append(names, name)
		}
	})
	return names
}

// AddWorkflow adds the places of a workflow and of those that it calls.
func (s SecretNeeds) AddWorkflow(workflow *plan.Workflow) {
	for i := range workflow.Triggers {
		t := &workflow.Triggers[i]
		need := SecretNeed{Name: runs.TriggerID(workflow.Name, t.Name), File: workflow.File, Line: t.Pos.Line}
		if name := HookSecretName(t); name != "" {
			need.Kind = NeedWebhook
			s.add(name, need)
		}
		if t.Poll != nil {
			need.Kind = NeedPoll
			eachSecret(&t.Poll.With, func(name string) { s.add(name, need) })
		}
	}
	eachStep(workflow, func(w *plan.Workflow, path string, step *plan.Step) bool {
		need := SecretNeed{Kind: NeedStep, Name: w.Name + "/" + path, File: w.File, Line: step.Pos.Line}
		eachSecret(&step.With, func(name string) { s.add(name, need) })
		return true
	})
}

// eachSecret visits the names of the secrets that stand in a value, at any depth.
func eachSecret(v *plan.Value, visit func(name string)) {
	if v.Kind == plan.ValueSecret {
		visit(v.Secret)
	}
	for i := range v.Object {
		eachSecret(&v.Object[i].Value, visit)
	}
	for i := range v.List {
		eachSecret(&v.List[i], visit)
	}
}

// needs are the places of the project file and of its workflows that name secrets,
// from the files as they are now.
func (p *Workspace) needs(ctx context.Context) SecretNeeds {
	needs := p.DeclaredNeeds()
	files, err := p.Workflows()
	if err != nil {
		return needs
	}
	for _, file := range files {
		src, err := os.ReadFile(filepath.Join(p.Root(), filepath.FromSlash(file)))
		if err != nil {
			continue
		}
		if workflow, _ := p.CheckedIn(ctx, file, p.Root(), src); workflow != nil {
			needs.AddWorkflow(workflow.Workflow)
		}
	}
	return needs
}

// missingStepSecrets reports the secrets in inputs of steps that a run would need.
// A step whose connection is known only while it runs is not asked: in a sandbox
// that decides where its secrets come from.
func (p *Workspace) missingStepSecrets(ctx context.Context, workflow *plan.Workflow, problems *diag.List) {
	set := map[string]bool{}
	eachStep(workflow, func(w *plan.Workflow, path string, step *plan.Step) bool {
		if step.Kind == plan.StepAction && p.mocked(w.Name, path) != nil {
			return false
		}
		connection, ok := literalText(step.Connection)
		if step.Connection != nil && !ok {
			return true
		}
		eachSecret(&step.With, func(name string) {
			key := w.Name + "/" + path + " " + name
			if set[key] {
				return
			}
			set[key] = true
			who := "step `" + step.ID + "`"
			if strings.HasPrefix(path, destinationPath) {
				who = whoCalls(path)
			}
			p.missingSecret(ctx, connection, name, who, placeIn(w, step.Pos), problems)
		})
		return true
	})
}

// missingSecret reports a secret that is not set and who needs it. from is the
// connection, or the live name of a notify target, whose secrets count.
func (p *Workspace) missingSecret(ctx context.Context, from, name, who string, place diag.Pos, problems *diag.List) {
	var missing *secret.NotFoundError
	if _, err := p.secretsOf(from).Reveal(ctx, name); !errors.As(err, &missing) {
		return
	}
	problems.Errorf(place, project.CodeSecretLacks, "%s needs the secret %s, which is not set", who, name).Hint = p.secretHint(from, name)
}

// secretHint says how a secret is set.
func (p *Workspace) secretHint(from, name string) diag.Hint {
	variable := p.secretVariable(from, name)
	if slices.Contains(p.file.Secrets, services.SecretFromStore) {
		if strings.HasPrefix(variable, secret.SandboxEnvPrefix) {
			return diag.Sayf("set the environment variable %s, or keep it with %s", variable, diag.Command{"secrets", "set", name, "--sandbox"})
		}
		return diag.Sayf("set the environment variable %s, or keep it with %s", variable, diag.Command{"secrets", "set", name})
	}
	return diag.Say("set the environment variable " + variable)
}
