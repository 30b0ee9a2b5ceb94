//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// verifier compares a store with what a script's writers were told. Slack is how
// many operations of each writer may be there without an acknowledgement: 1
// after a crash, since the last answer may have been lost, 0 for a file that was
// closed well.
type verifier struct {
	store  *boltstore.Store
	path   string
	script script
	acks   acknowledged
	slack  int
	apart  bool
	cache  *memo

	changed []string // differs, is missing, or is there without being written
	told    []string // damage that the store told, naming the file
	broken  []string // other errors
}

// memo keeps what a script's operations contain, since it is asked for often.
type memo struct {
	script  script
	records map[string]*journal.Record
	plans   map[int][]byte
	rows    map[int]rowOp
}

type rowOp struct {
	key   string
	value []byte
}

func (m *memo) of(s script) {
	if m.script != s || m.records == nil {
		*m = memo{script: s, records: map[string]*journal.Record{}, plans: map[int][]byte{}, rows: map[int]rowOp{}}
	}
}

func (m *memo) rowOp(op int) (key string, value []byte) {
	known, ok := m.rows[op]
	if !ok {
		known.key, known.value = m.script.rowOp(op)
		m.rows[op] = known
	}
	return known.key, known.value
}

func (m *memo) record(w writer, n, op, seq int) *journal.Record {
	key := fmt.Sprint(w, n, op, seq)
	if m.records[key] == nil {
		m.records[key] = m.script.record(w, n, op, seq)
	}
	return m.records[key]
}

func (m *memo) plan(n int) []byte {
	if m.plans[n%2] == nil {
		m.plans[n%2] = m.script.plan(n)
	}
	return m.plans[n%2]
}

func (v *verifier) differs(format string, args ...any) {
	v.changed = append(v.changed, fmt.Sprintf(format, args...))
}

// failed sorts an error of a read. It must be one that tells of damage and names
// the file.
func (v *verifier) failed(what string, err error) {
	text := fmt.Sprintf("%s: %v", what, err)
	if errors.Is(err, store.ErrCorrupt) && strings.Contains(err.Error(), v.path) {
		v.told = append(v.told, text)
		return
	}
	v.broken = append(v.broken, text)
}

// verifyEpoch reads a store that may have been restored, and says so.
func (v *verifier) verifyEpoch() string {
	epoch, err := v.store.Epoch()
	if err != nil {
		v.failed("epoch", err)
		return ""
	}
	if epoch == 0 {
		if v.acks[restore] > 0 {
			v.differs("the restore was acknowledged, this is the old store")
		}
		v.verify()
		return ""
	}
	v.restored()
	return "restored"
}

// restored looks at the runs of a restored store: those that were open are
// paused, with what they had.
func (v *verifier) restored() {
	v.cache.of(v.script)
	open, err := v.store.OpenRuns()
	if err != nil {
		v.failed("open runs", err)
	}
	if len(open) > 0 {
		v.differs("%d runs of the restored store would go on by themselves", len(open))
	}
	for n := range longRuns {
		row, err := v.store.Run(idAt(n))
		if err != nil {
			v.failed("row of a restored run", err)
			continue
		}
		if row.Status != runs.RunPaused || row.Error == nil {
			v.differs("run %d of the restored store is %s", n, row.Status)
		}
		w := runWriter(n)
		v.records(w, n, row.Attempt, func(seq int) int { return seq - 1 })
		v.logs(w, n, row.Attempt)
	}
	v.restoredFires()
}

// verify reads all that the script has written.
func (v *verifier) verify() {
	v.cache.of(v.script)
	expected := map[string]*runs.Run{}
	whole := true
	for _, w := range v.script.writers() {
		if n, ok := w.run(); ok {
			count, ok := v.longRun(w, n)
			if whole = whole && ok; count > 0 {
				expected[idAt(n)] = v.script.row(n, count, false)
			}
		}
	}
	whole = v.briefRuns(expected) && whole
	whole = v.fires(expected) && whole
	if whole {
		v.lists(expected)
	}
	v.rows()
	v.state()
}

