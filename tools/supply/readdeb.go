package main

import (
	"archive/tar"
	"bytes"
	"crypto/md5" //nolint:gosec // the format has no other sum
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// openedDeb is a Debian package that was read.
type openedDeb struct {
	fields  map[string]string // of control
	scripts map[string]string
	files   map[string]entry // by their path from the root
}

// openDeb reads a package as dpkg does, and fails where Debian's own checks would: fields,
// sums, owners, modes, folders, names, compression.
func openDeb(content []byte) (*openedDeb, error) {
	members, err := arMembers(content)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, member := range members {
		names = append(names, member.name)
	}
	if !slices.Equal(names, []string{"debian-binary", "control.tar.gz", "data.tar.gz"}) || string(members[0].content) != "2.0\n" {
		return nil, fmt.Errorf("its members are %v", names)
	}
	d := &openedDeb{fields: map[string]string{}, scripts: map[string]string{}}
	head, err := debEntries(members[1].content)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	if d.files, err = debEntries(members[2].content); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	for name, f := range head {
		if strings.HasPrefix(name, "post") || strings.HasPrefix(name, "pre") {
			d.scripts[name] = string(f.content)
		}
	}
	last := ""
	for line := range strings.Lines(string(head["control"].content)) {
		if strings.HasPrefix(line, " ") {
			d.fields[last] += "\n" + strings.TrimSpace(line)
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		last, d.fields[name] = name, strings.TrimSpace(value)
	}
	return d, errors.Join(d.checkFields(), d.checkFiles(), d.checkSums(string(head["md5sums"].content), string(head["conffiles"].content)), d.checkScripts(head))
}

// arMembers reads an archive of ar.
func arMembers(content []byte) (members []entry, err error) {
	rest, ok := bytes.CutPrefix(content, []byte("!<arch>\n"))
	if !ok {
		return nil, errors.New("it is no archive of ar")
	}
	for len(rest) > 0 {
		if len(rest) < 60 || string(rest[58:60]) != "`\n" {
			return nil, errors.New("a member of the archive has no head")
		}
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		if err != nil || size < 0 || len(rest) < 60+size+size%2 {
			return nil, errors.New("a member of the archive is cut off")
		}
		members = append(members, entry{strings.TrimSpace(string(rest[:16])), 0, rest[60 : 60+size]})
		rest = rest[60+size+size%2:]
	}
	return members, nil
}

// debEntries reads a tar.gz of a package.
func debEntries(packed []byte) (map[string]entry, error) {
	plain, err := unzip(packed)
	if err != nil {
		return nil, err
	}
	files := map[string]entry{}
	for r := tar.NewReader(bytes.NewReader(plain)); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read its tar: %w", err)
		}
		name, ok := strings.CutPrefix(head.Name, "./")
		if !ok || head.Uid != 0 || head.Gid != 0 || head.Typeflag != tar.TypeReg && head.Typeflag != tar.TypeDir {
			return nil, fmt.Errorf("%s has the owner %d:%d and the type %c", head.Name, head.Uid, head.Gid, head.Typeflag)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("read its tar: %w", err)
		}
		if parent := strings.TrimSuffix(name, "/"); strings.Contains(parent, "/") {
			if _, there := files[parent[:strings.LastIndex(parent, "/")+1]]; !there {
				return nil, fmt.Errorf("%s comes before its folder", name)
			}
		}
		files[name] = entry{name, head.Mode, content}
	}
}

// What Debian takes as a name, a version and a maintainer.
var (
	debVersionForm    = regexp.MustCompile(`^[0-9][0-9A-Za-z.+~]*$`)
	debMaintainerForm = regexp.MustCompile(`^[^<>]+ <[^<>@ ]+@[^<>@ ]+>$`)
)

