//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/internal/testbuild"
)

const smallWorkflow = "flowrun: v1\nname: small\nsteps:\n  - {let: {a: 1}}\n"

const largeWorkflow = `flowrun: v1
name: large
steps:
  - foreach: ${{ 1..500 }}
    as: n
    steps:
      - {uses: core.log, with: {text: "${{ repeat('x', 4000) }}"}}
`

// program is the built binary in a folder of its own.
type program struct {
	t           *testing.T
	binary, dir string
}

// run returns the exit code and all that was printed. No file may become larger
// than limit KiB; 0 = no limit.
func (p program) run(limit int, args ...string) (int, string) {
	p.t.Helper()
	command := `exec "$0" "$@"`
	if limit > 0 {
		command = fmt.Sprintf("ulimit -f %d; ", 2*limit) + command // blocks of 512 bytes
	}
	cmd := exec.CommandContext(p.t.Context(), "sh", append([]string{"-c", command, p.binary}, args...)...)
	cmd.Dir = p.dir
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(output)
}

func buildProgram(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "flowrun")
	if err := testbuild.Program(binary, "../../cmd/flowrun"); err != nil {
		t.Fatal(err)
	}
	return binary
}

// The same through the command line, at some sizes: exit 75, a message that says
// what is full, and afterwards every run that had ended well.
func TestP12_TheCommandLineTellsOfAFullDisk(t *testing.T) {
	if os.Getenv("FLOWRUN_FULL_DISKS") == "" {
		t.Skip("SKIPPED, TestAFullDiskHasItsOwnExitCode of cmd/flowrun is its short form: FLOWRUN_FULL_DISKS=200 runs this one")
	}
	seed := testSeed(t)
	source := rand.New(rand.NewPCG(seed, 4))
	binary := buildProgram(t)
	count := max(2, suitesize.Of(t, "FLOWRUN_FULL_DISKS", 20)/10)
	for i := range count {
		limit := 4 + source.IntN(26) // KiB: too little for a store
		if i%2 == 0 {
			limit = 40 << source.IntN(8) // too little for the large run
		}
		p := program{t, binary, t.TempDir()}
		t.Run(fmt.Sprintf("%d KiB", limit), func(t *testing.T) {
			p.t = t
			p.fill(limit, i%2 == 0)
		})
	}
}

func (p program) fill(limit int, withStore bool) {
	t := p.t
	t.Helper()
	for name, text := range map[string]string{"small.yaml": smallWorkflow, "large.yaml": largeWorkflow} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ended := 0
	if withStore {
		if code, said := p.run(0, "run", "small.yaml", "--state", "state"); code != 0 {
			t.Fatalf("with room: exit %d\n%s", code, said)
		}
		ended++
	}
	code, said := p.run(limit, "run", "large.yaml", "--state", "state")
	if code != 75 || !strings.Contains(said, "flowrun.db") || !strings.Contains(said, "no space") || !bytesNamed.MatchString(said) {
		t.Errorf("no room: exit %d, want 75 with path and bytes\n%s", code, said)
	}
	if code, said := p.run(0, "run", "small.yaml", "--state", "state"); code != 0 {
		t.Errorf("with room again: exit %d\n%s", code, said)
	}
	ended++
	code, said = p.run(0, "runs", "list", "--workflow", "small", "--state", "state", "-o", "json")
	if found := strings.Count(said, `"status":"succeeded"`) + strings.Count(said, `"status": "succeeded"`); code != 0 || found != ended {
		t.Errorf("%d of %d runs are there, exit %d\n%s", found, ended, code, said)
	}
}
