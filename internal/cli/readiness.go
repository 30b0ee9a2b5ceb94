package cli

import (
	"context"
	"slices"

	"github.com/flowrun/flowrun/engine/project"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

// readiness finds what workflows that are fine by themselves lack before they can
// run here: that which would end a run with exit code 3. Stored secrets are looked
// up once, where one is wanted.
type readiness struct {
	app        *app
	project    *workspace.Workspace
	isLookedUp bool
	stored     []string
}

// lacking reports what a run of the workflow would lack.
func (r *readiness) lacking(ctx context.Context, workflow *plan.Workflow) diag.List {
	problems := r.project.Lacking(ctx, workflow, r.stored)
	wantsSecret := func(p diag.Problem) bool { return p.Code == project.CodeSecretLacks }
	if r.isLookedUp || !slices.ContainsFunc(problems, wantsSecret) {
		return problems
	}
	r.isLookedUp, r.stored = true, r.app.storedSecrets(ctx)
	return r.project.Lacking(ctx, workflow, r.stored)
}

// storedSecrets are the names of the secrets in the store. A store that can't be
// looked at has none for now.
func (a *app) storedSecrets(ctx context.Context) []string {
	secrets, _ := ask(ctx, a, func(c *web.Client) ([]workspace.SecretInfo, error) { return c.Secrets(ctx) })
	var names []string
	for _, secret := range secrets {
		if slices.Contains(secret.Sources, services.SecretFromStore) {
			names = append(names, secret.Name)
		}
	}
	return names
}

// asWarnings makes warnings of what lies with this machine rather than with the
// files: a secret that is not set here, a connection that no project file declares.
// What a declared connection lacks stays an error, at its place in that file.
func asWarnings(lacking diag.List, workflow *plan.Workflow) diag.List {
	for i := range lacking {
		if lacking[i].Code == project.CodeSecretLacks || lacking[i].Code == project.CodeSettingLacks && lacking[i].File == workflow.File {
			lacking[i].Severity = diag.Warning
		}
	}
	return lacking
}

// ofThisMachine reports whether a warning is about this machine: --strict, which is
// about files, does not fail for it.
func ofThisMachine(p diag.Problem) bool {
	return p.Severity == diag.Warning && (p.Code == project.CodeSecretLacks || p.Code == project.CodeSettingLacks)
}
