package plugintree_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/engine/plugintree"
)

const manifest = "name: words\nversion: 1.0.0\ncommand: [python3, main.py]\n"

// plant makes a tree: files by path, links as "-> target", executable where the path
// ends with *.
func plant(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		mode := fs.FileMode(0o644)
		name, executable := strings.CutSuffix(name, "*")
		if executable {
			mode = 0o755
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(content, "-> "); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(content), mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func tree(dir string) plugintree.Tree {
	return plugintree.Tree{Dir: dir, Limits: plugintree.DefaultLimits(), Source: true}
}

func digest(t *testing.T, dir string) string {
	t.Helper()
	sum, err := tree(dir).Digest()
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestIssue15_TreeDigest: all that may change what runs changes the digest, and nothing
// else does.
func TestIssue15_TreeDigest(t *testing.T) {
	t.Parallel()
	base := map[string]string{plugintree.ManifestName: manifest, "main.py": "print()", "data/a": "1", "now": "-> data/a", "run.sh*": "#!/bin/sh\n"}
	with := func(change map[string]string) string {
		files := map[string]string{}
		for name, content := range base {
			files[name] = content
		}
		for name, content := range change {
			delete(files, name)
			delete(files, name+"*")
			if content != "gone" {
				files[name] = content
			}
		}
		return digest(t, plant(t, files))
	}
	want := with(nil)
	for name, change := range map[string]map[string]string{
		"a content": {"main.py": "print( )"}, "a name": {"main.py": "gone", "main2.py": "print()"}, "a file more": {"data/b": ""},
		"a wrapper's right to run": {"run.sh": "#!/bin/sh\n"}, "a link": {"now": "-> data"}, "a link in place of its file": {"data/a": "-> ../main.py"},
		"a file gone": {"data/a": "gone", "now": "gone"}, "content moved between files": {"main.py": "1", "data/a": "print()"},
	} {
		if with(change) == want {
			t.Errorf("%s changes, and the digest does not", name)
		}
	}
	for name, change := range map[string]map[string]string{
		"nothing": {}, "history": {".git/HEAD": "x"}, "the interpreter's cache": {"data/__pycache__/a.pyc": "x"}, "flowrun's state": {".flowrun/state/key": "x"},
	} {
		if with(change) != want {
			t.Errorf("%s changes the digest", name)
		}
	}
}

func TestIssue15_TreeCopy(t *testing.T) {
	t.Parallel()
	from := plant(t, map[string]string{plugintree.ManifestName: manifest, "lib/a.py": "a", "run.sh*": "#!/bin/sh\n", "b.py": "-> lib/a.py", ".git/HEAD": "x", "lib/__pycache__/a.pyc": "x"})
	to := t.TempDir()
	sum, err := tree(from).CopyTo(to)
	if err != nil {
		t.Fatal(err)
	}
	if sum != digest(t, from) {
		t.Error("the digest of the copy is not that of its source")
	}
	if strict, err := (plugintree.Tree{Dir: to, Limits: plugintree.DefaultLimits()}).Digest(); err != nil || strict != sum {
		t.Errorf("read again without leaving out anything it has the digest %s, %v", strict, err)
	}
	for name, mode := range map[string]fs.FileMode{"lib/a.py": 0o400, "run.sh": 0o500} {
		info, err := os.Lstat(filepath.Join(to, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %v", name, info, err, mode)
		}
	}
	// What a plugin finds in its copy was hashed: also a cache that somebody has put there.
	if err := os.MkdirAll(filepath.Join(to, "lib/__pycache__"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "lib/__pycache__/a.pyc"), []byte("poison"), 0o600); err != nil {
		t.Fatal(err)
	}
	if strict, err := (plugintree.Tree{Dir: to, Limits: plugintree.DefaultLimits()}).Digest(); err != nil || strict == sum {
		t.Errorf("a cache that was put into the copy does not change its digest: %v", err)
	}
}

func TestIssue15_TreeRefused(t *testing.T) {
	t.Parallel()
	pipe := plant(t, map[string]string{plugintree.ManifestName: manifest})
	if err := syscall.Mkfifo(filepath.Join(pipe, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		dir    string
		limits plugintree.Limits
		want   string
	}{
		"a link out":               {plant(t, map[string]string{"a/b": "-> ../../x"}), plugintree.DefaultLimits(), "leads to ../../x: links stay inside"},
		"an absolute link":         {plant(t, map[string]string{"a": "-> /etc/passwd"}), plugintree.DefaultLimits(), "links stay inside"},
		"a link up behind another": {plant(t, map[string]string{"a/here": "-> .", "b": "-> a/here/../../x"}), plugintree.DefaultLimits(), "links stay inside"},
		"a pipe":                   {pipe, plugintree.DefaultLimits(), "pipe is neither a file, a folder nor a link"},
		"many files":               {plant(t, map[string]string{"a": "", "b": "", "c": ""}), plugintree.Limits{Files: 2, Bytes: 10}, "more than 2 files"},
		"many bytes":               {plant(t, map[string]string{"a": "0123456789", "b": "x"}), plugintree.Limits{Files: 9, Bytes: 10}, "too large"},
	} {
		for what, read := range map[string]func(plugintree.Tree) error{
			"digest": func(t plugintree.Tree) error { _, err := t.Digest(); return err },
			"copy":   func(tree plugintree.Tree) error { _, err := tree.CopyTo(t.TempDir()); return err },
		} {
			if err := read(plugintree.Tree{Dir: test.dir, Limits: test.limits}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, %s: got %v, want %q", name, what, err, test.want)
			}
		}
	}
}

// TestIssue15_TreeStamp: a change shows without reading.
func TestIssue15_TreeStamp(t *testing.T) {
	t.Parallel()
	dir := plant(t, map[string]string{"a": "1", "b/c": "2"})
	stamp := func() [32]byte {
		sum, _, _, err := tree(dir).Stamp()
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	before := stamp()
	if stamp() != before {
		t.Error("it changes by itself")
	}
	for _, try := range []struct { // in this order: the last takes away what an earlier one changes
		name   string
		change func() error
	}{
		{"another file in its place", func() error {
			return os.Rename(filepath.Join(plant(t, map[string]string{"n": "1"}), "n"), filepath.Join(dir, "a"))
		}},
		{"a mode", func() error { return os.Chmod(filepath.Join(dir, "b/c"), 0o755) }},
		{"a file", func() error { return os.WriteFile(filepath.Join(dir, "b/d"), nil, 0o600) }},
		{"a file off", func() error { return os.Remove(filepath.Join(dir, "b/c")) }},
	} {
		if err := try.change(); err != nil {
			t.Fatal(err)
		}
		now := stamp()
		if now == before {
			t.Errorf("%s does not show", try.name)
		}
		before = now
	}
}

// member is one entry of an archive.
type member struct {
	name, content, link string
	mode                int64
	kind                byte
}

func packTar(t *testing.T, members ...member) *os.File {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	for _, m := range members {
		kind := m.kind
		if kind == 0 {
			kind = tar.TypeReg
		}
		header := &tar.Header{Name: m.name, Size: int64(len(m.content)), Mode: m.mode, Typeflag: kind, Linkname: m.link}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return file(t, "a.tar.gz", packed.Bytes())
}

func packZip(t *testing.T, members ...member) *os.File {
	t.Helper()
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, m := range members {
		header := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		mode := fs.FileMode(m.mode) //nolint:gosec // a mode of a test
		content := m.content
		if m.link != "" {
			mode, content = mode|fs.ModeSymlink, m.link
		}
		header.SetMode(mode)
		out, err := w.CreateHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file(t, "a.zip", packed.Bytes())
}

func file(t *testing.T, name string, content []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return opened
}

// TestIssue15_Unpack: an archive, of either kind, with or without a folder around it, has
// the digest of the folder that was packed.
func TestIssue15_Unpack(t *testing.T) {
	t.Parallel()
	want := digest(t, plant(t, map[string]string{plugintree.ManifestName: manifest, "bin/run*": "#!/bin/sh\n", "now": "-> bin/run"}))
	members := func(prefix string) []member {
		return []member{
			{name: prefix + plugintree.ManifestName, content: manifest, mode: 0o644},
			{name: prefix + "now", link: "bin/run", kind: tar.TypeSymlink, mode: 0o777},
			{name: prefix + "bin/run", content: "#!/bin/sh\n", mode: 0o6755},
		}
	}
	for name, archive := range map[string]*os.File{
		"tar": packTar(t, members("")...), "zip": packZip(t, members("")...),
		"tar with a folder": packTar(t, members("words-1.0/")...), "tar from a point": packTar(t, append([]member{{name: "./", kind: tar.TypeDir, mode: 0o755}}, members("./")...)...),
	} {
		top, err := plugintree.Unpack(archive, t.TempDir(), plugintree.DefaultLimits())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := digest(t, top); got != want {
			t.Errorf("%s: digest %s, want %s", name, got, want)
		}
		if info, err := os.Stat(filepath.Join(top, "bin/run")); err != nil || info.Mode() != 0o500 {
			t.Errorf("%s: bin/run has the mode %v, %v", name, info.Mode(), err)
		}
	}
}

// TestIssue15_UnpackRefused: an archive can't write elsewhere, nor fill the disk.
func TestIssue15_UnpackRefused(t *testing.T) {
	t.Parallel()
	bomb := strings.Repeat("\x00", 3<<20)
	both := func(want string, members ...member) []struct {
		archive *os.File
		want    string
	} {
		return []struct {
			archive *os.File
			want    string
		}{{packTar(t, members...), want}, {packZip(t, members...), want}}
	}
	cases := map[string][]struct {
		archive *os.File
		want    string
	}{
		"up":               both("outside of the tree", member{name: "../evil", content: "x"}),
		"up in the middle": both("outside of the tree", member{name: "a/../../evil", content: "x"}),
		"absolute":         both("outside of the tree", member{name: "/tmp/evil", content: "x"}),
		"backslashes":      both("outside of the tree", member{name: `..\evil`, content: "x"}),
		"a link out":       both("links stay inside", member{name: "a", link: "../x", kind: tar.TypeSymlink}),
		"through a link":   both("", member{name: "a", link: "b", kind: tar.TypeSymlink}, member{name: "a/evil", content: "x"}),
		"twice":            both("exist", member{name: "a", content: "x"}, member{name: "a", content: "y"}),
		"a bomb":           both("too large", member{name: "a", content: bomb}),
		"many files":       both("too large", member{name: "a"}, member{name: "b"}, member{name: "c"}, member{name: "d"}),
		"a hard link":      {{packTar(t, member{name: "a", link: "/etc/passwd", kind: tar.TypeLink}), "neither a file"}},
		"a device":         {{packTar(t, member{name: "a", kind: tar.TypeChar}), "neither a file"}},
		"no archive":       {{file(t, "a.tar.gz", []byte("x")), "it is no .tar.gz"}, {file(t, "a.zip", []byte("x")), "it is no .zip"}},
	}
	for name, archives := range cases {
		for _, test := range archives {
			outer := t.TempDir()
			dir := filepath.Join(outer, "in")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := plugintree.Unpack(test.archive, dir, plugintree.Limits{Files: 3, Bytes: 1 << 20})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, %s: got %v, want %q", name, filepath.Base(test.archive.Name()), err, test.want)
			}
			if entries, err := os.ReadDir(outer); err != nil || len(entries) != 1 {
				t.Errorf("%s: it wrote beside its folder: %v, %v", name, entries, err)
			}
		}
	}
}

func TestIssue15_Manifest(t *testing.T) {
	t.Parallel()
	m, err := plugintree.ParseManifest([]byte("name: words\nversion: 1.2.0\ncommand:\n  linux/amd64: [./bin/words, --fast]\n  darwin/arm64: [python3, main.py]\nwants: {env: [A], hosts: [x.example], paths: [data], commands: [git], memory: 4GiB, state: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if command, err := m.Command("linux/amd64"); err != nil || strings.Join(command, " ") != "./bin/words --fast" {
		t.Errorf("command %v, %v", command, err)
	}
	if _, err := m.Command("plan9/mips"); err == nil || !strings.Contains(err.Error(), "for darwin/arm64, linux/amd64") {
		t.Errorf("another platform: %v", err)
	}
	if got := m.Interpreters(); len(got) != 1 || got[0] != "python3" || m.Wants.Memory != "4GiB" || !m.Wants.State {
		t.Errorf("interpreters %v, wants %+v", got, m.Wants)
	}
	for src, want := range map[string]string{
		"":                                       "empty",
		"name: words\ncommand: [a]\n":            "has no `version`",
		"name: Words\n":                          ":1:7: `name` must be lower-case letters",
		"nam: words\n":                           ":1:1: flowrun-plugin.yaml has no key `nam`; did you mean `name`?",
		manifest + "wants: {memory: lots}\n":     ":4:17: `memory` must be a size",
		manifest + "platforms: [linux]\n":        "`linux` is no platform",
		"name: w\nversion: 1.0.0\ncommand: []\n": "`command` must be a list of a program",
		"name: w\nversion: 1.0.0\ncommand: [/bin/sh]\n": "`/bin/sh` is no file of the tree",
		"name: w\nversion: 1.0.0\ncommand: [../sh]\n":   "`../sh` is no file of the tree",
	} {
		if _, err := plugintree.ParseManifest([]byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", src, err, want)
		}
	}
	only, err := plugintree.ParseManifest([]byte(manifest + "platforms: [linux/arm64]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := only.Command("linux/amd64"); err == nil || !strings.Contains(err.Error(), "does not run on linux/amd64, but on linux/arm64") {
		t.Errorf("a platform that it does not run on: %v", err)
	}
}

// TestIssue15_WhatAPluginNamesLiesBesideItsProgram: in a tree with a program for each
// platform the simulator is that of the platform, too.
func TestIssue15_WhatAPluginNamesLiesBesideItsProgram(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"[./words]":               ".",
		"[./bin/words, --quiet]":  "bin",
		"[python3, lib/main.py]":  ".",
		"{linux/amd64: [./a/w]}":  "a",
		"{darwin/arm64: [./a/w]}": ".",
	} {
		manifest, err := plugintree.ParseManifest([]byte("name: words\nversion: 1.0.0\ncommand: " + command + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := manifest.ProgramFolder("linux/amd64"); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
