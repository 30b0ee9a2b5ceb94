package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/testcommand"
)

// Each file of testdata/messages is one that a newcomer wrote, with slips in it (40 out of
// the habits of other products, and more of the same kinds that nothing was made for):
//
//   - case.yaml is the file.
//   - want has a line for each slip: its place, its code, and how it is put right:
//     `certain` and `maybe` by the product's mend, `hand` by what the hint says, `import`
//     by the command that the hint names, `none` for a warning that needs none. Below it
//     stands the mend as a diff. `follows` behind it says that it is no slip of its own,
//     but follows from another one.
//   - fixed.yaml is what `validate --fix` leaves, where it changes anything.
//   - valid.yaml is the file with all mends made.
//
// UPDATE=1 writes want, fixed.yaml and valid.yaml as the product has them now; what is put
// right by hand and what follows stays.
const messages = "testdata/messages"

const messagesProject = `workflows: [c]
connections:
  netinfo: {plugin: netinfo, config: {base_url: "https://netinfo.example"}}
  tasks: {plugin: tasks, config: {base_url: "https://tasks.example"}}
  http: {plugin: http, config: {base_url: "https://example.com"}}
  exec: {plugin: exec, config: {commands: {echo: {argv: [/bin/echo, hello]}, ls: {argv: [/bin/ls]}}}}
plugins:
  exec: {grants: {commands: [/bin/echo, /bin/ls]}}
notify:
  ops: {webhook: "https://example.com/hook"}
`

const calledWorkflow = `flowrun: v1
name: hello
inputs:
  domain: {type: string, default: example.com}
steps:
  - uses: core.log
    with: {text: "${{ inputs.domain }}"}
`

// slip is one of a file's problems with how it is put right.
type slip struct {
	place, code, way string
	follows          bool
	diff             []string
	problem          diag.Problem
}

func (s slip) head() string {
	text := s.place + " " + s.code + " " + s.way
	if s.follows {
		text += " follows"
	}
	return text
}

// written is a file of testdata/messages.
type written struct {
	name  string
	parts map[string]string
	slips []slip // as want has them
}

func readMessages(t *testing.T) []*written {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(messages, "*.txtar"))
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files of messages: %v", len(files), err)
	}
	var all []*written
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w := &written{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), parts: map[string]string{}}
		for _, part := range archive.Files {
			w.parts[part.Name] = string(part.Data)
		}
		for _, line := range strings.Split(strings.TrimSuffix(w.parts["want"], "\n"), "\n") {
			if strings.HasPrefix(line, "  ") && len(w.slips) > 0 {
				last := &w.slips[len(w.slips)-1]
				last.diff = append(last.diff, strings.TrimPrefix(line, "  "))
				continue
			}
			if words := strings.Fields(line); len(words) >= 3 {
				w.slips = append(w.slips, slip{place: words[0], code: words[1], way: words[2], follows: slices.Contains(words, "follows")})
			}
		}
		all = append(all, w)
	}
	return all
}

// checker checks many texts in one command.
type messagesChecker struct {
	t       *testing.T
	command testcommand.Command
	runs    int
}

func newMessagesChecker(t *testing.T) *messagesChecker {
	t.Helper()
	dir := t.TempDir()
	binary := experienced(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "flowrun.yaml"), []byte(messagesProject), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), "XDG_STATE_HOME="+dir, "NO_COLOR=1")
	return &messagesChecker{t: t, command: testcommand.Command{Dir: dir, Executable: binary, Environ: environ}}
}

// put writes each text into a folder of its own, beside a workflow that it may call, and
// returns the files.
func (c *messagesChecker) put(texts []string) []string {
	c.t.Helper()
	c.runs++
	var files []string
	for i, text := range texts {
		folder := filepath.Join("c", strconv.Itoa(c.runs), strconv.Itoa(i))
		if err := os.MkdirAll(filepath.Join(c.command.Dir, folder), 0o700); err != nil {
			c.t.Fatal(err)
		}
		for name, content := range map[string]string{"case.yaml": text, "hello.yaml": calledWorkflow} {
			if err := os.WriteFile(filepath.Join(c.command.Dir, folder, name), []byte(content), 0o600); err != nil {
				c.t.Fatal(err)
			}
		}
		files = append(files, filepath.ToSlash(filepath.Join(folder, "case.yaml")))
	}
	return files
}

