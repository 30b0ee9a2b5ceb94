package python

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// byHand starts a plugin as a person does and returns what it says.
func byHand(t *testing.T, script string) (said string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plugin")
	pack(t, script, file)
	command := exec.Command(file)
	command.Env = []string{"PATH=" + os.Getenv("PATH")}
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(output), command.ProcessState.ExitCode()
}
