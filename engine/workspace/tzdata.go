package workspace

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// embeddedZones is the version of the zone data that this release of Go carries
// (time/tzdata); a test compares it with the release's own script.
const embeddedZones = "2025c"

// TZData says which time zone rules slots are worked out by: their version, "" where
// it can't be told, and where they lie. The system's come before those in the
// binary, as in Go's time package.
func (p *Workspace) TZData() (version, source string) {
	named := ""
	for _, variable := range p.config.Environ {
		if value, ok := strings.CutPrefix(variable, "ZONEINFO="); ok {
			named = value
		}
	}
	return zoneData(named, zoneFolders())
}

// zoneFolders are where Go looks on Unix.
func zoneFolders() []string {
	return []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"}
}

func zoneData(named string, folders []string) (version, source string) {
	if named != "" {
		folders = append([]string{named}, folders...)
	}
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, "Europe", "Berlin")); err == nil {
			return zoneVersion(folder), folder
		}
	}
	return embeddedZones, "in the binary (" + runtime.Version() + ")"
}

// zoneVersion reads the version that a zone folder tells: the head of tzdata.zi, or
// the file +VERSION.
func zoneVersion(folder string) string {
	if version := firstLine(filepath.Join(folder, "tzdata.zi")); strings.HasPrefix(version, "# version ") {
		return strings.TrimSpace(strings.TrimPrefix(version, "# version "))
	}
	return strings.TrimSpace(firstLine(filepath.Join(folder, "+VERSION")))
}

func firstLine(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Scan()
	return lines.Text()
}
