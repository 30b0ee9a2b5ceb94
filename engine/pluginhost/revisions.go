package pluginhost

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
)

// plugin is a plugin of the project with the revisions of it that are known. A revision
// is one digest: the private copy of an executable, what it was told, what it said of
// itself, and a unit that supervises its process. One is in force; runs that were accepted with another go
// on with theirs, beside it (ADR 42).
type plugin struct {
	host    *Host
	source  Source
	answers answers // what Validate said, of all revisions

	mu        sync.Mutex
	revisions map[string]*unit // by digest
	inForce   *unit            // nil = it was not asked for yet
	asked     map[*unit]bool   // whose digest is not known yet: they are asked what they take

	starts, crashes uint64 // of revisions that were dropped

	looking  sync.Mutex // one look at the program at a time
	lookedAt time.Time  // guarded by looking
	lookedIs executable // what was found then
}

// lookEvery is how long a bundled plugin's program counts as what it was. A new one is a
// new revision, which begins with a process of its own: what starts is compared with its
// digest each time (executable.go), however long ago the look was.
const lookEvery = time.Second

func newPlugin(h *Host, source Source) *plugin {
	return &plugin{host: h, source: source, revisions: map[string]*unit{}, asked: map[*unit]bool{}}
}

// plugin finds a plugin by its name. It fails with *PluginError.
func (h *Host) plugin(name string) (*plugin, error) {
	p, ok := h.plugins[name]
	if !ok {
		return nil, &PluginError{
			Plugin: name, Reason: ReasonUnknownPlugin, Message: "there is no such plugin", Hint: diag.DidYouMean(name, h.names),
		}
	}
	if !validName(name) {
		return nil, &PluginError{Plugin: name, Reason: ReasonUnknownPlugin, Message: "the name is not that of a plugin: " + nameRule}
	}
	if err := h.ready(); err != nil {
		return nil, &PluginError{Plugin: name, Reason: ReasonExecutable, Message: err.Error()}
	}
	return p, nil
}

// revision returns the unit of an executable, which is made where its digest is new.
func (p *plugin) revision(exe executable) *unit {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.revisions[exe.revision()]
	if u == nil {
		u = p.newUnit(exe)
		p.revisions[exe.revision()] = u
	}
	return u
}

func (p *plugin) newUnit(exe executable) *unit {
	return &unit{host: p.host, plugin: p, source: p.source, exe: exe, old: map[*process]bool{}}
}

// unit returns the revision of a digest. "" is the one in force; where none is yet, that of
// the server before, or of the file as it is now. A bundled plugin has the revision of the running program
// alone, whatever the digest. Where a process is attached, that is the one in force, and
// plan.Attached is its digest.
func (p *plugin) unit(ctx context.Context, digest string) (*unit, error) {
	switch {
	case p.source.attached(digest):
		return p.revision(executable{digest: plan.Attached}), nil
	case digest == plan.Attached:
		return nil, p.executableError(errUnattached{})
	case p.source.Settings != nil:
		return p.toldUnit(ctx, digest)
	}
	if p.source.Bundled {
		return p.bundled()
	}
	p.mu.Lock()
	u := p.inForce
	if digest != "" {
		u = p.revisions[digest]
	}
	p.mu.Unlock()
	switch {
	case u != nil:
		return u, nil
	case digest != "":
		return p.kept(digest)
	}
	if u = p.recorded(); u != nil {
		return u, nil
	}
	return p.fromFile(ctx)
}

// bundled returns the revision of the program as it is now. A process of other bytes
// gets no new calls.
func (p *plugin) bundled() (*unit, error) {
	exe, err := p.program()
	if err != nil {
		return nil, p.executableError(err)
	}
	u := p.revision(exe)
	p.mu.Lock()
	before := p.inForce
	p.inForce = u
	p.mu.Unlock()
	if before != nil && before != u {
		before.rest()
	}
	return u, nil
}

// program returns the program that a bundled plugin is part of, as it was at most
// lookEvery ago.
func (p *plugin) program() (executable, error) {
	p.looking.Lock()
	defer p.looking.Unlock()
	now := p.host.options.Now()
	if since := now.Sub(p.lookedAt); p.lookedIs.digest != "" && since >= 0 && since < lookEvery {
		return p.lookedIs, nil
	}
	exe, err := p.host.library.resolve(p.source)
	if err != nil {
		return executable{}, err
	}
	p.lookedAt, p.lookedIs = now, exe
	return exe, nil
}

// fromFile returns the revision of the source as it is now, with a copy of it, and of what
// the plugin is told now.
func (p *plugin) fromFile(ctx context.Context) (*unit, error) {
	exe, err := p.host.library.resolve(p.source)
	if err != nil {
		return nil, p.executableError(err)
	}
	if p.source.Settings != nil {
		return p.told(ctx, exe)
	}
	return p.revision(exe), nil
}

