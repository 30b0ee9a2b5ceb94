package pluginhost

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/pluginhost/confine"
)

// interpreterDepth bounds a chain of scripts that interpret each other.
const interpreterDepth = 4

// interpreters are what the first line of a script needs in order to run it: the
// program that it names, the one that env looks up, and where that is a script itself
// (as the shims of version managers are) its own.
func (h *Host) interpreters(script io.ReaderAt, private []string, depth int) []confine.Path {
	words := firstLine(script)
	if len(words) == 0 || depth == 0 {
		return nil
	}
	paths := h.program(words[0], private)
	named := words[0]
	if filepath.Base(named) == "env" {
		for _, word := range words[1:] {
			if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
				paths, named = append(paths, h.program(word, private)...), word
				break
			}
		}
	}
	if found := h.lookPath(named); found != "" {
		if file, err := os.Open(found); err == nil {
			defer file.Close()
			paths = append(paths, h.interpreters(file, private, depth-1)...)
		}
	}
	return paths
}

// interpretersOf are what a granted command needs in order to run where it is a script.
func (h *Host) interpretersOf(command string, private []string) []confine.Path {
	script, err := os.Open(h.lookPath(command))
	if err != nil {
		return nil // there is nothing to run
	}
	defer script.Close()
	return h.interpreters(script, private, interpreterDepth)
}

// firstLine returns the words behind #!.
func firstLine(script io.ReaderAt) []string {
	head := make([]byte, 256) // as much as the kernel reads
	n, _ := script.ReadAt(head, 0)
	line, ok := bytes.CutPrefix(head[:n], []byte("#!"))
	if !ok {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return strings.Fields(string(line))
}

// program opens a program, the loaders that start it, and, where it is not one of the
// system's, the tree that it was installed in: bin, lib and share of one folder.
func (h *Host) program(name string, private []string) []confine.Path {
	const rights = confine.Read | confine.Run
	found := h.lookPath(name)
	if found == "" {
		return nil
	}
	paths := []confine.Path{{Name: found, Rights: rights}}
	for _, pattern := range []string{"/lib*/ld-*.so*", "/lib*/*/ld-*.so*", "/usr/lib*/ld-*.so*", "/usr/lib*/*/ld-*.so*"} {
		loaders, _ := filepath.Glob(pattern) // the patterns are well formed
		for _, loader := range loaders {
			paths = append(paths, confine.Path{Name: loader, Rights: rights})
		}
	}
	homeToo := append(slices.Clone(private), realPaths(h.home())...)
	for _, file := range []string{found, realPath(found)} {
		if slices.ContainsFunc(systemPaths(), func(folder string) bool { return within(file, folder) }) {
			continue
		}
		tree := filepath.Dir(file)
		if slices.Contains([]string{"bin", "sbin", "libexec", "shims"}, filepath.Base(tree)) {
			tree = filepath.Dir(tree)
		}
		if holdsAny(tree, homeToo) {
			tree = filepath.Dir(file)
		}
		if !holdsAny(tree, homeToo) {
			paths = append(paths, confine.Path{Name: tree, Rights: rights})
		}
	}
	return paths
}

// lookPath finds a program in the PATH that plugins get; "" = it is not there.
func (h *Host) lookPath(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	path, _ := lookup(h.options.Environ, "PATH")
	for _, folder := range filepath.SplitList(path) {
		file := filepath.Join(folder, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 && filepath.IsAbs(file) {
			return file
		}
	}
	return ""
}
