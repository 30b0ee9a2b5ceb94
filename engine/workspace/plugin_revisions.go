package workspace

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/schema"
)

// The revisions of the project's own plugins: what is in force is what workflows are
// checked against and what new runs are accepted with (ADR 42).

// PluginRevision is a plugin as one file of it was.
type PluginRevision struct {
	Version     string
	Digest      string // sha256 of the file, hex
	description *pluginhost.Description
}

// OwnPlugins lists the plugins that have a file of their own, or are told something, by
// name.
func (p *Workspace) OwnPlugins() []string {
	var names []string
	for _, source := range p.sources() {
		if (!source.Bundled || source.Settings != nil) && source.Attach == "" {
			names = append(names, source.Name)
		}
	}
	slices.Sort(names)
	return names
}

// PluginStamp tells the states of a plugin's source apart without reading it: of a folder
// it looks at all files.
func (p *Workspace) PluginStamp(plugin string) Stamp {
	inode, size, modified, changed := p.host.SourceStamp(plugin)
	for _, path := range p.toldFiles(plugin) {
		if told := StampOf(path); told != (Stamp{}) {
			inode = inode*31 + uint64(told.modified.UnixNano()) ^ uint64(told.size)<<1 ^ uint64(told.mode)<<40 //nolint:gosec // bits that tell apart, no number
			size += told.size
		}
	}
	return Stamp{modified: time.Unix(0, modified), size: size, mode: fs.FileMode(inode ^ uint64(changed) ^ inode>>32)} //nolint:gosec // bits that tell apart, no number
}

// PluginFailed reports whether a plugin was asked what it is and could not tell.
func (p *Workspace) PluginFailed(plugin string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.descriptions[plugin]
	if d == nil {
		return false
	}
	select {
	case <-d.answered:
		return d.err != nil
	default:
		return false
	}
}

// isBundled reports whether a plugin is part of the program, under whichever name.
func (p *Workspace) isBundled(plugin string) bool {
	return slices.ContainsFunc(p.sources(), func(source pluginhost.Source) bool { return source.Name == plugin && source.Bundled })
}

// NewRevision describes a plugin as its file is now: nil where that is in force, or nobody
// has asked for the plugin yet. digest is known where the description fails, too.
func (p *Workspace) NewRevision(ctx context.Context, plugin string) (fresh *PluginRevision, digest string, err error) {
	inForce := p.host.InForce(plugin)
	if inForce == "" {
		return nil, "", nil
	}
	if digest, err = p.host.FileDigest(ctx, plugin); err != nil || digest == inForce {
		return nil, digest, err
	}
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	d, err := p.host.Fresh(ctx, plugin)
	if err != nil {
		return nil, digest, err
	}
	return &PluginRevision{Version: d.Version, Digest: d.Digest, description: d}, digest, nil
}

// Revision describes the revision of a digest, from its copy or from the source where that
// has these bytes. The error is a *pluginhost.PluginError, or the context's.
func (p *Workspace) Revision(ctx context.Context, plugin, digest string) (*PluginRevision, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	d, err := p.host.Revision(ctx, plugin, digest)
	if err != nil {
		return nil, err
	}
	return &PluginRevision{Version: d.Version, Digest: d.Digest, description: d}, nil
}

// RevisionGone reports whether an error says that nothing is left of a revision.
func RevisionGone(err error) bool {
	gone, ok := errors.AsType[*pluginhost.PluginError](err)
	return ok && gone.Reason == pluginhost.ReasonGone
}

// Trial is the project as it would be with another revision of a plugin: to check workflows
// with, and for nothing else.
func (p *Workspace) Trial(fresh ...*PluginRevision) *Workspace {
	trial := p
	for _, revision := range fresh {
		trial = trial.TrialOf(revision.description)
	}
	return trial
}

// TrialOf is Trial with a description that no revision of the plugin need have given: what
// the plugin is asked about inputs goes to the revision that it names.
func (p *Workspace) TrialOf(fresh *pluginhost.Description) *Workspace {
	trial := &Workspace{
		config: p.config, file: p.file, host: p.host, redactor: p.redactor, services: p.services, sandbox: p.sandbox, lock: p.lock,
		realSecrets: p.realSecrets, builtins: p.builtins, taught: taught{}, descriptions: map[string]*description{},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, d := range p.descriptions {
		trial.descriptions[name] = d
	}
	trial.descriptions[fresh.Name] = answeredBy(fresh)
	return trial
}

func answeredBy(fresh *pluginhost.Description) *description {
	d := &description{Description: fresh, answered: make(chan struct{})}
	d.config, d.configErr = schema.FromJSON(d.ConfigSchema)
	close(d.answered)
	return d
}

// Name is that of the plugin.
func (r *PluginRevision) Name() string { return r.description.Name }

// PutInForce makes described revisions, each of another plugin, those that workflows are checked against and that
// new runs are accepted with.
func (p *Workspace) PutInForce(fresh ...*PluginRevision) error {
	digests := map[string]string{}
	for _, revision := range fresh {
		digests[revision.description.Name] = revision.Digest
	}
	if err := p.host.PutAllInForce(digests); err != nil {
		return err
	}
	p.mu.Lock()
	for _, revision := range fresh {
		p.descriptions[revision.description.Name] = answeredBy(revision.description)
	}
	p.mu.Unlock()
	p.plans.forget()
	return nil
}

// Waiting returns what of a plugin is not in force, nil where all is.
func (p *Workspace) Waiting(plugin string) *WaitingPlugin {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting[plugin]
}

// SetWaiting says what of a plugin is not in force, and why; nil = all is.
func (p *Workspace) SetWaiting(plugin string, waiting *WaitingPlugin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = map[string]*WaitingPlugin{}
	}
	if waiting == nil {
		delete(p.waiting, plugin)
		return
	}
	p.waiting[plugin] = waiting
}

// OwnRevision tells whether a run that was accepted with this digest of a plugin goes on
// with it, and not with whichever there is: own is false for what is bundled, and for what
// was noted without a digest. The error says that nothing is left of it.
func (p *Workspace) OwnRevision(plugin, digest string) (own bool, err error) {
	if digest == "" || digest != plan.Attached && !slices.Contains(p.OwnPlugins(), plugin) {
		return false, nil
	}
	if err := p.host.Holds(plugin, digest); err != nil {
		if p.isBundled(plugin) && digest != plan.Attached {
			return false, nil // the program may be another one: what there is now may be the same
		}
		return false, err
	}
	return true, nil
}