// validated returns the problems of texts.
func (c *messagesChecker) validated(texts []string) []diag.List {
	c.t.Helper()
	if len(texts) == 0 {
		return nil
	}
	files := c.put(texts)
	_, stdout, stderr, err := c.command.Output(append([]string{"validate", "-o", "json"}, files...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	var report struct {
		Problems diag.List `json:"problems"`
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		c.t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	out := make([]diag.List, len(files))
	for _, p := range report.Problems {
		if i := slices.Index(files, p.File); i >= 0 {
			out[i] = append(out[i], p)
		}
	}
	return out
}

// fixed returns what `validate --fix` leaves of texts.
func (c *messagesChecker) fixed(texts []string) []string {
	c.t.Helper()
	files := c.put(texts)
	if _, _, err := c.command.Combined(append([]string{"validate", "--fix"}, files...)...); err != nil {
		c.t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(c.command.Dir, file))
		if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, string(data))
	}
	return out
}

// lineDiff shows what differs between two texts as one hunk of whole lines.
func lineDiff(before, after string) []string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	end := 0
	for end < len(a)-from && end < len(b)-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	diff := []string{"@@ " + strconv.Itoa(from+1)}
	for _, line := range a[from : len(a)-end] {
		diff = append(diff, "-"+line)
	}
	for _, line := range b[from : len(b)-end] {
		diff = append(diff, "+"+line)
	}
	return diff
}

// patched makes a diff of one hunk.
func patched(text string, diff []string) (string, error) {
	if len(diff) == 0 || !strings.HasPrefix(diff[0], "@@ ") {
		return "", fmt.Errorf("no diff: %q", diff)
	}
	line, err := strconv.Atoi(diff[0][len("@@ "):])
	if err != nil {
		return "", err
	}
	lines := strings.Split(text, "\n")
	at := line - 1
	var put []string
	for _, change := range diff[1:] {
		switch {
		case strings.HasPrefix(change, "+"):
			put = append(put, change[1:])
		case at < len(lines) && strings.HasPrefix(change, "-") && lines[at] == change[1:]:
			at++
		default:
			return "", fmt.Errorf("line %d is not %q", at+1, change)
		}
	}
	return strings.Join(slices.Concat(lines[:line-1], put, lines[at:]), "\n"), nil
}

func codesOf(problems diag.List) map[string]int {
	codes := map[string]int{}
	for _, p := range problems {
		codes[p.Code]++
	}
	return codes
}

// putsRight reports whether a mend takes its problem away and brings none; what a file that
// could not be read held before may come.
func putsRight(before, after diag.List, mended diag.Problem) bool {
	if slices.Contains([]string{"FR1001", "FR1008", "FR1009"}, mended.Code) {
		return codesOf(after)[mended.Code] <= codesOf(before)[mended.Code] && !slices.ContainsFunc(after, func(p diag.Problem) bool {
			return p.Pos.Line == mended.Pos.Line && p.Pos.Column == mended.Pos.Column && p.Code == mended.Code
		})
	}
	had := codesOf(before)
	for code, n := range codesOf(after) {
		if n > had[code] {
			return false
		}
	}
	return len(after) < len(before)
}

// TestNewcomersAreTold holds what validate says of files that newcomers write, and each
// mend, against what was read in them: one problem a slip, at its place, with a mend
// that makes the file valid.
func TestNewcomersAreTold(t *testing.T) {
	t.Parallel()
	all, c := readMessages(t), newMessagesChecker(t)
	var texts []string
	for _, w := range all {
		texts = append(texts, w.parts["case.yaml"])
	}
	found := c.validated(texts)
	update := os.Getenv("UPDATE") != ""

	var tries []string // each with the mend of one slip
	type owner struct {
		w *written
		i int
	}
	var owners []owner
	for n, w := range all {
		var now []slip
		for _, p := range found[n] {
			now = append(now, w.seen(p))
		}
		if !update {
			w.compare(t, now)
		}
		w.slips = now
		for i := range w.slips {
			s := &w.slips[i]
			text, err := w.mended(s)
			if err != nil {
				t.Errorf("%s: %s: %v", w.name, s.head(), err)
				continue
			}
			if text != "" {
				tries = append(tries, text)
				owners = append(owners, owner{w, i})
			}
		}
	}

	good, mends, follow, slips := 0, 0, 0, 0
	for k, after := range c.validated(tries) {
		o := owners[k]
		n := slices.Index(all, o.w)
		mends++
		if putsRight(found[n], after, o.w.slips[o.i].problem) {
			good++
		} else {
			t.Logf("%s: the mend of %s brings %v", o.w.name, o.w.slips[o.i].head(), after)
		}
	}
	byHand, named := 0, 0
	for _, w := range all {
		for _, s := range w.slips {
			slips++
			if s.follows {
				follow++
			}
			switch s.way {
			case "hand":
				byHand++
			case "import":
				named++
				if !slices.ContainsFunc(s.problem.Commands, func(words diag.Command) bool { return words[0] == "import" }) {
					t.Errorf("%s: no command is named: %s", w.name, s.problem)
				}
			case "none":
				if s.problem.Severity == diag.Error {
					t.Errorf("%s: an error without a mend: %s", w.name, s.problem)
				}
			}
			if s.problem.Hint.Text == "" {
				t.Errorf("%s: no hint: %s", w.name, s.problem)
			}
		}
	}
	share(t, "mends that put their slip right", good, mends)
	share(t, "problems that are slips of their own", slips-follow, slips)
	t.Logf("%d files, %d slips: %d mends, %d of them by hand, %d by a command that is named", len(all), slips, mends, byHand, named)
	if byHand*20 > slips {
		t.Errorf("%d of %d slips are mended by hand", byHand, slips)
	}
	c.whole(all, update)
	c.fixes(all, update)
	if update {
		writeMessages(t, all)
	}
}

