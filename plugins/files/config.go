package files

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// Config is a connection's settings.
type Config struct {
	Roots     map[string]Root `json:"roots,omitempty" doc:"The folders that workflows may name, each by a name of its own"`
	MaxBytes  int64           `json:"max_bytes" doc:"The most bytes of a file that is read or written" default:"4194304" min:"1" max:"67108864"`
	Simulated string          `json:"simulated,omitempty" doc:"Every root is a throw-away folder with a copy of what the declared one has; names the sandbox, which sets it"`
}

// Root is one folder that workflows may name.
type Root struct {
	Path      string `json:"path" doc:"The folder, from flowrun.yaml's, or an absolute path" min:"1" max:"4096"`
	Write     bool   `json:"write,omitempty" doc:"Whether files may be written, moved and removed"`
	HardLinks bool   `json:"hard_links,omitempty" doc:"Whether files that have other names too may be read and added to"`
}

// checkConfig says what is wrong with a connection's settings.
func checkConfig(c Config) []sdk.Problem {
	var problems []sdk.Problem
	if len(c.Roots) == 0 && c.Simulated == "" {
		problems = append(problems, sdk.Problemf("/roots", "names no folder").
			WithDetail("name one: `roots: {data: {path: ./data}}`, and grant it: `plugins: {files: {grants: {paths: [\"./data:ro\"]}}}`"))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Roots)) {
		at, path := sdk.Pointer("roots", name), c.Roots[name].Path
		switch {
		case name == "":
			problems = append(problems, sdk.Problemf(at, "a root has a name"))
		case strings.ContainsRune(path, 0):
			problems = append(problems, sdk.Problemf(at+"/path", "has a NUL in it"))
		case ofTheSystem(path):
			problems = append(problems, sdk.Problemf(at+"/path", "`%s` shows processes and devices, and no files", sdk.Shown(path, 100)).
				WithDetail("name a folder of files"))
		}
	}
	return problems
}

// ofTheSystem reports a folder in which the kernel shows itself.
func ofTheSystem(path string) bool {
	path = filepath.Clean(path)
	return slices.ContainsFunc([]string{"/proc", "/sys", "/dev"}, func(top string) bool {
		return path == top || strings.HasPrefix(path, top+"/")
	})
}

// rootProblems says why a step can't use a root by that name; "" is the only one.
func (c Config) rootProblems(pointer, name string, write bool) []sdk.Problem {
	if c.Simulated != "" && len(c.Roots) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(c.Roots))
	if name == "" {
		if len(names) != 1 {
			return []sdk.Problem{sdk.Problemf("", "the connection has several roots").WithDetail("say which one: `root: %s`", strings.Join(names, "`, `root: "))}
		}
		name, pointer = names[0], ""
	}
	root, ok := c.Roots[name]
	switch {
	case !ok:
		return []sdk.Problem{sdk.Problemf(pointer, "the connection has no root `%s`", sdk.Shown(name, 100)).
			WithDetail("its roots are %s; more are declared in its config", strings.Join(names, ", "))}
	case write && !root.Write:
		return []sdk.Problem{sdk.Problemf(pointer, "the root `%s` may only be read", name).
			WithDetail("declare it so: `roots: {%s: {path: %s, write: true}}`", name, root.Path)}
	}
	return nil
}

// root returns the root of an input, which was checked, with its name.
func (c Config) root(name string) (string, Root) {
	if name == "" && len(c.Roots) == 1 {
		for only, root := range c.Roots {
			return only, root
		}
	}
	if root, ok := c.Roots[name]; ok {
		return name, root
	}
	if name == "" {
		name = "files"
	}
	return name, Root{Write: c.Simulated != ""} // a simulated connection without roots has all
}
