package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The version of the zone data in the binary is that of the Go release which
// builds it.
func TestTheEmbeddedZoneDataIsThatOfThisGo(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("SKIPPED: no go command: %v", err)
	}
	script, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "update.bash"))
	if err != nil {
		t.Skipf("SKIPPED: this Go comes without the script of its zone data: %v", err)
	}
	match := regexp.MustCompile(`(?m)^DATA=(\S+)$`).FindSubmatch(script)
	if match == nil || string(match[1]) != embeddedZones {
		t.Errorf("embeddedZones is %s, Go has %s", embeddedZones, match)
	}
}

func TestZoneDataIsFoundAsGoDoes(t *testing.T) {
	folder := func(files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			putFile(t, dir, name, text)
		}
		return dir
	}
	if err := os.MkdirAll(filepath.Join(t.TempDir(), "Europe"), 0o700); err != nil {
		t.Fatal(err)
	}
	linux := folder(map[string]string{"tzdata.zi": "# version 2031a\n# more\n"})
	mac := folder(map[string]string{"+VERSION": "2030b\n"})
	bare := folder(nil)
	for _, dir := range []string{linux, mac, bare} {
		if err := os.MkdirAll(filepath.Join(dir, "Europe"), 0o700); err != nil {
			t.Fatal(err)
		}
		putFile(t, dir, "Europe/Berlin", "TZif")
	}
	for name, c := range map[string]struct {
		named           string
		folders         []string
		version, source string
	}{
		"the system's":               {"", []string{"/nowhere", linux, mac}, "2031a", linux},
		"a file with a version":      {"", []string{mac}, "2030b", mac},
		"one that does not tell":     {"", []string{bare}, "", bare},
		"the one of ZONEINFO":        {mac, []string{linux}, "2030b", mac},
		"a ZONEINFO that is not one": {"/nowhere", []string{linux}, "2031a", linux},
	} {
		if version, source := zoneData(c.named, c.folders); version != c.version || source != c.source {
			t.Errorf("%s: %q %q", name, version, source)
		}
	}
	if version, source := zoneData("", nil); version != embeddedZones || !strings.Contains(source, "in the binary") {
		t.Errorf("%q %q", version, source)
	}
}