// within reports whether found operations fit to the acknowledged ones.
func (v *verifier) within(w writer, found int) bool {
	return found >= v.acks[w] && found <= v.acks[w]+v.slack
}

// longRun returns how many records the run has; false when that is not known.
func (v *verifier) longRun(w writer, n int) (int, bool) {
	row, err := v.store.Run(idAt(n))
	switch {
	case errors.Is(err, store.ErrRunNotFound):
		if v.acks[w] > 0 {
			v.differs("%s is gone, %d operations were acknowledged", w, v.acks[w])
		}
		return 0, true
	case err != nil:
		v.failed("row of "+string(w), err)
		v.records(w, n, -1, func(seq int) int { return seq - 1 })
		return 0, false
	}
	count := row.Attempt
	if !v.within(w, count) {
		v.differs("%s: its row is that of operation %d, %d were acknowledged", w, count, v.acks[w])
	}
	if want := v.script.row(n, count, false); !reflect.DeepEqual(row, want) {
		v.differs("%s: row %+v, want %+v", w, row, want)
	}
	v.records(w, n, count, func(seq int) int { return seq - 1 })
	v.logs(w, n, count)
	v.plan(row)
	return count, true
}

// records compares a run's journal, which must have count records (-1 = not
// known); opOf says which operation has written one.
func (v *verifier) records(w writer, n, count int, opOf func(seq int) int) {
	records, err := v.store.Records(idAt(n), 0, 0)
	if err != nil {
		v.failed(fmt.Sprintf("records of %s %d", w, n), err)
		return
	}
	if count >= 0 && len(records) != count {
		v.differs("%s %d: %d records, its row is that of %d", w, n, len(records), count)
	}
	for i, record := range records {
		if want := v.cache.record(w, n, opOf(i+1), i+1); !reflect.DeepEqual(record, want) {
			v.differs("%s %d: record %d is another one", w, n, i+1)
		}
	}
}

// logs compares the lines 2 to count.
func (v *verifier) logs(w writer, n, count int) {
	lines, _, err := v.store.Logs(idAt(n), "", 0, 0)
	if err != nil {
		v.failed(fmt.Sprintf("logs of %s %d", w, n), err)
		return
	}
	var want []runs.Log
	for seq := 2; seq <= count; seq++ {
		want = append(want, line(seq))
	}
	if !slices.EqualFunc(lines, want, func(a, b runs.Log) bool { return reflect.DeepEqual(a, b) }) {
		v.differs("%s %d: %d log lines, want %d", w, n, len(lines), len(want))
	}
}

func (v *verifier) plan(row *runs.Run) {
	data, err := v.store.Plan(row.PlanHash)
	switch {
	case errors.Is(err, store.ErrPlanNotFound):
		v.differs("plan %s is gone", row.PlanHash)
	case err != nil:
		v.failed("plan", err)
	case !bytes.Equal(data, v.cache.plan(0)) && !bytes.Equal(data, v.cache.plan(1)):
		v.differs("plan %s is another one", row.PlanHash)
	}
}

// briefRuns finds for each run which of its operations have happened.
func (v *verifier) briefRuns(expected map[string]*runs.Run) (whole bool) {
	whole = true
	acked := v.acks[brief]
	for i := range (acked + v.slack + briefOps - 1) / briefOps {
		n, first := firstBrief+i, i*briefOps
		least, most := min(max(acked-first, 0), briefOps), min(max(acked+v.slack-first, 0), briefOps)
		row, err := v.store.Run(idAt(n))
		var possible []int // how many of its operations that may be
		switch {
		case errors.Is(err, store.ErrRunNotFound):
			possible = []int{0, briefOps} // not made yet, or removed
		case err != nil:
			v.failed(fmt.Sprintf("row of brief run %d", n), err)
			whole = false
			continue
		case row.Closed:
			possible = []int{2}
		default:
			possible = []int{1}
		}
		if !slices.ContainsFunc(possible, func(state int) bool { return state >= least && state <= most }) {
			v.differs("brief run %d: operations %v, not %d to %d", n, possible, least, most)
		}
		if row != nil {
			v.briefRun(n, first, row)
			expected[row.ID] = row
			continue
		}
		if records, err := v.store.Records(idAt(n), 0, 0); err == nil && len(records) > 0 {
			v.differs("brief run %d has no row and %d records", n, len(records))
		}
	}
	return whole
}

