package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/md5" //nolint:gosec // the format has no other sum; SHA256SUMS holds the package
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maintainer is whom a package names.
const maintainer = "The flowrun authors <flowrun@users.noreply.github.com>"

// debUnit is where the unit of systemd lies in a package.
const debUnit = "usr/lib/systemd/system/flowrun.service"

// debProject is the project that a package begins with. What a person makes of it stays
// over upgrades.
const debProject = `# The project that the unit flowrun.service serves: docs/serve.md.
# After a change: systemctl reload flowrun
workflows: [workflows]
`

// The account of the unit and its state folder, as systemd makes them.
const (
	debAccount = "u flowrun - \"flowrun\" /var/lib/flowrun\n"
	debState   = "d /var/lib/flowrun 0700 flowrun flowrun -\n"
)

// What dpkg runs. Nothing is started that nobody has asked for: there is no project yet. A
// server that goes on is started again after an upgrade. The store is never removed, not by
// a purge either.
const (
	debAfterInstall = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
	if command -v systemd-sysusers >/dev/null; then
		systemd-sysusers flowrun.conf
	elif ! getent passwd flowrun >/dev/null; then
		useradd --system --user-group --home-dir /var/lib/flowrun --shell /usr/sbin/nologin flowrun
	fi
	install -d -m 0700 -o flowrun -g flowrun /var/lib/flowrun
	if [ -d /run/systemd/system ]; then
		systemctl daemon-reload
		if [ -n "$2" ]; then
			systemctl try-restart flowrun.service || echo "flowrun: the server does not start again: journalctl -u flowrun" >&2
		fi
	fi
fi
exit 0
`
	debBeforeRemove = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	systemctl disable --now flowrun.service || true
fi
exit 0
`
	debAfterRemove = `#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
if [ "$1" = purge ] && [ -d /var/lib/flowrun ]; then
	echo "flowrun: the runs in /var/lib/flowrun are left; remove them by hand" >&2
fi
exit 0
`
)

// deb makes the Debian package of a target. dpkg's own tools are not asked: they are on few
// machines, and write times of theirs.
func (m *maker) deb(t target, p *parts) (name string, content []byte, err error) {
	texts := map[string][]byte{}
	for _, file := range []string{"LICENSE", "CHANGELOG.md", "contrib/flowrun.service"} {
		if texts[file], err = os.ReadFile(filepath.Join(m.source, file)); err != nil {
			return "", nil, fmt.Errorf("put %s into the package: %w", file, err)
		}
	}
	files, err := debFiles(p, texts, m.extras)
	if err != nil {
		return "", nil, err
	}
	version := debVersion(p.program.version)
	content, err = packDeb(version, t.arch, m.commit, files)
	return "flowrun_" + version + "_" + t.arch + ".deb", content, err
}

// debVersion is a version of Go's as dpkg orders them: what comes before a release has a
// tilde.
func debVersion(version string) string {
	release, build, _ := strings.Cut(strings.TrimPrefix(version, "v"), "+")
	release = strings.Replace(release, "-", "~", 1)
	release = strings.ReplaceAll(release, "-", ".")
	if build != "" {
		return release + "+" + build
	}
	return release
}

// debFiles are the files that a package puts onto a machine, folders too.
func debFiles(p *parts, texts map[string][]byte, extras []entry) ([]entry, error) {
	unit := bytes.ReplaceAll(texts["contrib/flowrun.service"], []byte("/usr/local/bin/flowrun"), []byte("/usr/bin/flowrun"))
	unit = bytes.Replace(unit, []byte("# A user of its own, made at the start.\nDynamicUser=yes\n"), []byte("# The user of the package.\n"), 1)
	if bytes.Contains(unit, []byte("DynamicUser")) || bytes.Contains(unit, []byte("/usr/local")) {
		return nil, fmt.Errorf("contrib/flowrun.service is not what the package changes: it has DynamicUser or /usr/local still")
	}
	_, unit, ok := bytes.Cut(unit, []byte("\n[Unit]\n")) // before it stands how to install it by hand
	if !ok {
		return nil, fmt.Errorf("contrib/flowrun.service has no [Unit]")
	}
	changes, err := zipped(texts["CHANGELOG.md"])
	if err != nil {
		return nil, err
	}
	notices, err := zipped(p.notices)
	if err != nil {
		return nil, err
	}
	files := []entry{
		{"etc/flowrun/flowrun.yaml", 0o644, []byte(debProject)},
		{"etc/flowrun/workflows/", 0o755, nil},
		{"usr/bin/flowrun", 0o755, p.program.content},
		{debUnit, 0o644, append([]byte("# flowrun as a system service (https://github.com/flowrun/flowrun/blob/main/docs/serve.md)\n[Unit]\n"), unit...)},
		{"usr/lib/sysusers.d/flowrun.conf", 0o644, []byte(debAccount)},
		{"usr/lib/tmpfiles.d/flowrun.conf", 0o644, []byte(debState)},
		{"usr/share/doc/flowrun/LICENSES-OF-MODULES.txt.gz", 0o644, notices},
		{"usr/share/doc/flowrun/changelog.gz", 0o644, changes},
		{"usr/share/doc/flowrun/copyright", 0o644, append([]byte("flowrun, of the flowrun authors: https://github.com/flowrun/flowrun\nThe licences of the modules in it: LICENSES-OF-MODULES.txt.gz\n\n"), texts["LICENSE"]...)},
		{"usr/share/doc/flowrun/flowrun.cdx.json", 0o644, p.bom},
	}
	for _, extra := range extras {
		to, ok := debPlaces()[extra.name]
		content := extra.content
		if page, isPage := strings.CutPrefix(extra.name, "man/man1/"); isPage {
			to, ok = "usr/share/man/man1/"+page+".gz", true
			if content, err = zipped(content); err != nil {
				return nil, err
			}
		}
		if ok {
			files = append(files, entry{to, 0o644, content})
		}
	}
	return withFolders(files), nil
}

