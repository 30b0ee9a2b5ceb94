package testrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Mocks are the answers of one case of a test file, for runs that are no tests.
// They are checked like a test's, and taken in the same order. Safe for concurrent
// use.
type Mocks struct {
	File     string // the test file
	Case     string // name of the case
	Workflow string // name of the workflow whose steps they answer
	Digest   string // of the file's bytes and the case

	steps   *stepIndex
	answers map[string]*answers
	blobs   *blobs

	mu   sync.Mutex
	runs map[string]map[string]*answers // what each run has taken
}

// maxMockedRuns bounds the runs whose place is remembered: it can be found again in
// a run's journal.
const maxMockedRuns = 1000

// LoadMocks reads the answers of a case; caseName "" is the first one. nil comes
// with the problems that are errors.
func LoadMocks(ctx context.Context, host Host, file string, src []byte, caseName string) (*Mocks, diag.List) {
	suite, problems := readSuite(file, src)
	if suite == nil || suite.workflow == nil || problems.HasErrors() {
		return nil, problems
	}
	workflow, ofWorkflow, err := host.Workflow(ctx, path.Join(path.Dir(file), suite.workflow.Text))
	if err != nil {
		problems.Errorf(suite.workflow.Pos, CodeWorkflow, "%v", err).Hint = diag.Say("the path is read as seen from the test file's folder")
		return nil, problems
	}
	if problems = append(problems, ofWorkflow...); workflow == nil {
		return nil, problems
	}
	steps, err := indexSteps(workflow)
	if err != nil {
		problems.Errorf(suite.workflow.Pos, CodeWorkflow, "%v", err)
		return nil, problems
	}
	chosen := chooseCase(suite, caseName, &problems)
	if chosen == nil {
		return nil, problems
	}
	b := &binder{reader: &reader{}, steps: steps, workflow: workflow, recorded: suite.recorded, blobs: newBlobs(host, file)}
	bound := b.answersOf(suite.shared.answers, chosen.answers)
	problems = append(problems, onceEach(b.problems)...)
	for _, key := range sortedKeys(bound) {
		for _, a := range bound[key].list {
			if a.stale() {
				problems.Errorf(a.pos, CodeOutput, "the recorded answer of step `%s` does not fit any more", key).Hint = staleHint()
			}
		}
	}
	if problems.HasErrors() {
		return nil, problems
	}
	sum := sha256.Sum256(append([]byte(chosen.name+"\x00"), src...))
	return &Mocks{
		File: file, Case: chosen.name, Workflow: workflow.Name, Digest: hex.EncodeToString(sum[:]),
		steps: steps, answers: bound, blobs: b.blobs, runs: map[string]map[string]*answers{},
	}, problems
}

func chooseCase(s *suite, name string, problems *diag.List) *caseNode {
	if len(s.cases) > 0 && name == "" {
		return &s.cases[0]
	}
	var names []string
	for i := range s.cases {
		if s.cases[i].name == name {
			return &s.cases[i]
		}
		names = append(names, s.cases[i].name)
	}
	problem := problems.Errorf(s.shared.pos, CodeWord, "the test file has no case `%s`", name)
	problem.Hint = diag.DidYouMean(name, names)
	return nil
}

// Covers reports whether every call of a step is answered, whatever its item. The
// path is that of the plan: "domains.whois".
func (m *Mocks) Covers(workflow, step string) bool {
	return m.Workflow == workflow && m.answers[templateOf(step)] != nil
}

// Answers reports whether a call of a step is answered; its path names the item.
func (m *Mocks) Answers(workflow, step string) bool {
	return m.Workflow == workflow && (m.answers[step] != nil || m.answers[templateOf(step)] != nil)
}

// MockAnswer is the end of a mocked call.
type MockAnswer struct {
	runs.Answer
	After time.Duration // it takes so long
	Never bool          // there is no end
}

// Take gives the next answer of a call; false when there is none any more. history
// reads the journal of the run: it is asked once, when the run is new here.
func (m *Mocks) Take(runID, step, cursor string, history func() ([]*journal.Record, error)) (MockAnswer, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lists, ok := m.runs[runID]
	if !ok {
		records, err := history()
		if err != nil {
			return MockAnswer{}, false, err
		}
		lists = m.begin(runID, records)
	}
	a := takeFrom(lists, step, cursor)
	if a == nil {
		return MockAnswer{}, false, nil
	}
	end := MockAnswer{Answer: a.answer, After: a.after, Never: a.never}
	if a.crash {
		end.Failed = &runs.Error{
			Kind: plan.KindCrashed, Applied: runs.AppliedUnknown, Message: "mocked by the test file: the process ended in the middle of the call",
		}
	}
	return end, true, nil
}

// begin finds the place of a run in the answers: each call that its journal knows
// the end of has had one.
func (m *Mocks) begin(runID string, records []*journal.Record) map[string]*answers {
	lists := map[string]*answers{}
	for key, list := range m.answers {
		own := *list
		own.used = 0
		lists[key] = &own
	}
	type asked struct{ step, cursor string }
	calls := map[string]asked{}
	for _, record := range records {
		switch record.Event.Kind {
		case journal.Completed, journal.Failed, journal.Pending, journal.ChildEnded:
			if call, ok := calls[record.Event.Path]; ok && !cached(record.Event) {
				takeFrom(lists, call.step, call.cursor)
			}
		}
		for _, command := range record.Commands {
			switch command.Kind {
			case journal.CommandCall:
				calls[command.Path] = asked{command.Call.Step, command.Call.PageCursor}
			case journal.CommandChild:
				calls[command.Path] = asked{step: command.Child.Step}
			}
		}
	}
	if len(m.runs) >= maxMockedRuns {
		clear(m.runs)
	}
	m.runs[runID] = lists
	return lists
}

func cached(event journal.Event) bool { return event.Completed != nil && event.Completed.Cached }

// takeFrom takes the answer of a call: that of the very item, else that of the step
// in every item.
func takeFrom(lists map[string]*answers, step, cursor string) *answer {
	for _, key := range []string{step, templateOf(step)} {
		if list := lists[key]; list != nil {
			return list.take(cursor)
		}
	}
	return nil
}

// Steps lists the paths that are answered, in order.
func (m *Mocks) Steps() []string { return sortedKeys(m.answers) }

// Blob returns the content of a large value that an answer gives; false for a digest that
// none does.
func (m *Mocks) Blob(digest string) (text string, ok bool) {
	text, ok = m.blobs.contents[digest]
	return text, ok
}
