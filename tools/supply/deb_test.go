package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// debCommit is the time of the commit that packages of the tests are of.
var debCommit = time.Date(2026, 11, 28, 8, 15, 0, 0, time.UTC)

// madeDeb is a package around a program that is none.
func madeDeb(t *testing.T, version string) []byte {
	t.Helper()
	return debOf(t, version, []byte("#!/bin/sh\necho flowrun is here\n"))
}

// debOf is a package around a program.
func debOf(t *testing.T, version string, program []byte) []byte {
	t.Helper()
	m := &maker{source: "../..", commit: debCommit, extras: []entry{
		{"completions/_flowrun", 0o644, []byte("zsh")}, {"completions/flowrun.bash", 0o644, []byte("bash")}, {"completions/flowrun.fish", 0o644, []byte("fish")},
		{"completions/flowrun.ps1", 0o644, []byte("powershell")}, {"man/man1/flowrun.1", 0o644, []byte(".TH flowrun")},
	}}
	_, content, err := m.deb(target{"linux", "amd64"}, &parts{program: &built{content: program, version: version}, bom: []byte("{}"), notices: []byte("MIT")})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestADebianPackageIsWhole: its own reader finds nothing, and it is the same bytes twice.
func TestADebianPackageIsWhole(t *testing.T) {
	content := madeDeb(t, "v1.2.3")
	d, err := openDeb(content)
	if err != nil {
		t.Fatal(err)
	}
	if d.fields["Version"] != "1.2.3" || string(d.files["usr/bin/flowrun"].content) != "#!/bin/sh\necho flowrun is here\n" {
		t.Errorf("it holds %v", d.fields)
	}
	if !bytes.Equal(content, madeDeb(t, "v1.2.3")) {
		t.Error("it is not the same bytes twice")
	}
	for _, name := range []string{"postinst", "prerm", "postrm"} {
		script := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(script, []byte(d.scripts[name]), 0o600); err != nil {
			t.Fatal(err)
		}
		if output, err := exec.Command("sh", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, output)
		}
	}
}

