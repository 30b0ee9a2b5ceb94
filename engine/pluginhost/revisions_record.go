package pluginhost

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
)

// A server keeps which revision of each local plugin is in force, so that the next one
// begins with it, whatever the files have become (Options.KeepInForce).

// inForceEntry is one plugin in the record.
type inForceEntry struct {
	Digest string    `json:"digest"`
	Since  time.Time `json:"since"`
}

func (h *Host) inForcePath() string { return filepath.Join(h.dir, "in-force.json") }

// recorded returns the revision that was in force in the process before, nil where none
// was, or nothing of it is left.
func (p *plugin) recorded() *unit {
	digest := p.recordedDigest()
	if digest == "" {
		return nil
	}
	u, err := p.keptOf(digest)
	if err != nil {
		p.host.options.Log.Warn("the plugin that was in force is gone; the file as it is now takes its place", "plugin", p.source.Name, "error", err)
		return nil
	}
	if p.source.Locked != "" && p.source.Locked != u.exe.digest {
		return nil
	}
	return u
}

// keptOf returns a revision that was in force in the process before.
func (p *plugin) keptOf(digest string) (*unit, error) {
	if p.source.Settings == nil {
		return p.kept(digest)
	}
	return p.keptTold(p.host.life, digest)
}

func (p *plugin) recordedDigest() string {
	if !p.host.options.KeepInForce {
		return ""
	}
	var all map[string]inForceEntry
	if err := readJSON(p.host.inForcePath(), &all); err != nil {
		return ""
	}
	return all[p.source.Name].Digest
}

// record notes what is in force now. What fails costs the next server alone: it begins with
// the files as they are.
func (h *Host) record(units map[*plugin]*unit) {
	if !h.options.KeepInForce {
		return
	}
	now, own := h.options.Now().UTC(), map[string]string{}
	for p, u := range units {
		if (!p.source.Bundled || p.source.Settings != nil) && u.exe.digest != plan.Attached {
			own[p.source.Name] = u.exe.revision()
		}
	}
	if len(own) == 0 {
		return
	}
	err := updateJSON(h.inForcePath(), func(all *map[string]inForceEntry) {
		if *all == nil {
			*all = map[string]inForceEntry{}
		}
		for name, digest := range own {
			if (*all)[name].Digest != digest {
				(*all)[name] = inForceEntry{Digest: digest, Since: now}
			}
		}
	})
	if err != nil {
		h.options.Log.Warn("which plugins are in force is not kept", "plugins", slices.Sorted(maps.Keys(own)), "error", err)
	}
}

// InForce returns the digest of a plugin's revision in force; of one that was not asked for
// yet that of the server before. "" = none is.
func (h *Host) InForce(name string) string {
	p, err := h.plugin(name)
	if err != nil {
		return ""
	}
	p.mu.Lock()
	u := p.inForce
	p.mu.Unlock()
	if u != nil {
		return u.exe.revision()
	}
	return p.recordedDigest()
}
