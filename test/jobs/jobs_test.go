// Package jobs runs the jobs of docs/jobs as somebody would who copied one: with the built
// program, real files and scripts, and services on this machine in the place of those that
// the job names.
package jobs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

const folder = "../../docs/jobs"

// mostLines is how long a job's workflow may be.
const mostLines = 39

// jobs are the jobs by their folders: the workflow, and what it must do against
// counterparts on this machine.
var jobs = map[string]struct {
	workflow string
	run      func(t *testing.T, j *job)
}{
	"approved-command":   {"restart.yaml", approvedCommand},
	"backup":             {"backup.yaml", backup},
	"big-export":         {"ledger.yaml", bigExport},
	"contacts-sync":      {"sync.yaml", contactsSync},
	"csv-to-api":         {"stock.yaml", csvToAPI},
	"delivered-digest":   {"orders.yaml", deliveredDigest},
	"deploy-hook":        {"deploy.yaml", deployHook},
	"document-summaries": {"summaries.yaml", documentSummaries},
	"file-drop":          {"upload.yaml", fileDrop},
	"issues-digest":      {"digest.yaml", issuesDigest},
	"price-watch":        {"price.yaml", priceWatch},
	"uptime":             {"uptime.yaml", uptime},
	"weekly-report":      {"weekly.yaml", weeklyReport},
}

// Each job is short, typed under --strict, has tests that pass, a page with its picture,
// and does what it says.
func TestIssue16_TheJobsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "flowrun")
	if err := testbuild.Program(program, "../../cmd/flowrun"); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if found := folders(t); len(found) != len(jobs) {
		t.Errorf("docs/jobs has %v, the test knows %d", found, len(jobs))
	}
	for name, of := range jobs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !bytes.Contains(index, []byte("("+name+"/README.md)")) {
				t.Error("docs/jobs/README.md does not name it")
			}
			j := &job{program: program, dir: t.TempDir()}
			if err := os.CopyFS(j.dir, os.DirFS(filepath.Join(folder, name))); err != nil {
				t.Fatal(err)
			}
			if lines := strings.Count(j.read(t, of.workflow), "\n"); lines > mostLines {
				t.Errorf("%s has %d lines, at most %d are meant", of.workflow, lines, mostLines)
			}
			j.flowrun(t, 0, "validate", "--strict", ".")
			j.flowrun(t, 0, "fmt", "--check", ".")
			j.flowrun(t, 0, "test")
			j.picture(t, name, of.workflow)
			of.run(t, j)
		})
	}
}

func folders(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// job is a copy of a job's folder.
type job struct {
	program, dir string
	environ      []string
}

func (j *job) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(j.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (j *job) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(j.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// exists reports whether a file of the job is there.
func (j *job) exists(t *testing.T, name string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(j.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// instead puts other text into a file of the job: the address of a counterpart.
func (j *job) instead(t *testing.T, name string, pairs ...string) {
	t.Helper()
	text := j.read(t, name)
	for pair := range slices.Chunk(pairs, 2) {
		if !strings.Contains(text, pair[0]) {
			t.Fatalf("%s has no %q", name, pair[0])
		}
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	j.write(t, name, text)
}

// command is flowrun with arguments in the job's folder.
func (j *job) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), j.program, args...)
	command.Dir = j.dir
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + j.dir, "TMPDIR=" + os.TempDir()}, j.environ...)
	return command
}

// flowrun runs a command that must end with the code, and returns what it prints.
func (j *job) flowrun(t *testing.T, want int, args ...string) (stdout string) {
	t.Helper()
	command := j.command(t, args...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code := command.ProcessState.ExitCode(); code != want {
		t.Fatalf("flowrun %q exits with %d, want %d\n%s%s", args, code, want, &out, &errs)
	}
	return out.String()
}

// picture holds the drawing of the job's page against its workflow. UPDATE=1 draws it.
func (j *job) picture(t *testing.T, name, workflow string) {
	t.Helper()
	file := filepath.Join(folder, name, "graph.svg")
	drawn := j.flowrun(t, 0, "graph", workflow, "-f", "svg")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(drawn), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, _ := os.ReadFile(file); string(kept) != drawn {
		t.Errorf("docs/jobs/%s/graph.svg is not the drawing of the workflow: UPDATE=1 draws it", name)
	}
	if page := j.read(t, "README.md"); !strings.Contains(page, "](graph.svg)") {
		t.Error("the page does not show graph.svg")
	}
}