func (v *verifier) briefRun(n, first int, row *runs.Run) {
	count := 1
	if row.Closed {
		count = 3
	}
	if want := v.script.row(n, count, row.Closed); !reflect.DeepEqual(row, want) {
		v.differs("brief run %d: row %+v, want %+v", n, row, want)
	}
	v.records(brief, n, count, func(seq int) int { return first + seq - 1 })
	v.logs(brief, n, count)
	v.plan(row)
}

// lists compares the indexes with the rows.
func (v *verifier) lists(expected map[string]*runs.Run) {
	v.list("all runs", runs.Filter{}, expected, func(*runs.Run) bool { return true })
	v.list("runs with a label", runs.Filter{Labels: map[string]string{"team": "web"}}, expected, func(*runs.Run) bool { return true })
	for n := range 2 {
		workflow := fmt.Sprintf("weekly-%d", n)
		v.list("runs of "+workflow, runs.Filter{Workflow: workflow}, expected, func(r *runs.Run) bool { return r.Workflow == workflow })
	}
	for _, status := range []runs.Status{runs.RunRunning, runs.RunSucceeded} {
		v.list("runs that are "+string(status), runs.Filter{Status: status}, expected, func(r *runs.Run) bool { return r.Status == status })
	}
	open, err := v.store.OpenRuns()
	if err != nil {
		v.failed("open runs", err)
		return
	}
	v.sameRuns("open runs", open, expected, func(r *runs.Run) bool { return !r.Closed })
}

func (v *verifier) list(what string, filter runs.Filter, expected map[string]*runs.Run, selects func(*runs.Run) bool) {
	filter.Limit = 10_000
	runs, _, err := v.store.Runs(filter)
	if err != nil {
		v.failed(what, err)
		return
	}
	v.sameRuns(what, runs, expected, selects)
}

func (v *verifier) sameRuns(what string, found []runs.Run, expected map[string]*runs.Run, selects func(*runs.Run) bool) {
	var want, got []string
	for id, row := range expected {
		if selects(row) {
			want = append(want, id)
		}
	}
	for i := range found {
		got = append(got, found[i].ID)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		v.differs("%s: %v, want %v", what, got, want)
	}
}

// rows compares the rows with those after as many operations as were
// acknowledged, or a few more.
func (v *verifier) rows() {
	keys, err := v.store.KV().List("tokens", "")
	if err != nil {
		v.failed("keys", err)
		return
	}
	found := map[string]string{}
	for _, key := range keys {
		value, _, there, err := v.store.KV().Get("tokens", key)
		if err != nil {
			v.failed("row "+key, err)
			return
		}
		if there {
			found[key] = string(value)
		}
	}
	for more := range v.slack + 1 {
		if maps.Equal(found, rowsAfter(v.acks[rows]+more, v.cache.rowOp)) {
			return
		}
	}
	v.differs("the %d rows are not those after %d operations", len(found), v.acks[rows])
}

func (v *verifier) state() {
	values, err := v.store.State(workflowOfState)
	if err != nil {
		v.failed("state", err)
		return
	}
	found, history := map[string]string{}, map[string][]string{}
	for _, value := range values {
		found[value.Name] = string(value.Value)
	}
	for n := range 3 {
		name := fmt.Sprintf("value_%d", n)
		changes, err := v.store.History(workflowOfState, name, "")
		if err != nil {
			v.failed("history of "+name, err)
			return
		}
		for _, change := range changes {
			history[name] = append(history[name], change.By)
		}
	}
	for more := range v.slack + 1 {
		wantValues, wantHistory := v.script.stateAfter(v.acks[memory] + more)
		if maps.Equal(found, wantValues) && maps.EqualFunc(history, wantHistory, slices.Equal) {
			return
		}
	}
	v.differs("state %v with history %v is not that after %d operations", found, history, v.acks[memory])
}
