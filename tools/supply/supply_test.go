package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licenseclassifier/v2/assets"
)

// fake is a module in a folder of its own with one package.
func fake(t *testing.T, files map[string]string) module {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return module{Path: "example.com/x", Version: "v1.2.3", Sum: "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", Dir: dir, packages: []string{filepath.Join(dir, "inner")}}
}

func text(t *testing.T, licence string) string {
	t.Helper()
	content, err := assets.ReadLicenseFile(licence)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestOnlyAllowedLicencesPass(t *testing.T) {
	texts, err := assets.DefaultClassifier()
	if err != nil {
		t.Fatal(err)
	}
	mit, gpl := text(t, "License/MIT/pristine.txt"), text(t, "License/GPL-3.0/license.txt")
	for name, c := range map[string]struct {
		files map[string]string
		fails string
	}{
		"one that is allowed":               {map[string]string{"LICENSE": mit, "inner/a.go": "package inner"}, ""},
		"none":                              {map[string]string{"inner/a.go": "package inner"}, "has no file that says its licence"},
		"one that is not allowed":           {map[string]string{"COPYING": gpl, "inner/a.go": "package inner"}, "GPL-3.0"},
		"another one of a package in use":   {map[string]string{"LICENSE": mit, "inner/LICENSE.md": gpl}, "GPL-3.0"},
		"another one behind the first":      {map[string]string{"LICENSE": mit + "\n\n" + gpl, "inner/a.go": "package inner"}, "GPL-3.0"},
		"terms that nobody knows":           {map[string]string{"LICENSE": "Ask my uncle before you use this.", "inner/a.go": ""}, "no licence is known"},
		"another one of a package not used": {map[string]string{"LICENSE": mit, "inner/a.go": "", "other/LICENSE": gpl}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := fake(t, c.files)
			if err := os.MkdirAll(filepath.Join(m.Dir, "inner"), 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := termsOf(texts, m)
			if c.fails == "" && err != nil {
				t.Fatal(err)
			}
			if c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Fatalf("got %v, want an error with %q", err, c.fails)
			}
		})
	}
}

func TestTheListOfModulesIsTheSameTwice(t *testing.T) {
	m := fake(t, map[string]string{"LICENSE": "MIT"})
	all := []terms{{module: m, names: []string{"MIT"}}, {module: module{Path: standard, Version: "go1.26.0"}, names: []string{"BSD-3-Clause"}}}
	write := func() []byte {
		var b bytes.Buffer
		if err := writeBOM(&b, target{"linux", "arm64"}, "v1.0.0+dirty", time.Unix(1000, 0), sha256.Sum256([]byte("program")), all); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	first := write()
	if !bytes.Equal(first, write()) {
		t.Fatal("two lists of one program differ")
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(first), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	component := (*bom.Components)[0]
	if component.PackageURL != "pkg:golang/example.com/x@v1.2.3" || (*component.Licenses)[0].License.ID != "MIT" ||
		(*component.Hashes)[0].Value != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" || len(*bom.Components) != 2 {
		t.Errorf("the module is listed as %+v", component)
	}
	if bom.Metadata.Timestamp != "1970-01-01T00:16:40Z" || bom.Metadata.Component.PackageURL != "pkg:golang/github.com/flowrun/flowrun@v1.0.0%2Bdirty" {
		t.Errorf("the program is listed as %+v", bom.Metadata)
	}
	m.Sum = ""
	if _, err := componentOf(terms{module: m}); err == nil {
		t.Error("a module without a sum is listed")
	}
}

func TestAnArchiveHoldsNothingOfTheMachine(t *testing.T) {
	files := []entry{{"flowrun", 0o755, []byte("program")}, {"LICENSE", 0o644, []byte("terms")}}
	first, err := pack("flowrun_1", time.Unix(1000, 0), files)
	if err != nil {
		t.Fatal(err)
	}
	second, err := pack("flowrun_1", time.Unix(1000, 0).In(time.FixedZone("x", 3600)), files)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("two archives of the same files differ")
	}
	z, err := gzip.NewReader(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if head.Uid != 0 || head.Gid != 0 || head.Uname != "" || head.ModTime.Unix() != 1000 {
			t.Errorf("%s has the head %+v", head.Name, head)
		}
		names = append(names, head.Name)
	}
	if strings.Join(names, " ") != "flowrun_1/flowrun flowrun_1/LICENSE" {
		t.Errorf("the archive holds %v", names)
	}
}

func TestSumsAreThoseOfSha256sum(t *testing.T) {
	got := sumLines(map[string][sha256.Size]byte{"b": sha256.Sum256(nil), "a": sha256.Sum256([]byte("x"))})
	want := "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  a\ne3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
