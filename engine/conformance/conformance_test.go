package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/conformance"
	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/internal/testparallel"
)

// faulty is the program of testdata/faulty; TestMain builds it.
var faulty string

func TestMain(m *testing.M) {
	testparallel.AtLeast(6) // a test of a plugin waits for processes and for what must not come
	folder, err := os.MkdirTemp("", "kit")
	if err != nil {
		panic(err)
	}
	faulty = filepath.Join(folder, "faulty")
	if err := testbuild.Program(faulty, "./testdata/faulty"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := os.WriteFile(filepath.Join(folder, "faulty.data"), nil, 0o600); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

const config = `{
  "calls": [
    {"action": "note", "input": {"text": "hello"}, "counted_by": {"action": "notes", "pointer": "/notes"}},
    {"action": "pay", "input": {"reference": "r1"}},
    {"action": "key"}
  ],
  "faults": [
    {"action": "word", "input": {"name": "gone"}, "answer": {"status": 404, "body": {"error": "gone"}}, "code": "NOT_FOUND", "reason": "no_such_word"}
  ]
}`

// run tests the plugin with a fault; "none" is the one without.
func run(t *testing.T, fault string) *conformance.Report {
	t.Helper()
	return runWith(t, fault, config)
}

func runWith(t *testing.T, fault, config string) *conformance.Report {
	t.Helper()
	settings, err := conformance.ParseConfig([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	settings.Skip = dear(fault)
	if family, _, _ := strings.Cut(fault, "."); family == "told" || family == "settings" || family == "index" {
		settings.With = map[string]any{"greeting": "hello"}
	}
	dir, err := os.MkdirTemp("", "fk")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	report, err := conformance.Run(t.Context(), conformance.Options{
		Command: []string{faulty, fault}, Environ: os.Environ(), Entropy: rand.Reader, Now: time.Now, Version: "0.0.0", Dir: dir, Config: settings,
		Simulate: func(_ context.Context, command []string) (json.RawMessage, error) { return simulate(t, command) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// dear are cases that cost most of a test and that see nothing of what a plugin does in its
// calls: they are tried with the faults of their own families, and with none.
func dear(fault string) map[string]string {
	family, _, _ := strings.Cut(fault, ".")
	if family == "none" || family == "told" || family == "start" || family == "describe" || family == "validate" {
		return nil
	}
	const why = "it is tried with other faults"
	return map[string]string{"start.host": why, "start.cookie": why, "validate.large": why}
}

// simulate starts a simulator until the test ends.
func simulate(t *testing.T, command []string) (json.RawMessage, error) {
	cmd := exec.Command(filepath.Join(filepath.Dir(faulty), command[0]), command[1:]...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil && !json.Valid(line) {
		err = fmt.Errorf("it printed %q", line)
	}
	return line, err
}

func failures(r *conformance.Report) []string {
	failed := []string{}
	for _, result := range r.Results {
		if result.Status == conformance.Failed {
			failed = append(failed, result.Case)
		}
	}
	return failed
}

func textOf(t *testing.T, r *conformance.Report) string {
	t.Helper()
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestIssue15_APluginThatKeepsAllPromisesPassesAndSkipsNothing(t *testing.T) {
	t.Parallel()
	report := run(t, "none")
	for _, result := range report.Results {
		if told := strings.HasPrefix(result.Case, "settings.") || strings.HasPrefix(result.Case, "index."); result.Status == conformance.Failed || result.Status == conformance.Skipped && !told {
			t.Errorf("%s: %s", result.Case, result.Status)
		}
	}
	if t.Failed() {
		t.Log(textOf(t, report))
	}
}

func TestIssue16_1_APluginThatIsToldSomethingPassesAndSkipsNothing(t *testing.T) {
	t.Parallel()
	report := run(t, "told")
	skipped := 0
	for _, result := range report.Results {
		if result.Status == conformance.Skipped && !strings.Contains(result.Reason, "tried with other faults") {
			skipped++
		}
	}
	if report.Failed > 0 || skipped > 0 {
		t.Error(textOf(t, report))
	}
}

func TestIssue15_EachPlantedFaultIsFoundByItsOwnCaseAndByNoOther(t *testing.T) {
	t.Parallel()
	cases := conformance.Cases()
	if len(cases) < 30 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range suitesize.Part(t, cases) {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			report := run(t, c.ID)
			if diff := cmp.Diff([]string{c.ID}, failures(report)); diff != "" {
				t.Errorf("failed cases (-want +got):\n%s\n%s", diff, textOf(t, report))
			}
		})
	}
}

// Where nothing counts an effect, what the service answered tells: the outputs of one call
// may differ by the time of an answer.
func TestIssue15_WithoutACountTheServiceTellsWhatHappenedTwice(t *testing.T) {
	t.Parallel()
	uncounted := strings.Replace(config, `, "counted_by": {"action": "notes", "pointer": "/notes"}`, "", 1)
	for fault, want := range map[string][]string{"none": {}, "effects.twice": {"effects.twice"}, "effects.killed-inside": {"effects.killed-inside"}} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			report := runWith(t, fault, uncounted)
			if diff := cmp.Diff(want, failures(report)); diff != "" {
				t.Errorf("failed cases (-want +got):\n%s\n%s", diff, textOf(t, report))
			}
		})
	}
}

func TestIssue15_TheReportOfABrokenPlugin(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"execute.refuses", "effects.killed-inside", "start.handshake"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			text := stable(textOf(t, run(t, fault)))
			golden := filepath.Join("testdata", "report-"+fault+".txt")
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("%s (-want +got), UPDATE=1 writes it:\n%s", golden, diff)
			}
		})
	}
}

// stable takes out what differs from run to run.
func stable(text string) string {
	text = strings.ReplaceAll(text, filepath.Dir(faulty), "DIR")
	return regexp.MustCompile(`/[^ ,"]*/(s|home|tmp)\b`).ReplaceAllString(text, "FOLDER/$1")
}

func TestIssue15_TheReportAsJUnit(t *testing.T) {
	t.Parallel()
	report := &conformance.Report{Plugin: "x", Passed: 1, Failed: 1, Skipped: 1, Results: []conformance.Result{
		{Case: "a", Status: conformance.Passed},
		{Case: "b", Status: conformance.Failed, Failure: &conformance.Failure{Sent: "s <&>\x00", Came: "c", Change: "d"}},
		{Case: "c", Status: conformance.Skipped, Reason: "no occasion"},
	}}
	var text bytes.Buffer
	if err := report.WriteJUnit(&text); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Suite struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Skipped  int `xml:"skipped,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
				Skipped *struct {
					Message string `xml:"message,attr"`
				} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	s := read.Suite
	if s.Tests != 3 || s.Failures != 1 || s.Skipped != 1 || s.Cases[1].Failure == nil || s.Cases[1].Failure.Message != "c" || s.Cases[2].Skipped == nil || s.Cases[0].Failure != nil {
		t.Errorf("read %+v from\n%s", s, text.String())
	}
}

// A case that names a section which is not there helps nobody.
func TestIssue15_EachCaseNamesASectionOfTheContract(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../proto/flowrun/plugin/v1/README.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^##+ (.+)$`).FindAllStringSubmatch(string(page), -1) {
		sections[strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")] = true
	}
	for _, c := range conformance.Cases() {
		if !sections[c.Section] {
			t.Errorf("case %s names the section %q, which the page does not have", c.ID, c.Section)
		}
		if c.Contract == "" || c.Title == "" {
			t.Errorf("case %s does not say what the contract asks", c.ID)
		}
	}
}

func TestIssue15_AConfigThatIsWrongIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"conection": {}}`:                           "conection",
		`{"service": "http://x", "simulator": ["y"]}`: "can't both",
		`{"calls": [{}]}`:                             "names no action",
		`{"faults": [{"action": "a", "code": "X"}]}`:  `no code "X"`,
		`{"skip": {"pages.rezume": "late"}}`:          "is no case",
		`{"skip": {"pages.resume": ""}}`:              "does not say why",
	} {
		if _, err := conformance.ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestIssue15_ACommandThatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	_, err := conformance.Run(t.Context(), conformance.Options{Command: []string{"/no/such/plugin"}, Entropy: rand.Reader, Now: time.Now, Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "/no/such/plugin") {
		t.Errorf("%v", err)
	}
}

// The page of authors lists every case.
func TestIssue15_ThePageOfTheKitListsItsCases(t *testing.T) {
	t.Parallel()
	const page = "../../docs/plugins/test.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, rest, ok := strings.Cut(string(text), "UPDATE=1 writes -->\n")
	table, end, also := strings.Cut(rest, "<!-- end of cases -->")
	if !ok || !also {
		t.Fatal("the page has no place for the cases")
	}
	want := "| Case | The plugin… |\n|---|---|\n"
	for _, c := range conformance.Cases() {
		want += fmt.Sprintf("| `%s` | %s ([contract](../../proto/flowrun/plugin/v1/README.md#%s)) |\n", c.ID, c.Title, c.Section)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(page, []byte(begin+"UPDATE=1 writes -->\n"+want+"<!-- end of cases -->"+end), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("%s (-want +got), UPDATE=1 writes it:\n%s", page, diff)
	}
}