// share fails below 95 of 100.
func share(t *testing.T, what string, part, whole int) {
	t.Helper()
	t.Logf("%s: %d of %d", what, part, whole)
	if part*100 < whole*95 {
		t.Errorf("%s: %d of %d", what, part, whole)
	}
}

// seen is a problem as want writes it, with what is said of it there by hand.
func (w *written) seen(p diag.Problem) slip {
	s := slip{place: fmt.Sprintf("%d:%d", p.Line, p.Column), code: p.Code, way: "none", problem: p}
	switch {
	case p.Code == "FR1023":
		s.way = "import"
	case p.Mend != nil && p.Mend.Certain:
		s.way = "certain"
	case p.Mend != nil:
		s.way = "maybe"
	}
	for _, known := range w.slips {
		if known.place == s.place && known.code == s.code {
			s.follows = known.follows
			if s.way == "none" && known.way == "hand" {
				s.way, s.diff = known.way, known.diff
			}
		}
	}
	return s
}

// mended is the file with the mend of one slip, "" where it has none.
func (w *written) mended(s *slip) (string, error) {
	text := w.parts["case.yaml"]
	switch s.way {
	case "hand":
		return patched(text, s.diff)
	case "certain", "maybe":
		out, err := diag.Apply([]byte(text), s.problem.Mend.Edits)
		if err != nil {
			return "", err
		}
		s.diff = lineDiff(text, string(out))
		return string(out), nil
	}
	return "", nil
}

func (w *written) compare(t *testing.T, now []slip) {
	t.Helper()
	if len(now) != len(w.slips) {
		t.Errorf("%s: %d problems, want %d", w.name, len(now), len(w.slips))
	}
	for i := range min(len(now), len(w.slips)) {
		if now[i].way == "certain" || now[i].way == "maybe" {
			if _, err := w.mended(&now[i]); err != nil {
				t.Errorf("%s: %v", w.name, err)
			}
		}
		if now[i].head() != w.slips[i].head() || !slices.Equal(now[i].diff, w.slips[i].diff) {
			t.Errorf("%s: %s\n%s\nwant %s\n%s\n%s", w.name, now[i].head(), strings.Join(now[i].diff, "\n"), w.slips[i].head(), strings.Join(w.slips[i].diff, "\n"), now[i].problem)
		}
	}
}

// whole makes all mends of each file, one after the other, and checks what comes out.
func (c *messagesChecker) whole(all []*written, update bool) {
	c.t.Helper()
	var open []*written
	texts := map[*written]string{}
	for _, w := range all {
		text := w.parts["case.yaml"]
		for _, s := range slices.Backward(w.slips) {
			if s.way == "hand" {
				out, err := patched(text, s.diff)
				if err != nil {
					c.t.Errorf("%s: %v", w.name, err)
				}
				text = out
			}
		}
		texts[w] = text
		open = append(open, w)
	}
	left := map[*written]diag.List{}
	for round := 0; len(open) > 0 && round < 60; round++ {
		var batch []string
		for _, w := range open {
			batch = append(batch, texts[w])
		}
		var more []*written
		for i, problems := range c.validated(batch) {
			w := open[i]
			left[w] = problems
			for _, p := range problems {
				if p.Mend == nil {
					continue
				}
				out, err := diag.Apply([]byte(texts[w]), p.Mend.Edits)
				if err == nil && string(out) != texts[w] {
					texts[w] = string(out)
					more = append(more, w)
					break
				}
			}
		}
		open = more
	}
	good, wanted := 0, 0
	for _, w := range all {
		if len(w.slips) == 1 && w.slips[0].way == "import" {
			continue
		}
		wanted++
		if left[w].HasErrors() {
			c.t.Logf("%s: with all mends: %v", w.name, left[w])
		} else {
			good++
		}
		if update {
			w.parts["valid.yaml"] = texts[w]
		} else if w.parts["valid.yaml"] != texts[w] {
			c.t.Errorf("%s: with all mends\n%s", w.name, strings.Join(lineDiff(w.parts["valid.yaml"], texts[w]), "\n"))
		}
	}
	share(c.t, "files that are valid with all mends", good, wanted)
}

