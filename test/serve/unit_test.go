package serve

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheUnitIsOneOfSystemd lets systemd read contrib/flowrun.service, with a
// program that is there.
func TestTheUnitIsOneOfSystemd(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed: the unit is not checked")
	}
	text, err := os.ReadFile("../../contrib/flowrun.service")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, needed := range []string{"Type=notify", "ExecReload=/bin/kill -HUP $MAINPID", "WatchdogSec=", "StateDirectory=flowrun", "SuccessExitStatus=143", "NoNewPrivileges=yes"} {
		if !strings.Contains(string(text), needed) {
			t.Errorf("the unit has no %s", needed)
		}
	}
	unit := filepath.Join(t.TempDir(), "flowrun.service")
	if err := os.WriteFile(unit, []byte(strings.Replace(string(text), "/usr/local/bin/flowrun", program, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(analyze, "verify", unit).CombinedOutput()
	if err != nil || len(output) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, output)
	}
}
