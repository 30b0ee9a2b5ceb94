package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// maxSize is what a program may have at most, in bytes; one for macOS, whose format is
// larger for the same code, has maxDarwin.
const (
	maxSize   = 47_000_000
	maxDarwin = 48_000_000
)

// built is a program as it goes out.
type built struct {
	content         []byte
	version, commit string
	modified        bool // the source has changes that are not committed
}

// build makes the program and says what is stamped into it: the version, which is the
// tag or stands for the commit, and the commit that it was built from.
func build(ctx context.Context, source string, t target) (*built, error) {
	dir, err := os.MkdirTemp("", "flowrun-release-")
	if err != nil {
		return nil, fmt.Errorf("build for %s: %w", t, err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "flowrun")
	make := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", file}, smaller(), []string{program})...)
	make.Dir, make.Env = source, append(os.Environ(), t.env(source)...)
	if out, err := make.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build for %s: %w\n%s", t, err, out)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read what was built for %s: %w", t, err)
	}
	b, err := stampedInto(content)
	if err != nil {
		return nil, fmt.Errorf("what was built for %s: %w", t, err)
	}
	if err := checkProgram(t, content); err != nil {
		return nil, fmt.Errorf("what was built for %s: %w", t, err)
	}
	return b, nil
}

// smaller are flags that make a program 1.4 MB smaller (ADR 51). What waits for people
// and for services is not inlined; engine and SDK are. gRPC's page of traces, which
// nothing serves, is left out.
func smaller() []string {
	flags := []string{"-tags=grpcnotrace"}
	for _, packages := range []string{"internal/...", "plugins/...", "engine/conformance", "engine/importer", "engine/mend", "engine/testrun", "engine/format", "engine/editor", "engine/graph", "engine/upgrade"} {
		flags = append(flags, "-gcflags=github.com/flowrun/flowrun/"+packages+"=-l")
	}
	return flags
}

// stampedInto reads what the go command left in a program. One that can't say where it
// comes from, or that is not made as releases are, is an error.
func stampedInto(content []byte) (*built, error) {
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("read what is stamped into it: %w", err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	b := &built{content: content, version: info.Main.Version, commit: settings["vcs.revision"], modified: settings["vcs.modified"] == "true"}
	switch {
	case b.version == "" || b.version == "(devel)" || b.commit == "":
		return nil, errors.New("it names no version and commit: build in a clone, with git (go does not look at worktrees)")
	case settings["-trimpath"] != "true":
		return nil, errors.New("it holds paths of the machine: it was built without -trimpath")
	case settings["CGO_ENABLED"] != "0":
		return nil, errors.New("it was built with cgo")
	}
	return b, nil
}

// checkProgram fails when a program is larger than it may be, needs libraries of the
// system (Linux: on macOS each program needs libSystem), or holds what debuggers read.
func checkProgram(t target, content []byte) error {
	limit := maxSize
	if t.os == "darwin" {
		limit = maxDarwin
	}
	if len(content) >= limit {
		return fmt.Errorf("it has %d bytes, and may have less than %d", len(content), limit)
	}
	var sections []string
	if t.os == "darwin" {
		file, err := macho.NewFile(bytes.NewReader(content))
		if err != nil {
			return fmt.Errorf("read it: %w", err)
		}
		for _, section := range file.Sections {
			sections = append(sections, section.Name)
		}
	} else {
		file, err := elf.NewFile(bytes.NewReader(content))
		if err != nil {
			return fmt.Errorf("read it: %w", err)
		}
		for _, part := range file.Progs {
			if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
				return errors.New("it is not static: it asks the system for a loader and libraries")
			}
		}
		for _, section := range file.Sections {
			sections = append(sections, section.Name)
		}
	}
	if i := slices.IndexFunc(sections, func(name string) bool {
		return name == ".symtab" || strings.HasPrefix(strings.TrimLeft(name, "._z"), "debug_")
	}); i >= 0 {
		return fmt.Errorf("it is not stripped: it has the section %s", sections[i])
	}
	return nil
}