// fixes holds what `validate --fix` leaves: never more problems, twice is once, and only
// what is certain.
func (c *messagesChecker) fixes(all []*written, update bool) {
	c.t.Helper()
	var texts []string
	for _, w := range all {
		texts = append(texts, w.parts["case.yaml"])
	}
	once := c.fixed(texts)
	twice := c.fixed(once)
	before, after := c.validated(texts), c.validated(once)
	for i, w := range all {
		if once[i] != twice[i] {
			c.t.Errorf("%s: fixed twice\n%s", w.name, strings.Join(lineDiff(once[i], twice[i]), "\n"))
		}
		if len(after[i]) > len(before[i]) && before[i].HasErrors() && after[i].HasErrors() {
			c.t.Errorf("%s: %d problems, %d after --fix: %v", w.name, len(before[i]), len(after[i]), after[i])
		}
		uncertain := !slices.ContainsFunc(w.slips, func(s slip) bool { return s.way == "certain" })
		if uncertain && once[i] != texts[i] {
			c.t.Errorf("%s: nothing is certain, and --fix writes\n%s", w.name, strings.Join(lineDiff(texts[i], once[i]), "\n"))
		}
		if update {
			delete(w.parts, "fixed.yaml")
			if once[i] != texts[i] {
				w.parts["fixed.yaml"] = once[i]
			}
			continue
		}
		want, changes := w.parts["fixed.yaml"]
		if !changes {
			want = texts[i]
		}
		if want != once[i] {
			c.t.Errorf("%s: --fix writes\n%s", w.name, strings.Join(lineDiff(want, once[i]), "\n"))
		}
	}
}

func writeMessages(t *testing.T, all []*written) {
	t.Helper()
	for _, w := range all {
		var want bytes.Buffer
		for _, s := range w.slips {
			fmt.Fprintln(&want, s.head())
			for _, line := range s.diff {
				fmt.Fprintln(&want, "  "+line)
			}
		}
		archive := &txtar.Archive{Files: []txtar.File{{Name: "case.yaml", Data: []byte(w.parts["case.yaml"])}, {Name: "want", Data: want.Bytes()}}}
		for _, name := range []string{"fixed.yaml", "valid.yaml"} {
			if text, ok := w.parts[name]; ok {
				archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
			}
		}
		if err := os.WriteFile(filepath.Join(messages, w.name+".txtar"), txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMessagesRaiseNoFalseAlarms checks every workflow that the repository shows as sound,
// also the blocks of its documents: nothing is said of them but what a machine without
// their connections lacks.
func TestMessagesRaiseNoFalseAlarms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := experienced(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "flowrun.yaml"), []byte(messagesProject), 0o600); err != nil {
		t.Fatal(err)
	}
	files := soundWorkflows(t, dir)
	if len(files) < 50 {
		t.Fatalf("%d files", len(files))
	}
	environ := append(os.Environ(), "XDG_STATE_HOME="+dir, "NO_COLOR=1")
	_, stdout, stderr, err := testcommand.Command{Dir: dir, Executable: binary, Environ: environ}.Output(append([]string{"validate", "-o", "json"}, files...)...)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Problems diag.List `json:"problems"`
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	for _, p := range report.Problems {
		if !slices.Contains([]string{"FR4002", "FR4008", "FR4020", "FR5016", "FR5017"}, p.Code) {
			t.Errorf("%s", p)
		}
	}
	t.Logf("%d files, %d problems of what is lacking", len(files), len(report.Problems))
}

// soundWorkflows copies the workflows that the repository shows into a project.
func soundWorkflows(t *testing.T, dir string) []string {
	t.Helper()
	put := func(name string, text []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var files []string
	for _, folder := range []string{"workflows", "docs/coming-from", "docs/coming-from/lib", "docs/jobs", "internal/cli/templates"} {
		found, err := filepath.Glob(filepath.Join("../..", folder, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.ToSlash(filepath.Join(folder, filepath.Base(file)))
			put(name, source)
			if bytes.Contains(source, []byte("flowrun: v1")) {
				files = append(files, name)
			}
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```yaml\n")[1:] {
			source, _, _ := strings.Cut(block, "```")
			if strings.HasPrefix(source, "flowrun: v1\n") && !strings.Contains(source, "uses: ./") && !strings.Contains(source, "wrod") {
				name := fmt.Sprintf("pages/%s-%d.yaml", strings.TrimSuffix(filepath.Base(page), ".md"), i)
				put(name, []byte(source))
				files = append(files, name)
			}
		}
	}
	return files
}
