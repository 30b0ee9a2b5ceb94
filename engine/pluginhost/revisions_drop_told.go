package pluginhost

import (
	"os"
	"path/filepath"
	"strings"
)

// toldKept lists the revisions of what the plugin was told whose descriptions are kept, by
// digest, with the executable of each.
func (p *plugin) toldKept() map[string]string {
	kept := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(p.host.dir, "*."+p.source.Name+describeSuffix))
	if err != nil || p.source.Settings == nil {
		return kept
	}
	for _, path := range paths {
		digest := strings.TrimSuffix(filepath.Base(path), "."+p.source.Name+describeSuffix)
		if !isDigest(digest) {
			continue
		}
		if d := readRecord(path, digest); d != nil && d.Executable != "" {
			kept[digest] = d.Executable
		}
	}
	return kept
}

// ranAs reports whether a revision that was told something, whose description is kept, has
// an executable of this digest.
func (p *plugin) ranAs(executable string) bool {
	for _, ran := range p.toldKept() {
		if ran == executable {
			return true
		}
	}
	return false
}

// dropTold removes the descriptions of what plugins were told that nobody needs.
func (h *Host) dropTold(needed func(plugin, digest string) bool) {
	for name, p := range h.plugins {
		for digest := range p.toldKept() {
			p.mu.Lock()
			known := p.revisions[digest] != nil
			p.mu.Unlock()
			path := p.recordPath(executable{told: digest})
			info, err := os.Stat(path)
			if known || needed(name, digest) || err != nil || h.options.Now().Sub(info.ModTime()) < youngCopy {
				continue
			}
			if err := os.RemoveAll(p.actionsPath(executable{told: digest})); err != nil {
				h.options.Log.Warn("description of what a plugin was told not removed", "plugin", name, "error", err)
				continue
			}
			_ = os.Remove(path)
			h.options.Log.Info("description of what a plugin was told removed", "plugin", name, "digest", digest)
		}
	}
}
