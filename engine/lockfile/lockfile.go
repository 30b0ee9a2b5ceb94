// Package lockfile reads and writes flowrun.lock, which stands beside flowrun.yaml and is
// committed with it: which bytes of each plugin may run, what they say of themselves, who
// signed them and what they were granted when they were locked (ADR 50).
package lockfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/order"
)

// Name is the name of the file.
const Name = "flowrun.lock"

// format is the version of the file that this code writes.
const format = 1

// maxBytes bounds the file.
const maxBytes = 4 << 20

// Any is the platform of a digest that is the same on all.
const Any = "any"

// Bundled is the source of a plugin that is part of flowrun: it has no digest.
const Bundled = "bundled"

// File is a read flowrun.lock. The zero value is an empty one.
type File struct {
	Format  int      `json:"format"`
	Plugins []Plugin `json:"plugins"` // by name
}

// Plugin is what is locked of one plugin.
type Plugin struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Source  string `json:"source"` // as flowrun.yaml has it, or "bundled"
	// Digests are those that may run, sha256:HEX by platform (linux/amd64): of a file, or
	// of the tree of a folder or an archive, which is "any".
	Digests map[string]string `json:"digests,omitempty"`
	// Archive is the digest of an archive that is fetched, as a file.
	Archive string `json:"archive,omitempty"`
	// Describe is the digest of what the plugin says of itself.
	Describe string `json:"describe"`
	// Settings is the digest of what flowrun.yaml tells the plugin, with the files that it
	// names; "" = nothing.
	Settings string `json:"settings,omitempty"`
	// Interpreters are the programs outside of its tree that start it, with the version
	// that they told of themselves; "" = they tell none.
	Interpreters map[string]string `json:"interpreters,omitempty"`
	// Signer is the key that its checksums are signed with, ed25519:BASE64. It was believed
	// when it was first seen, and no other is since.
	Signer string `json:"signer,omitempty"`
	// Checksums is where the signed checksums come from.
	Checksums string `json:"checksums,omitempty"`
	Wants     Grants `json:"wants,omitzero"`
	Grants    Grants `json:"grants,omitzero"`
}

// Grants are what a plugin wants, or was given.
type Grants struct {
	Paths    []string `json:"paths,omitempty"`
	Hosts    []string `json:"hosts,omitempty"`
	Env      []string `json:"env,omitempty"`
	Commands []string `json:"commands,omitempty"`
	Memory   string   `json:"memory,omitempty"`
	State    bool     `json:"state,omitempty"`
}

// IsZero reports whether nothing is there.
func (g Grants) IsZero() bool {
	return len(g.Paths)+len(g.Hosts)+len(g.Env)+len(g.Commands) == 0 && g.Memory == "" && !g.State
}

// Equal reports whether the same is granted, in whatever order.
func (g Grants) Equal(o Grants) bool {
	same := func(a, b []string) bool { return slices.Equal(sorted(a), sorted(b)) }
	return same(g.Paths, o.Paths) && same(g.Hosts, o.Hosts) && same(g.Env, o.Env) && same(g.Commands, o.Commands) && g.Memory == o.Memory && g.State == o.State
}

func sorted(texts []string) []string {
	own := slices.Clone(texts)
	slices.Sort(own)
	return slices.Compact(own)
}

// Path is where the lock of a project lies.
func Path(root string) string { return filepath.Join(root, Name) }

// Read reads the lock of a project; one that is not there is empty.
func Read(root string) (File, error) {
	file, err := os.Open(Path(root))
	if errors.Is(err, fs.ErrNotExist) {
		return File{Format: format}, nil
	}
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", Name, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", Name, err)
	}
	return Decode(data)
}

var digestPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) })

// Decode reads the bytes of a lock. One that is damaged, such as by a merge, is refused as
// a whole: what may run is not guessed.
func Decode(data []byte) (File, error) {
	var f File
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	switch err := decoder.Decode(&f); {
	case len(data) > maxBytes:
		return File{}, fmt.Errorf("%s has more than %d bytes", Name, maxBytes)
	case f.Format > format:
		return File{}, fmt.Errorf("%s was written by a newer flowrun (format %d)", Name, f.Format)
	case err != nil:
		return File{}, fmt.Errorf("%s is damaged: %w", Name, err)
	case decoder.More() || f.Format != format:
		return File{}, fmt.Errorf("%s is damaged: it is no lock of format %d", Name, format)
	}
	seen := map[string]bool{}
	for _, p := range f.Plugins {
		if err := p.check(); err != nil || seen[p.Name] {
			return File{}, fmt.Errorf("%s is damaged: plugin %q: %w", Name, p.Name, errors.Join(err, twice(seen[p.Name])))
		}
		seen[p.Name] = true
	}
	return f, nil
}

func twice(there bool) error {
	if there {
		return errors.New("it stands there twice")
	}
	return nil
}

func (p Plugin) check() error {
	if p.Name == "" || p.Source == "" {
		return errors.New("it has no name or no source")
	}
	digests := []string{p.Describe}
	for _, digest := range p.Digests {
		digests = append(digests, digest)
	}
	for _, digest := range []string{p.Archive, p.Settings} {
		if digest != "" {
			digests = append(digests, digest)
		}
	}
	for _, digest := range digests {
		if !digestPattern().MatchString(digest) {
			return fmt.Errorf("%q is no digest", digest)
		}
	}
	if !p.IsBundled() && len(p.Digests) == 0 {
		return errors.New("it has no digest")
	}
	return nil
}

// IsBundled reports whether the plugin is part of flowrun, under its own name or another
// (bundled:NAME).
func (p Plugin) IsBundled() bool {
	return p.Source == Bundled || strings.HasPrefix(p.Source, Bundled+":")
}

// Encode is the lock as it is written: the same bytes for the same content.
func (f File) Encode() ([]byte, error) {
	f.Format = format
	f.Plugins = slices.Clone(f.Plugins)
	if f.Plugins == nil {
		f.Plugins = []Plugin{}
	}
	order.Sort(f.Plugins, func(a, b Plugin) int { return strings.Compare(a.Name, b.Name) })
	for i := range f.Plugins {
		f.Plugins[i].Wants, f.Plugins[i].Grants = f.Plugins[i].Wants.inOrder(), f.Plugins[i].Grants.inOrder()
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(f); err != nil {
		return nil, fmt.Errorf("encode %s: %w", Name, err)
	}
	return text.Bytes(), nil
}

func (g Grants) inOrder() Grants {
	g.Paths, g.Hosts, g.Env, g.Commands = sorted(g.Paths), sorted(g.Hosts), sorted(g.Env), sorted(g.Commands)
	return g
}

// Plugin returns what is locked of a plugin.
func (f File) Plugin(name string) (Plugin, bool) {
	for _, p := range f.Plugins {
		if p.Name == name {
			return p, true
		}
	}
	return Plugin{}, false
}

// With returns the lock with a plugin's entry in place of the one that it had.
func (f File) With(p Plugin) File {
	f = f.Without(p.Name)
	f.Plugins = append(f.Plugins, p)
	return f
}

// Without returns the lock without a plugin.
func (f File) Without(name string) File {
	f.Plugins = slices.DeleteFunc(slices.Clone(f.Plugins), func(p Plugin) bool { return p.Name == name })
	return f
}

// Digest returns the digest, hex, that may run on a platform; "" = none is locked for it.
func (p Plugin) Digest(platform string) string {
	for _, name := range []string{Any, platform} {
		if digest, ok := strings.CutPrefix(p.Digests[name], "sha256:"); ok {
			return digest
		}
	}
	return ""
}
