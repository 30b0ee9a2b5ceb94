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
	held := false
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
		now, broke := r.takePlugin(ctx, plugin, loaded)
		taken, held = taken || now, held || broke
	}
	return held && r.takeTogether(ctx, loaded) || taken
}

// mostTogether is how many waiting plugins are tried in all combinations: of more, all
// together alone.
const mostTogether = 5

// takeTogether puts those of the waiting plugins in force, two or more, of which each alone
// would break something and all together nothing: the most first.
func (r *Revisions) takeTogether(ctx context.Context, loaded *LoadedFiles) bool {
	var waiting []*workspace.PluginRevision
	for _, plugin := range r.project.OwnPlugins() {
		if held := r.project.Waiting(plugin); held == nil || len(held.Problems) == 0 {
			continue
		}
		if fresh, _, err := r.project.NewRevision(ctx, plugin); err == nil && fresh != nil {
			waiting = append(waiting, fresh)
		}
	}
	for _, group := range together(waiting) {
		if broken, _ := r.brokenBy(ctx, loaded, group...); len(broken) > 0 {
			continue
		}
		if err := r.project.PutInForce(group...); err != nil {
			r.project.Config().Log.Warn("plugins that fit together are not in force", "error", err)
			continue
		}
		for _, fresh := range group {
			r.tookPlugin(fresh)
		}
		return true
	}
	return false
}

// together are the groups of two or more, the largest first.
func together(waiting []*workspace.PluginRevision) [][]*workspace.PluginRevision {
	if len(waiting) > mostTogether {
		return [][]*workspace.PluginRevision{waiting}
	}
	var groups [][]*workspace.PluginRevision
	for set := 1; set < 1<<len(waiting); set++ {
		var group []*workspace.PluginRevision
		for i, fresh := range waiting {
			if set&(1<<i) != 0 {
				group = append(group, fresh)
			}
		}
		if len(group) > 1 {
			groups = append(groups, group)
		}
	}
	slices.SortStableFunc(groups, func(a, b []*workspace.PluginRevision) int { return len(b) - len(a) })
	return groups
}

// tookPlugin says that a revision is in force.
func (r *Revisions) tookPlugin(fresh *workspace.PluginRevision) {
	r.project.SetWaiting(fresh.Name(), nil)
	r.project.Config().Log.Info("plugin changed", "plugin", fresh.Name(), "version", fresh.Version, "digest", fresh.Digest)
}

// takePlugin puts a plugin as its file is now in force, or says why not: broke says that a
// workflow would break.
func (r *Revisions) takePlugin(ctx context.Context, plugin string, loaded *LoadedFiles) (taken, broke bool) {
	fresh, digest, err := r.project.NewRevision(ctx, plugin)
	switch {
	case err != nil:
		r.hold(plugin, &workspace.WaitingPlugin{Digest: digest, Reason: err.Error()})
		return false, false
	case fresh == nil:
		r.project.SetWaiting(plugin, nil)
		return false, false
	}
	broken, problems := r.brokenBy(ctx, loaded, fresh)
	if len(broken) > 0 {
		r.hold(plugin, &workspace.WaitingPlugin{
			Version: fresh.Version, Digest: fresh.Digest, Problems: problems,
			Reason: fmt.Sprintf("%s would break: %s", diag.Count(len(broken), "workflow"), FirstError(problems)),
		})
		return false, true
	}
	if err := r.project.PutInForce(fresh); err != nil {
		r.hold(plugin, &workspace.WaitingPlugin{Version: fresh.Version, Digest: fresh.Digest, Reason: err.Error()})
		return false, false
	}
	r.tookPlugin(fresh)
	return true, false
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

// brokenBy checks all workflows that are in force with other revisions of plugins: the
// files as they are, and, of one that is broken anyhow, what is in force of it.
func (r *Revisions) brokenBy(ctx context.Context, loaded *LoadedFiles, fresh ...*workspace.PluginRevision) (broken []string, problems diag.List) {
	trial := r.project.Trial(fresh...)
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
