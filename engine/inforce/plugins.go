package inforce

import (
	"context"
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
)

// takePlugins looks at the files of the project's own plugins, and puts in force what no
// workflow that is in force would break by. It reports whether anything came into force.
// renewed says that workflows have changed since the look before: what waits may fit now.
// r.loading is held.
func (r *Revisions) takePlugins(ctx context.Context, loaded *LoadedFiles, renewed bool) (taken bool) {
	for _, plugin := range r.project.OwnPlugins() {
		stamp := r.project.PluginStamp(plugin)
		seen, known := r.plugins[plugin]
		changed := !known || !seen.Same(stamp)
		if !changed && (!renewed || r.project.Waiting(plugin) == nil) {
			continue
		}
		r.plugins[plugin] = stamp
		if changed && r.project.PluginFailed(plugin) {
			r.project.ForgetFailures() // nothing of it is in force: it is asked anew
			taken = true
			continue
		}
		taken = r.takePlugin(ctx, plugin, loaded) || taken
	}
	return taken
}

// takePlugin puts a plugin as its file is now in force, or says why not.
func (r *Revisions) takePlugin(ctx context.Context, plugin string, loaded *LoadedFiles) bool {
	log := r.project.Config().Log
	fresh, digest, err := r.project.NewRevision(ctx, plugin)
	switch {
	case err != nil:
		r.hold(plugin, &workspace.WaitingPlugin{Digest: digest, Reason: err.Error()})
		return false
	case fresh == nil:
		r.project.SetWaiting(plugin, nil)
		return false
	}
	broken, problems := r.brokenBy(ctx, fresh, loaded)
	if len(broken) > 0 {
		r.hold(plugin, &workspace.WaitingPlugin{
			Version: fresh.Version, Digest: fresh.Digest, Problems: problems,
			Reason: fmt.Sprintf("%s would break: %s", diag.Count(len(broken), "workflow"), FirstError(problems)),
		})
		return false
	}
	if err := r.project.PutInForce(fresh); err != nil {
		r.hold(plugin, &workspace.WaitingPlugin{Version: fresh.Version, Digest: fresh.Digest, Reason: err.Error()})
		return false
	}
	r.project.SetWaiting(plugin, nil)
	log.Info("plugin changed", "plugin", plugin, "version", fresh.Version, "digest", fresh.Digest)
	return true
}

// hold keeps a revision out of force. What is in force and why this one is not is said
// once in the log, each problem with its place.
func (r *Revisions) hold(plugin string, waiting *workspace.WaitingPlugin) {
	config := r.project.Config()
	before := r.project.Waiting(plugin)
	if before != nil && before.Digest == waiting.Digest && before.Reason == waiting.Reason {
		return
	}
	waiting.Since = config.Now().UTC()
	r.project.SetWaiting(plugin, waiting)
	said := []any{"plugin", plugin, "version", waiting.Version, "digest", waiting.Digest, "in_force", r.project.Host().InForce(plugin)}
	var errors []string
	for i := range waiting.Problems {
		if problem := &waiting.Problems[i]; problem.Severity == diag.Error {
			errors = append(errors, problem.String())
		}
	}
	if len(errors) == 0 {
		errors = []string{waiting.Reason}
	}
	for _, problem := range errors {
		config.Log.Warn("plugin is not in force; the one from before stays", append(slices.Clone(said), "error", problem)...)
	}
}

// brokenBy checks all workflows that are in force with another revision of a plugin: the
// files as they are, and, of one that is broken anyhow, what is in force of it.
func (r *Revisions) brokenBy(ctx context.Context, fresh *workspace.PluginRevision, loaded *LoadedFiles) (broken []string, problems diag.List) {
	trial := r.project.Trial(fresh)
	for _, file := range loaded.Files {
		if file.InForce == nil {
			continue
		}
		workflow, found := trial.CheckedIn(ctx, file.File, r.project.Root(), file.Source())
		if workflow == nil && file.fresh == nil {
			workflow, found = trial.CheckedIn(ctx, file.File, r.project.Root(), []byte(file.InForce.Workflow().Source))
		}
		if workflow == nil {
			broken, problems = append(broken, file.InForce.Name()), append(problems, found...)
		}
	}
	return broken, problems
}