// TestWhatDebianRefusesIsFound spoils a package in one place each.
func TestWhatDebianRefusesIsFound(t *testing.T) {
	whole, err := openDeb(madeDeb(t, "v1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(map[string]entry) (version string){
		"a version with a letter first": func(map[string]entry) string { return "v1" },
		"a program that can't be run": func(files map[string]entry) string {
			f := files["usr/bin/flowrun"]
			f.mode = 0o644
			files[f.name] = f
			return "1"
		},
		"no manual page": func(files map[string]entry) string { delete(files, "usr/share/man/man1/flowrun.1.gz"); return "1" },
		"a file below /usr/local": func(files map[string]entry) string {
			files["usr/local/x"] = entry{"usr/local/x", 0o644, []byte("x")}
			return "1"
		},
		"a setting that is overwritten": func(files map[string]entry) string { files["etc/x"] = entry{"etc/x", 0o644, []byte("x")}; return "1" },
		"a unit of another program": func(files map[string]entry) string {
			f := files[debUnit]
			f.content = bytes.ReplaceAll(f.content, []byte("/usr/bin/"), []byte("/opt/"))
			files[f.name] = f
			return "1"
		},
		"a page that is not packed": func(files map[string]entry) string {
			files["usr/share/doc/flowrun/x.gz"] = entry{"usr/share/doc/flowrun/x.gz", 0o644, []byte("a text that is none")}
			return "1"
		},
	} {
		files := map[string]entry{}
		for path, f := range whole.files {
			if !strings.HasSuffix(path, "/") && path != "" {
				files[path] = f
			}
		}
		version := spoil(files)
		var all []entry
		for _, f := range files {
			all = append(all, f)
		}
		content, err := packDeb(version, "amd64", debCommit, withFolders(all))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openDeb(content); err == nil {
			t.Errorf("%s is not found", name)
		}
	}
	content := madeDeb(t, "v1.2.3")
	for cut := 1; cut < len(content); cut += len(content) / 7 {
		if _, err := openDeb(content[:cut]); err == nil {
			t.Errorf("%d of %d bytes are taken for a package", cut, len(content))
		}
	}
}

// TestVersionsOfPackagesAreInOrder: as dpkg has it, where it is here.
func TestVersionsOfPackagesAreInOrder(t *testing.T) {
	order := []string{"v0.0.0-20261128081500-0123456789ab", "v0.9.0", "v1.0.0-alpha.1", "v1.0.0-rc.1", "v1.0.0", "v1.0.0+dirty", "v1.0.1-0.20261128081500-0123456789ab", "v1.0.1", "v1.10.0"}
	for i, version := range order {
		if form := debVersion(version); !debVersionForm.MatchString(form) {
			t.Errorf("%s becomes %s", version, form)
		}
		if i == 0 {
			continue
		}
		if _, err := exec.LookPath("dpkg"); err != nil {
			t.Skip("there is no dpkg")
		}
		if exec.Command("dpkg", "--compare-versions", debVersion(order[i-1]), "lt", debVersion(version)).Run() != nil {
			t.Errorf("%s is not before %s", debVersion(order[i-1]), debVersion(version))
		}
	}
}

// TestDpkgReadsThePackage: what Debian's own tools make of it.
func TestDpkgReadsThePackage(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("there is no dpkg-deb")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "flowrun.deb")
	if err := os.WriteFile(file, madeDeb(t, "v1.2.3-rc.1"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) string {
		output, err := exec.Command("dpkg-deb", args...).CombinedOutput()
		if err != nil || strings.Contains(string(output), "warning") {
			t.Fatalf("dpkg-deb %v: %v\n%s", args, err, output)
		}
		return string(output)
	}
	info := ask("--info", file)
	for _, part := range []string{"new Debian package, version 2.0", " Version: 1.2.3~rc.1\n", " Architecture: amd64\n", "postinst", "prerm"} {
		if !strings.Contains(info, part) {
			t.Errorf("--info has no %q:\n%s", part, info)
		}
	}
	contents := ask("--contents", file)
	for _, line := range []string{
		"-rwxr-xr-x root/root        31 2026-11-28 08:15 ./usr/bin/flowrun", "drwxr-xr-x root/root         0 2026-11-28 08:15 ./etc/flowrun/workflows/",
		"./usr/lib/systemd/system/flowrun.service", "./usr/share/man/man1/flowrun.1.gz",
	} {
		if !strings.Contains(contents, line) {
			t.Errorf("--contents has no %q:\n%s", line, contents)
		}
	}
	root := filepath.Join(dir, "root")
	ask("--extract", file, root)
	if output, err := exec.Command(filepath.Join(root, "usr", "bin", "flowrun")).Output(); err != nil || string(output) != "flowrun is here\n" {
		t.Errorf("the program of it: %q, %v", output, err)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		return
	}
	output, _ := exec.Command("systemd-analyze", "verify", "--root="+root, debUnitName).CombinedOutput() // in this root it lacks the units of others
	for line := range strings.Lines(string(output)) {
		if strings.Contains(line, debUnitName+":") && !strings.Contains(line, debUnitName+": ") || strings.Contains(line, "/usr/bin/flowrun") {
			t.Errorf("systemd says of the unit: %s", line)
		}
	}
}

// debUnitName is the unit in the package.
const debUnitName = "flowrun.service"

// TestAFormulaNamesTheArchivesOfItsRelease, with their sums, and is Ruby where that is here.
func TestAFormulaNamesTheArchivesOfItsRelease(t *testing.T) {
	sums, listed := sumsOf("a", "b", "c", "d")
	text := formula("v1.2.3", sums)
	if err := checkFormula(text, listed); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	for _, part := range []string{
		`url "https://github.com/flowrun/flowrun/releases/download/v1.2.3/flowrun_1.2.3_darwin_arm64.tar.gz"`, `version "1.2.3"`, "on_macos do\n    on_arm do\n", "on_linux do\n    on_arm do\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("it has no %s:\n%s", part, text)
		}
	}
	if _, err := exec.LookPath("ruby"); err == nil {
		check := exec.Command("ruby", "-c")
		check.Stdin = strings.NewReader(text)
		if output, err := check.CombinedOutput(); err != nil {
			t.Errorf("ruby: %v\n%s", err, output)
		}
	}
	for name, spoilt := range map[string]string{
		"a block without an end": strings.Replace(text, "    end\n", "", 1),
		"an end too many":        text + "end\n",
		"a quote":                strings.Replace(text, `"Apache-2.0"`, `"Apache-2.0`, 1),
		"another sum":            strings.Replace(text, listed["flowrun_1.2.3_linux_amd64.tar.gz"], strings.Repeat("0", 64), 1),
		"another place":          strings.Replace(text, downloads, "https://example.com/", 1),
		"an archive too few":     formula("v1.2.3", firstOf(sums)),
		"no archive":             formula("v1.2.3", nil),
		"something before it":    "puts 1\n" + text,
	} {
		if checkFormula(spoilt, listed) == nil {
			t.Errorf("%s is not found:\n%s", name, spoilt)
		}
	}
}

// sumsOf are sums of archives for all systems.
func sumsOf(contents ...string) (sums map[string][32]byte, listed map[string]string) {
	sums, listed = map[string][32]byte{}, map[string]string{}
	for i, t := range targets() {
		name := "flowrun_1.2.3_" + t.String() + ".tar.gz"
		sums[name] = [32]byte{contents[i][0]}
		listed[name] = fmt.Sprintf("%x", sums[name])
	}
	return sums, listed
}

func firstOf(sums map[string][32]byte) map[string][32]byte {
	var names []string
	for name := range sums {
		names = append(names, name)
	}
	slices.Sort(names)
	return map[string][32]byte{names[0]: sums[names[0]]}
}
