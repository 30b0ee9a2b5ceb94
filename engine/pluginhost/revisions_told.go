package pluginhost

import (
	"context"
	"os"
)

// The revisions of a plugin that is told something: executable and settings together.
// What such a revision said of itself is kept under its digest, so that a run which was
// accepted with it goes on without the files that it was told.

// toldUnit returns the revision of a digest; "" is the one in force, or the one that
// executable and settings as they are now make. A bundled plugin of another program has
// the one that there is now.
func (p *plugin) toldUnit(ctx context.Context, digest string) (*unit, error) {
	p.mu.Lock()
	u := p.inForce
	if digest != "" {
		u = p.revisions[digest]
	}
	p.mu.Unlock()
	if u != nil && !p.outdated(u) {
		return u, nil
	}
	if digest != "" {
		kept, err := p.keptTold(ctx, digest)
		if err != nil && p.source.Bundled {
			return p.toldUnit(ctx, "")
		}
		return kept, err
	}
	if u == nil {
		if u = p.recorded(); u != nil {
			return u, nil
		}
	}
	return p.fromFile(ctx)
}

// outdated reports whether the program that a bundled plugin is part of is another one now.
func (p *plugin) outdated(u *unit) bool {
	if !p.source.Bundled {
		return false
	}
	now, err := p.program()
	return err == nil && now.digest != u.exe.digest
}

// told returns the revision that an executable makes with what the plugin is told now.
func (p *plugin) told(ctx context.Context, exe executable) (*unit, error) {
	asked := p.newUnit(exe)
	p.mu.Lock()
	p.asked[asked] = true
	p.mu.Unlock()
	asked.describing.Lock()
	settings, err := asked.settings(ctx)
	asked.describing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, asked)
	if err != nil {
		defer asked.rest()
		return nil, err
	}
	exe.told = toldRevision(exe.digest, p.source.Name, settings.digest())
	if known := p.revisions[exe.told]; known != nil {
		defer asked.rest()
		return known, nil
	}
	asked.exe = exe // nobody else has it yet
	p.revisions[exe.told] = asked
	return asked, nil
}

// keptTold returns a revision of which the description is kept, and whose executable is
// still there, or the one that there is now where that is its digest.
func (p *plugin) keptTold(ctx context.Context, digest string) (*unit, error) {
	if p.source.Refused != nil {
		return nil, p.executableError(p.source.Refused)
	}
	p.mu.Lock()
	known := p.revisions[digest]
	p.mu.Unlock()
	if known != nil && !p.outdated(known) {
		return known, nil
	}
	if exe, there := p.keptExecutable(digest); there {
		exe.told = digest
		return p.revision(exe), nil
	}
	now, err := p.fromFile(ctx)
	if err != nil {
		return nil, err
	}
	if now.exe.told != digest {
		return nil, p.executableError(&goneRevision{digest: digest, told: true})
	}
	return now, nil
}

// keptExecutable finds what ran as a revision whose description is kept.
func (p *plugin) keptExecutable(digest string) (executable, bool) {
	path := p.recordPath(executable{told: digest})
	data, err := os.ReadFile(path)
	if err != nil {
		return executable{}, false
	}
	d, err := decodeRecord(data)
	if err != nil || d.Digest != digest || d.Executable == "" {
		return executable{}, false
	}
	if !p.source.Bundled {
		if exe, there := p.host.library.kept(p.source, d.Executable); there {
			return exe, true
		}
	}
	exe, err := p.host.library.resolve(p.source)
	return exe, err == nil && exe.digest == d.Executable
}