// kept returns a revision whose copy lies in the state folder, or can be made of the
// file as it is now.
func (p *plugin) kept(digest string) (*unit, error) {
	if p.source.Refused != nil {
		return nil, p.executableError(p.source.Refused)
	}
	if exe, there := p.host.library.kept(p.source, digest); there {
		return p.revision(exe), nil
	}
	now, err := p.host.library.resolve(p.source)
	if err != nil || now.digest != digest {
		return nil, p.executableError(&goneRevision{digest: digest})
	}
	return p.revision(now), nil
}

// settle puts a revision in force where none is.
func (p *plugin) settle(u *unit) {
	p.mu.Lock()
	first := p.inForce == nil
	if first {
		p.inForce = u
	}
	p.mu.Unlock()
	if first {
		p.host.record(map[*plugin]*unit{p: u})
	}
}

// all returns the revisions that are known now.
func (p *plugin) all() []*unit {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := slices.AppendSeq(make([]*unit, 0, len(p.revisions)+len(p.asked)), maps.Keys(p.asked))
	for _, u := range p.revisions {
		list = append(list, u)
	}
	return list
}

// Fresh describes a plugin as its file is now, beside the revision in force, which stays
// so. The errors are those of Describe.
func (h *Host) Fresh(ctx context.Context, name string) (*Description, error) {
	p, err := h.plugin(name)
	if err != nil {
		return nil, err
	}
	u, err := p.fromFile(ctx)
	if err != nil {
		return nil, err
	}
	c, err := u.describe(ctx)
	if err != nil {
		return nil, err
	}
	return c.Description, nil
}

// Revision describes the revision of a digest, from its copy. The errors are those of
// Describe.
func (h *Host) Revision(ctx context.Context, name, digest string) (*Description, error) {
	_, c, err := h.contract(ctx, name, digest)
	if err != nil {
		return nil, err
	}
	return c.Description, nil
}

// FileDigest returns the digest of the revision that a plugin's file as it is now, a copy
// of which is kept, makes with what the plugin is told now. A file that did not change is
// not read; what is told is.
func (h *Host) FileDigest(ctx context.Context, name string) (string, error) {
	p, err := h.plugin(name)
	if err != nil {
		return "", err
	}
	u, err := p.fromFile(ctx)
	if err != nil {
		return "", err
	}
	return u.exe.revision(), nil
}

// PutInForce makes a revision the one that calls without a digest go to. It was described
// before; runs that were accepted with another keep theirs.
func (h *Host) PutInForce(name, digest string) error {
	return h.PutAllInForce(map[string]string{name: digest})
}

// PutAllInForce is PutInForce for revisions of several plugins, by name: all of them or
// none, also for a process that is killed on the way.
func (h *Host) PutAllInForce(digests map[string]string) error {
	units := map[*plugin]*unit{}
	for name, digest := range digests {
		p, err := h.plugin(name)
		if err != nil {
			return err
		}
		u, err := p.unit(h.life, digest)
		if err != nil {
			return err
		}
		units[p] = u
	}
	h.record(units) // first: a process that is killed in between begins with it
	for p, u := range units {
		p.mu.Lock()
		p.inForce = u
		p.mu.Unlock()
	}
	return nil
}

// Holds says whether calls of a run that was accepted with this digest have their
// revision: nil, else a *PluginError that says what became of it. A bundled plugin has
// whichever is there.
func (h *Host) Holds(name, digest string) error {
	p, err := h.plugin(name)
	if err != nil {
		return err
	}
	switch {
	case digest == plan.Attached && !p.source.attached(digest):
		return p.executableError(errUnattached{})
	case p.source.Settings != nil && digest != "" && digest != plan.Attached:
		_, err := p.keptTold(h.life, digest)
		return err
	case p.source.Bundled || digest == "" || digest == plan.Attached:
		return nil
	}
	return p.holds(digest)
}

func (p *plugin) holds(digest string) error {
	if _, there := p.host.library.kept(p.source, digest); there && p.source.Refused == nil {
		return nil
	}
	_, err := p.kept(digest)
	return err
}

// rest takes a revision's process away from new calls: it ends with its last one.
func (u *unit) rest() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.process != nil {
		u.retire(u.process)
	}
}

// restIdle is rest for a process that has no call in flight.
func (u *unit) restIdle() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.process != nil && u.process.inFlight == 0 && u.process.attached == nil {
		u.retire(u.process)
	}
}

// status tells of the plugin: the state of its revision in force, and what all have done.
func (p *plugin) status() Status {
	p.mu.Lock()
	current, sum := p.inForce, Status{Starts: p.starts, AllCrashes: p.crashes}
	p.mu.Unlock()
	all := p.all()
	if current == nil && len(all) == 1 {
		current = all[0] // it is being described for the first time
	}
	for _, u := range all {
		s := u.status()
		sum.InFlight, sum.Starts, sum.AllCrashes = sum.InFlight+s.InFlight, sum.Starts+s.Starts, sum.AllCrashes+s.AllCrashes
		if u == current {
			sum.State, sum.PID, sum.Crashes, sum.Until, sum.Last = s.State, s.PID, s.Crashes, s.Until, s.Last
		}
	}
	if sum.State == "" {
		sum.State = Stopped
	}
	return sum
}