func (d *openedDeb) checkFields() error {
	f := d.fields
	short, long, _ := strings.Cut(f["Description"], "\n")
	switch {
	case f["Package"] != "flowrun" || !debVersionForm.MatchString(f["Version"]) || !slices.Contains([]string{"amd64", "arm64"}, f["Architecture"]):
		return fmt.Errorf("it is of %q %q for %q", f["Package"], f["Version"], f["Architecture"])
	case !debMaintainerForm.MatchString(f["Maintainer"]) || f["Section"] == "" || f["Priority"] != "optional" || !strings.HasPrefix(f["Homepage"], "https://"):
		return fmt.Errorf("control says %v", f)
	case short == "" || len(short) > 80 || strings.HasSuffix(short, ".") || long == "":
		return fmt.Errorf("its description is %q", short)
	}
	if size, err := strconv.Atoi(f["Installed-Size"]); err != nil || size <= 0 {
		return fmt.Errorf("Installed-Size is %q", f["Installed-Size"])
	}
	return nil
}

// checkFiles holds the files against Debian's policy.
func (d *openedDeb) checkFiles() error {
	for name, f := range d.files {
		want := int64(0o644)
		if strings.HasSuffix(name, "/") || name == "" || strings.HasPrefix(name, "usr/bin/") {
			want = 0o755
		}
		switch {
		case f.mode != want:
			return fmt.Errorf("%s has the mode %o, not %o", name, f.mode, want)
		case strings.HasPrefix(name, "usr/local/") || strings.HasPrefix(name, "var/") || strings.HasPrefix(name, "home/"):
			return fmt.Errorf("%s lies where packages put nothing", name)
		case strings.HasSuffix(name, ".gz") && (len(f.content) < 10 || !bytes.Equal(f.content[4:8], make([]byte, 4))):
			return fmt.Errorf("%s is no gzip without a time", name)
		}
	}
	for _, needed := range []string{
		"usr/bin/flowrun", debUnit, "usr/share/man/man1/flowrun.1.gz", "usr/share/doc/flowrun/copyright", "usr/share/doc/flowrun/changelog.gz", "etc/flowrun/flowrun.yaml",
		"usr/lib/sysusers.d/flowrun.conf", "usr/share/bash-completion/completions/flowrun", "usr/share/zsh/vendor-completions/_flowrun", "usr/share/fish/vendor_completions.d/flowrun.fish",
	} {
		if len(d.files[needed].content) == 0 {
			return fmt.Errorf("%s is missing", needed)
		}
	}
	unit := string(d.files[debUnit].content)
	for _, part := range []string{"\nExecStart=/usr/bin/flowrun serve --config /etc/flowrun/flowrun.yaml\n", "\nUser=flowrun\n", "\nStateDirectory=flowrun\n", "\nWantedBy=multi-user.target\n"} {
		if !strings.Contains(unit, part) {
			return fmt.Errorf("the unit has no line %q", strings.TrimSpace(part))
		}
	}
	return nil
}

// checkSums compares md5sums with the files, and the list of what people may change.
func (d *openedDeb) checkSums(sums, conffiles string) error {
	listed := map[string]string{}
	for line := range strings.Lines(sums) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		listed[name] = sum
	}
	for name, f := range d.files {
		if !strings.HasSuffix(name, "/") && name != "" && listed[name] != fmt.Sprintf("%x", md5.Sum(f.content)) { //nolint:gosec // see above
			return fmt.Errorf("md5sums has not the sum of %s", name)
		}
		if isConf := strings.Contains(conffiles, "/"+name+"\n"); strings.HasPrefix(name, "etc/") && !strings.HasSuffix(name, "/") && !isConf {
			return fmt.Errorf("conffiles does not name /%s", name)
		}
	}
	return nil
}

func (d *openedDeb) checkScripts(head map[string]entry) error {
	for _, name := range []string{"postinst", "postrm", "prerm"} {
		if text := d.scripts[name]; !strings.HasPrefix(text, "#!/bin/sh\nset -e\n") || head[name].mode != 0o755 {
			return fmt.Errorf("the script %s does not end where a command fails, or can't be run", name)
		}
	}
	return nil
}
