package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
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
func (t target) env(source string) []string {
	work := "off"
	if file, err := filepath.Abs(filepath.Join(source, "go.work")); err == nil {
		if _, err := os.Stat(file); err == nil {
			work = file
		}
	}
	return []string{"GOOS=" + t.os, "GOARCH=" + t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=" + work}
}

func targets() []target {
	return []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}
}

// chosen are the targets of a list of their names; all of an empty one.
func chosen(names string) ([]target, error) {
	if names == "" {
		return targets(), nil
	}
	var wanted []target
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(targets(), func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("%q is no system of a release: they are %v", name, targets())
		}
		wanted = append(wanted, targets()[i])
	}
	return wanted, nil
}

// here is the system of this machine.
func here() target { return target{runtime.GOOS, runtime.GOARCH} }

// maker makes releases of one commit.
type maker struct {
	source string
	commit time.Time
	texts  *classifier.Classifier
	own    *built // for this machine's system
	extras []entry
	roots  []byte // certificates of authorities, for images
}

// newMaker reads what all targets share, and builds for this machine.
func newMaker(ctx context.Context, source string) (*maker, error) {
	m := &maker{source: source, roots: authorities()}
	var err error
	if m.commit, err = commitTime(ctx, source); err != nil {
		return nil, err
	}
	if m.texts, err = assets.DefaultClassifier(); err != nil {
		return nil, fmt.Errorf("read the texts of licences: %w", err)
	}
	if m.own, err = build(ctx, source, here()); err != nil {
		return nil, err
	}
	m.extras, err = extras(ctx, m.own.content, m.commit)
	return m, err
}

// release makes, for each target, an archive with the program, its completions, manual
// pages, licences and what it is made of, for Linux an image and a Debian package as well, and
// beside them the list of modules, the formula of Homebrew and SHA256SUMS, signed where there is a key. The same commit and the
// same Go give the same bytes on any machine and in any folder.
func release(ctx context.Context, source, dist string, wanted []target, key ed25519.PrivateKey, out io.Writer) error {
	if key != nil {
		if err := isReleaseKey(source, key); err != nil {
			return err
		}
	}
	m, err := newMaker(ctx, source)
	if err != nil {
		return err
	}
	if err := emptyFolder(dist); err != nil {
		return err
	}
	sums := map[string][sha256.Size]byte{}
	for _, t := range wanted {
		files, err := m.target(ctx, t)
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
	brew := []byte(formula(m.own.version, sums))
	if err := os.WriteFile(filepath.Join(dist, formulaFile), brew, 0o644); err != nil {
		return fmt.Errorf("write the release: %w", err)
	}
	sums[formulaFile] = sha256.Sum256(brew)
	list := sumLines(sums)
	if err := os.WriteFile(filepath.Join(dist, sumsFile), []byte(list), 0o644); err != nil {
		return fmt.Errorf("write the release: %w", err)
	}
	fmt.Fprint(out, list)
	if m.own.modified {
		fmt.Fprintln(out, "changes that are not committed are in it: this is no release for others")
	}
	if key == nil {
		fmt.Fprintf(out, "it is not signed: give a key with --key FILE or %s\n", keyVariable)
		return nil
	}
	signed := signature(key, []byte(list))
	if err := os.WriteFile(filepath.Join(dist, sigFile), signed, 0o644); err != nil {
		return fmt.Errorf("write the signature: %w", err)
	}
	fmt.Fprint(out, string(signed))
	return nil
}

func emptyFolder(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("make room for the release: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make room for the release: %w", err)
	}
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

// parts are what goes out with a program for one target.
type parts struct {
	program      *built
	bom, notices []byte
}

// partsOf builds for a target and lists what is in it.
func (m *maker) partsOf(ctx context.Context, t target) (*parts, error) {
	program := m.own
	if t != here() {
		var err error
		if program, err = build(ctx, m.source, t); err != nil {
			return nil, err
		}
	}
	modules, err := modulesOf(ctx, m.source, t)
	if err != nil {
		return nil, err
	}
	var all []terms
	for _, module := range modules {
		found, err := termsOf(m.texts, module)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	var bom, notices bytes.Buffer
	if err := writeBOM(&bom, t, program.version, m.commit, sha256.Sum256(program.content), all); err != nil {
		return nil, err
	}
	if err := writeTexts(&notices, all); err != nil {
		return nil, err
	}
	return &parts{program, bom.Bytes(), notices.Bytes()}, nil
}

// target makes the files of one target, by their names.
func (m *maker) target(ctx context.Context, t target) (map[string][]byte, error) {
	p, err := m.partsOf(ctx, t)
	if err != nil {
		return nil, err
	}
	name := "flowrun_" + strings.TrimPrefix(p.program.version, "v") + "_" + t.String()
	content := []entry{{"flowrun", 0o755, p.program.content}, {"LICENSES-OF-MODULES.txt", 0o644, p.notices}, {"flowrun.cdx.json", 0o644, p.bom}}
	for _, file := range []string{"LICENSE", "README.md", "SECURITY.md", "CHANGELOG.md", "contrib/flowrun.service"} {
		text, err := os.ReadFile(filepath.Join(m.source, file))
		if err != nil {
			return nil, fmt.Errorf("put %s into the archive: %w", file, err)
		}
		content = append(content, entry{filepath.Base(file), 0o644, text})
	}
	archive, err := pack(name, m.commit, append(content, m.extras...))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{name + ".tar.gz": archive, name + ".cdx.json": p.bom}
	if t.os == "linux" {
		image, err := m.image(t, p)
		if err != nil {
			return nil, err
		}
		files[imageName(t, p.program.version)] = image
		debName, deb, err := m.deb(t, p)
		if err != nil {
			return nil, err
		}
		files[debName] = deb
	}
	return files, nil
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

// reproduce makes the release of this machine's system a second time, in a clone in
// another folder, and fails when a byte differs.
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
	var sums [2][]byte
	for i, source := range []string{root, clone} {
		dist := filepath.Join(dir, fmt.Sprint("dist", i))
		if err := release(ctx, source, dist, []target{here()}, nil, io.Discard); err != nil {
			return err
		}
		if sums[i], err = os.ReadFile(filepath.Join(dist, sumsFile)); err != nil {
			return fmt.Errorf("read the sums: %w", err)
		}
	}
	if !bytes.Equal(sums[0], sums[1]) {
		return fmt.Errorf("two builds of one commit differ:\n%s\n%s", sums[0], sums[1])
	}
	fmt.Fprintf(out, "two builds of one commit in two folders are the same:\n%s", sums[0])
	return nil
}