// debPlaces are where Debian has the completions of shells.
func debPlaces() map[string]string {
	return map[string]string{
		"completions/flowrun.bash": "usr/share/bash-completion/completions/flowrun",
		"completions/_flowrun":     "usr/share/zsh/vendor-completions/_flowrun",
		"completions/flowrun.fish": "usr/share/fish/vendor_completions.d/flowrun.fish",
	}
}

// withFolders adds the folders of files and sorts: dpkg wants each before what is in it.
func withFolders(files []entry) []entry {
	seen := map[string]bool{}
	for _, f := range files {
		seen[f.name] = true
	}
	for _, f := range slices.Clone(files) {
		for dir := path.Dir(strings.TrimSuffix(f.name, "/")); dir != "."; dir = path.Dir(dir) {
			if !seen[dir+"/"] {
				seen[dir+"/"] = true
				files = append(files, entry{dir + "/", 0o755, nil})
			}
		}
	}
	slices.SortFunc(files, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return files
}

// zipped compresses as Debian has it: no name and no time.
func zipped(content []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(content)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return b.Bytes(), nil
}

// packDeb makes a package: an archive of ar with its version, what dpkg reads, and the files.
func packDeb(version, arch string, at time.Time, files []entry) ([]byte, error) {
	var sums strings.Builder
	var size int64
	for _, f := range files {
		if !strings.HasSuffix(f.name, "/") {
			fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.content), f.name) //nolint:gosec // see above
			size += int64(len(f.content)+1023) / 1024
		}
	}
	control := fmt.Sprintf(`Package: flowrun
Version: %s
Architecture: %s
Maintainer: %s
Installed-Size: %d
Recommends: ca-certificates
Section: admin
Priority: optional
Homepage: https://github.com/flowrun/flowrun
Description: runs YAML workflows durably, with services as plugins
 flowrun checks workflows against the schemas of the plugins that they use, and
 runs them so that no acknowledged step is lost or done twice. It is one static
 program with a command line, schedules, webhooks, an HTTP API and a web page.
 The unit flowrun.service serves the project in /etc/flowrun; it is not started
 before somebody enables it.
`, version, arch, maintainer, size)
	head, err := debTar(at, []entry{
		{"conffiles", 0o644, []byte("/etc/flowrun/flowrun.yaml\n")},
		{"control", 0o644, []byte(control)},
		{"md5sums", 0o644, []byte(sums.String())},
		{"postinst", 0o755, []byte(debAfterInstall)},
		{"postrm", 0o755, []byte(debAfterRemove)},
		{"prerm", 0o755, []byte(debBeforeRemove)},
	})
	if err != nil {
		return nil, err
	}
	data, err := debTar(at, files)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, member := range []entry{{"debian-binary", 0o100644, []byte("2.0\n")}, {"control.tar.gz", 0o100644, head}, {"data.tar.gz", 0o100644, data}} {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", member.name, at.Unix(), 0, 0, member.mode, len(member.content))
		b.Write(member.content)
		if len(member.content)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes(), nil
}

// debTar makes a tar.gz as dpkg reads it: names from ./ on, all of root's.
func debTar(at time.Time, files []entry) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range append([]entry{{"", 0o755, nil}}, files...) {
		head := tar.Header{
			Typeflag: tar.TypeReg, Name: "./" + f.name, Mode: f.mode, Size: int64(len(f.content)), Uname: "root", Gname: "root",
			ModTime: at.UTC().Truncate(time.Second), Format: tar.FormatGNU,
		}
		if strings.HasSuffix(head.Name, "/") {
			head.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(&head); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack the package: %w", err)
	}
	return zipped(b.Bytes())
}
