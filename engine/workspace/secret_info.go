package workspace

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/services"
)

// SecretInfo is one secret for lists: never its value.
type SecretInfo struct {
	Name     string       `json:"name"`
	Sources  []string     `json:"sources"` // that have it, the one that counts first; none = it is missing
	Set      bool         `json:"set"`
	UsedBy   []string     `json:"used_by"`   // connections
	NeededBy []SecretNeed `json:"needed_by"` // all that name it: flowrun.yaml's places, then those of workflows
}

// ListSecrets is Engine.ListSecrets where there is no store yet.
func (p *Workspace) ListSecrets(ctx context.Context) []SecretInfo {
	return p.Secrets(nil, p.needs(ctx))
}

// UnknownSecret says that no secret of that name is stored, with what is near: an
// *fault.UnknownError.
func (p *Workspace) UnknownSecret(name string, stored []string) error {
	unknown := &fault.UnknownError{What: "stored secret", Name: name, Hint: diag.DidYouMean(name, stored)}
	if _, set, _ := p.SecretEnv().Lookup(context.Background(), name); set {
		unknown.Hint = diag.Sayf("it comes from the environment variable %s", p.SecretEnv().VariableOf(name))
	}
	unknown.Hint = unknown.Hint.Or(diag.Sayf("%s lists the secrets", diag.Command{"secrets"}))
	return unknown
}

// Secrets joins what is stored, what the environment sets and what is needed.
func (p *Workspace) Secrets(stored []string, needs SecretNeeds) []SecretInfo {
	names := map[string]bool{}
	for _, name := range stored {
		names[name] = true
	}
	for name := range needs {
		names[name] = true
	}
	variables := map[string]bool{}
	for name := range names {
		variables[p.SecretEnv().VariableOf(name)] = true
	}
	for _, entry := range p.config.Environ {
		variable, value, _ := strings.Cut(entry, "=")
		name, ours := strings.CutPrefix(variable, p.SecretEnv().Prefix())
		if ours && value != "" && !variables[variable] && ValidSecretName(name) {
			names[name] = true
		}
	}
	infos := make([]SecretInfo, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		infos = append(infos, *p.SecretInfo(name, slices.Contains(stored, name), needs))
	}
	return infos
}

// SecretInfo says where a secret comes from, by the order of the providers, and who
// needs it.
func (p *Workspace) SecretInfo(name string, stored bool, needs SecretNeeds) *SecretInfo {
	info := &SecretInfo{Name: name, Sources: []string{}, UsedBy: []string{}, NeededBy: []SecretNeed{}}
	_, set, _ := p.SecretEnv().Lookup(context.Background(), name)
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

// secretName is the NAME of ${{ secrets.NAME }}.
var secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// ValidSecretName reports whether name may stand in ${{ secrets.NAME }}.
func ValidSecretName(name string) bool { return len(name) <= 128 && secretName().MatchString(name) }
