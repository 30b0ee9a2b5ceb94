package engine

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/services"
)

// MaxSecret is the largest value of a stored secret in bytes.
const MaxSecret = 64 << 10

// SecretInfo is one secret for lists: never its value.
type SecretInfo struct {
	Name     string       `json:"name"`
	Sources  []string     `json:"sources"` // that have it, the one that counts first; none = it is missing
	Set      bool         `json:"set"`
	UsedBy   []string     `json:"used_by"`   // connections
	NeededBy []SecretNeed `json:"needed_by"` // all that name it: flowrun.yaml's places, then those of workflows
}

// secretName is the NAME of ${{ secrets.NAME }}.
var secretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ValidSecretName reports whether name may stand in ${{ secrets.NAME }}.
func ValidSecretName(name string) bool { return len(name) <= 128 && secretName.MatchString(name) }

// SetSecret stores a value, sealed, in the place of the one before. It is
// durable when SetSecret returns. A wrong name or value is an *InputError, which
// does not hold the value; a project that does not read its store a
// *ConflictError.
func (e *Engine) SetSecret(ctx context.Context, name, value string) (*SecretInfo, error) {
	if err := checkSecret(name, value); err != nil {
		return nil, err
	}
	if !slices.Contains(e.project.file.Secrets, services.SecretFromStore) {
		return nil, &fault.ConflictError{
			Message: "the project takes no secrets from the store: `secrets` of flowrun.yaml does not name it",
			Hint:    "write `secrets: [env, store]`, or set the environment variable " + e.project.env().VariableOf(name),
		}
	}
	stored, err := e.project.services.StoredSecrets()
	if err != nil {
		return nil, err
	}
	e.project.redactor.Add(value) // what comes to know it from now on masks it
	if err := stored.Set(name, value); err != nil {
		return nil, e.fault(fmt.Errorf("store secret %s: %w", name, err))
	}
	return e.project.secretInfo(name, true, e.needs(ctx)), nil
}

func checkSecret(name, value string) error {
	switch {
	case !ValidSecretName(name):
		return &fault.InputError{Message: "this is not the name of a secret", Hint: "letters, digits and _, such as TASKS_TOKEN"}
	case value == "":
		return &fault.InputError{Message: "the value of secret " + name + " is empty", Hint: "`flowrun secrets rm " + name + "` removes it"}
	case len(value) > MaxSecret:
		return &fault.InputError{Message: fmt.Sprintf("the value of secret %s has %d bytes, the limit is %d", name, len(value), MaxSecret)}
	case !utf8.ValidString(value):
		return &fault.InputError{Message: "the value of secret " + name + " is not UTF-8 text", Hint: "encode it as the service wants it, such as with base64"}
	}
	return nil
}

// ListSecrets returns the secrets that are set or that a connection, a message's
// target or a workflow names, by name.
func (e *Engine) ListSecrets(ctx context.Context) ([]SecretInfo, error) {
	stored, err := e.project.services.StoredSecrets()
	if err != nil {
		return nil, err
	}
	names, err := stored.Names()
	if err != nil {
		return nil, e.fault(fmt.Errorf("list the stored secrets: %w", err))
	}
	return e.project.secrets(names, e.needs(ctx)), nil
}

// ListSecrets is Engine.ListSecrets where there is no store yet.
func (p *Project) ListSecrets(ctx context.Context) []SecretInfo { return p.secrets(nil, p.needs(ctx)) }

// RemoveSecret deletes a stored secret. One that is not stored is an
// *UnknownError.
func (e *Engine) RemoveSecret(_ context.Context, name string) error {
	stored, err := e.project.services.StoredSecrets()
	if err != nil {
		return err
	}
	names, err := stored.Names()
	if err != nil {
		return e.fault(fmt.Errorf("list the stored secrets: %w", err))
	}
	if !slices.Contains(names, name) {
		return e.project.unknownSecret(name, names)
	}
	if err := stored.Remove(name); err != nil {
		return e.fault(fmt.Errorf("remove secret %s: %w", name, err))
	}
	return nil
}

// UnknownSecret is what RemoveSecret returns where there is no store yet.
func (p *Project) UnknownSecret(name string) error { return p.unknownSecret(name, nil) }

func (p *Project) unknownSecret(name string, stored []string) error {
	unknown := &fault.UnknownError{What: "stored secret", Name: name, Hint: diag.DidYouMean(name, stored)}
	if _, set, _ := p.env().Lookup(context.Background(), name); set {
		unknown.Hint = fmt.Sprintf("it comes from the environment variable %s", p.env().VariableOf(name))
	}
	if unknown.Hint == "" {
		unknown.Hint = "`flowrun secrets` lists the secrets"
	}
	return unknown
}

// secrets joins what is stored, what the environment sets and what is needed.
func (p *Project) secrets(stored []string, needs secretNeeds) []SecretInfo {
	names := map[string]bool{}
	for _, name := range stored {
		names[name] = true
	}
	for name := range needs {
		names[name] = true
	}
	variables := map[string]bool{}
	for name := range names {
		variables[p.env().VariableOf(name)] = true
	}
	for _, entry := range p.config.Environ {
		variable, value, _ := strings.Cut(entry, "=")
		name, ours := strings.CutPrefix(variable, p.env().Prefix())
		if ours && value != "" && !variables[variable] && ValidSecretName(name) {
			names[name] = true
		}
	}
	infos := make([]SecretInfo, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		infos = append(infos, *p.secretInfo(name, slices.Contains(stored, name), needs))
	}
	return infos
}

// secretInfo says where a secret comes from, by the order of the providers, and who
// needs it.
func (p *Project) secretInfo(name string, stored bool, needs secretNeeds) *SecretInfo {
	info := &SecretInfo{Name: name, Sources: []string{}, UsedBy: []string{}, NeededBy: []SecretNeed{}}
	_, set, _ := p.env().Lookup(context.Background(), name)
	for _, provider := range p.file.Secrets {
		if provider == services.SecretFromEnv && set || provider == services.SecretFromStore && stored {
			info.Sources = append(info.Sources, provider)
		}
	}
	info.Set = len(info.Sources) > 0
	info.NeededBy = append(info.NeededBy, needs[name]...)
	for _, need := range needs[name] {
		if need.Kind == NeedConnection {
			info.UsedBy = append(info.UsedBy, need.Name)
		}
	}
	return info
}
