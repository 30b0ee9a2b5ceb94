package python

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
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

// TestIssue15_5_WithoutItsLibrariesItSaysHowToGetThem.
func TestIssue15_5_WithoutItsLibrariesItSaysHowToGetThem(t *testing.T) {
	t.Parallel()
	program := "import sys\nsys.modules['grpc'] = None\nsys.path.insert(0, '../../sdk/python')\nfrom flowrun import Plugin\nPlugin('bare', '1.0.0', 'Nothing').serve()\n"
	command := exec.Command(needPython(t), "-B", "-c", program)
	command.Env = []string{"PATH=" + os.Getenv("PATH"), handshake.MagicCookieKey + "=" + handshake.MagicCookieValue}
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	output, _ := command.CombinedOutput()
	if code := command.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(output), "apt-get install python3-grpcio") {
		t.Errorf("exit %d, %s", code, output)
	}
}
