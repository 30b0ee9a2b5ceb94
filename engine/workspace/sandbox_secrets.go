package workspace

import (
	"path/filepath"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/services"
)

// SecretEnv is where secrets of the environment come from: a sandbox has variables of its
// own.
func (p *Workspace) SecretEnv() *secret.Env {
	if p.sandbox != nil {
		return secret.NewSandboxEnv(p.config.Environ)
	}
	return secret.NewEnv(p.config.Environ)
}

// secretsOf gives the secrets of a connection, or of a notify target with its
// LiveNotify: in a sandbox a live one may have the real ones.
func (p *Workspace) secretsOf(name string) pluginhost.SecretSource {
	if p.sandbox != nil && p.Live(name) {
		return p.realSecrets
	}
	return p.services
}

// secretVariable is the variable that gives a secret of a connection.
func (p *Workspace) secretVariable(connection, name string) string {
	if p.sandbox != nil && p.Live(connection) {
		return secret.EnvName(name)
	}
	return p.SecretEnv().VariableOf(name)
}

// realSecretsOptions are where the secrets of live connections come from.
func (p *Workspace) realSecretsOptions() services.RealOptions {
	options := services.RealOptions{
		Env: secret.NewEnv(p.config.Environ), Entropy: p.config.Entropy,
		Rows: p.config.StoredRows,
	}
	if dir := p.sandbox.RealState; dir != "" {
		options.Store, options.KeyFile = filepath.Join(dir, StoreFile), filepath.Join(dir, services.KeyFile)
	}
	return options
}
