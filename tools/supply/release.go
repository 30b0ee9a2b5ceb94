package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// target is a system that a program is made for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "_" + t.arch }

// env makes the go command build for the target, with what this machine has set
// for itself taken out.
func (t target) env() []string {
	return []string{"GOOS=" + t.os, "GOARCH=" + t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off"}
}

func targets() []target {
	return []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}
}

// release makes, for each target, an archive with the program, its licences and
// what it is made of, and beside the archives the same list and SHA256SUMS. The
// same commit and the same Go give the same bytes on any machine and in any folder.
func release(ctx context.Context, source, dist string, wanted []target, out io.Writer) error {
	commit, err := commitTime(ctx, source)
	if err != nil {
		return err
	}
	texts, err := assets.DefaultClassifier()
	if err != nil {
		return fmt.Errorf("read the texts of licences: %w", err)
	}
	if err := os.RemoveAll(dist); err != nil {
		return fmt.Errorf("make room for the release: %w", err)
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return fmt.Errorf("make room for the release: %w", err)
	}
	sums := map[string][sha256.Size]byte{}
	for _, t := range wanted {
		files, err := makeTarget(ctx, source, t, commit, texts)
		if err != nil {
			return err
		}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(dist, name), content, 0o644); err != nil {
				return fmt.Errorf("write the release: %w", err)
			}
			sums[name] = sha256.Sum256(content)
		}
	}
	list := sumLines(sums)
	if err := os.WriteFile(filepath.Join(dist, "SHA256SUMS"), []byte(list), 0o644); err != nil {
		return fmt.Errorf("write the release: %w", err)
	}
	fmt.Fprint(out, list)
	return nil
}

// sumLines are what `sha256sum -c` reads.
func sumLines(sums map[string][sha256.Size]byte) string {
	var lines []string
	for name, sum := range sums {
		lines = append(lines, fmt.Sprintf("%x  %s\n", sum, name))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return strings.Join(lines, "")
}

// makeTarget is the archive for one target and the list of what is in it.
func makeTarget(ctx context.Context, source string, t target, commit time.Time, texts *classifier.Classifier) (map[string][]byte, error) {
	binary, version, err := build(ctx, source, t)
	if err != nil {
		return nil, err
	}
	modules, err := modulesOf(ctx, source, t)
	if err != nil {
		return nil, err
	}
	var all []terms
	for _, m := range modules {
		found, err := termsOf(texts, m)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	var bom, notices bytes.Buffer
	if err := writeBOM(&bom, t, version, commit, sha256.Sum256(binary), all); err != nil {
		return nil, err
	}
	if err := writeTexts(&notices, all); err != nil {
		return nil, err
	}
	name := "flowrun_" + strings.TrimPrefix(version, "v") + "_" + t.String()
	content := []entry{
		{"flowrun", 0o755, binary}, {"LICENSES-OF-MODULES.txt", 0o644, notices.Bytes()}, {"flowrun.cdx.json", 0o644, bom.Bytes()},
	}
	for _, file := range []string{"LICENSE", "README.md", "SECURITY.md", "CHANGELOG.md", "contrib/flowrun.service"} {
		text, err := os.ReadFile(filepath.Join(source, file))
		if err != nil {
			return nil, fmt.Errorf("put %s into the archive: %w", file, err)
		}
		content = append(content, entry{filepath.Base(file), 0o644, text})
	}
	archive, err := pack(name, commit, content)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{name + ".tar.gz": archive, name + ".cdx.json": bom.Bytes()}, nil
}

// build makes the program and says the version that is stamped into it: the tag,
// or the commit that it was built from.
func build(ctx context.Context, source string, t target) ([]byte, string, error) {
	dir, err := os.MkdirTemp("", "flowrun-release-")
	if err != nil {
		return nil, "", fmt.Errorf("build for %s: %w", t, err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "flowrun")
	make := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", file, program)
	make.Dir, make.Env = source, append(os.Environ(), t.env()...)
	if out, err := make.CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("build for %s: %w\n%s", t, err, out)
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("read what was built for %s: %w", t, err)
	}
	if info.Main.Version == "" || info.Main.Version == "(devel)" {
		return nil, "", errors.New("what was built names no version: build in a clone, with git")
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("read what was built for %s: %w", t, err)
	}
	return content, info.Main.Version, nil
}

func commitTime(ctx context.Context, source string) (time.Time, error) {
	out, err := exec.CommandContext(ctx, "git", "-C", source, "show", "-s", "--format=%cI", "HEAD").Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("ask git for the time of the commit: %w", err)
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(string(out)))
	if err != nil {
		return time.Time{}, fmt.Errorf("ask git for the time of the commit: %w", err)
	}
	return at, nil
}

// reproduce makes this machine's archive a second time, in a clone in another
// folder, and fails when a byte differs.
func reproduce(ctx context.Context, out io.Writer) error {
	changed, err := exec.CommandContext(ctx, "git", "-C", root, "status", "--porcelain").Output()
	if err != nil {
		return fmt.Errorf("ask git what is changed: %w", err)
	}
	if len(changed) > 0 {
		return errors.New("there are changes that are not committed: a clone does not have them")
	}
	dir, err := os.MkdirTemp("", "flowrun-again-")
	if err != nil {
		return fmt.Errorf("make a folder for a clone: %w", err)
	}
	defer os.RemoveAll(dir)
	clone := filepath.Join(dir, "elsewhere", "clone")
	if text, err := exec.CommandContext(ctx, "git", "clone", "--quiet", "--no-local", root, clone).CombinedOutput(); err != nil {
		return fmt.Errorf("clone: %w\n%s", err, text)
	}
	wanted := []target{{runtime.GOOS, runtime.GOARCH}}
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	if err := release(ctx, root, first, wanted, io.Discard); err != nil {
		return err
	}
	if err := release(ctx, clone, second, wanted, io.Discard); err != nil {
		return err
	}
	one, err := os.ReadFile(filepath.Join(first, "SHA256SUMS"))
	if err != nil {
		return err
	}
	other, err := os.ReadFile(filepath.Join(second, "SHA256SUMS"))
	if err != nil {
		return err
	}
	if !bytes.Equal(one, other) {
		return fmt.Errorf("two builds of one commit differ:\n%s\n%s", one, other)
	}
	fmt.Fprintf(out, "two builds of one commit in two folders are the same:\n%s", one)
	return nil
}
