package killloop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// ledger is all that children have acknowledged on one store, and what the
// suite knows of its runs.
type ledger struct {
	keys     string // the key file of the store that is looked at
	flows    map[string]flow
	accepted map[string]string            // run by request
	records  map[string]map[uint64]string // sums by run and sequence number
	acted    map[string][]string          // of runs: what people did
	ended    map[string]line              // runs that have closed, as they were told
	troubles []string

	tags    map[string]string // request by run, as the store has it
	settled map[string]bool   // runs that have closed and were compared
	results map[string]int    // cycle of the first check that found the result, by key
	outputs map[string]string // of each flow's runs
	yielded bool              // a run of the feed was parked, and gave its place to the next
	figures figures
}

// figures are what a loop has done.
type figures struct {
	cycles   int
	runs     int
	acks     int // acknowledgements that were compared
	records  int // of the journals
	requests int // that the service got
	effects  int // that happened there
	repeated int // requests under the key of an effect that had happened: without keys they would be duplicates
	unknown  int // outcomes that a person was asked for
	happened int // how many of them had happened
	asked    int // outcomes that plugins were asked for
	resumed  int // runs that were resumed after a pause
	parked   int // pauses for other reasons, such as a step that saw too many crashes
}

func (f *figures) add(more figures) {
	f.cycles += more.cycles
	f.runs += more.runs
	f.acks += more.acks
	f.records += more.records
	f.requests += more.requests
	f.effects += more.effects
	f.repeated += more.repeated
	f.unknown += more.unknown
	f.happened += more.happened
	f.asked += more.asked
	f.resumed += more.resumed
	f.parked += more.parked
}

func newLedger(flows []flow) *ledger {
	l := &ledger{
		flows: map[string]flow{}, accepted: map[string]string{}, records: map[string]map[uint64]string{}, acted: map[string][]string{},
		ended: map[string]line{}, tags: map[string]string{}, settled: map[string]bool{}, results: map[string]int{}, outputs: map[string]string{},
	}
	for _, f := range flows {
		l.flows[f.name] = f
	}
	return l
}

// note takes up what a child said.
func (l *ledger) note(lines []line) {
	for _, said := range lines {
		switch said.Kind {
		case lineAccepted:
			l.accepted[said.Request] = said.Run
		case lineRecord:
			if l.records[said.Run] == nil {
				l.records[said.Run] = map[uint64]string{}
			}
			if before, known := l.records[said.Run][said.Seq]; known && before != said.Sum {
				l.troubles = append(l.troubles, fmt.Sprintf("P1: record %d of run %s was shown with two contents", said.Seq, said.Run))
			}
			l.records[said.Run][said.Seq] = said.Sum
		case lineActed:
			l.acted[said.Run] = append(l.acted[said.Run], said.By)
		case lineEnded:
			l.ended[said.Run] = said
		case lineTrouble:
			l.troubles = append(l.troubles, "child: "+said.Text)
			continue
		default:
			continue
		}
		l.figures.acks++
	}
}

// stored is one run as the reopened store has it.
type stored struct {
	row     runs.Run
	records []*journal.Record
}

// check compares what was acknowledged with the store and the service, after a
// cycle. All runs are looked at again when all says so.
func (l *ledger) check(file *boltstore.Store, service *counter, cycle int, all bool) (problems []string) {
	problems, l.troubles = l.troubles, nil
	rows, _, err := file.Runs(runs.Filter{Limit: 1_000_000})
	if err != nil {
		return append(problems, fmt.Sprintf("P14: list runs: %v", err))
	}
	byID := map[string]*stored{}
	for _, row := range rows {
		byID[row.ID] = &stored{row: row}
		if l.settled[row.ID] && !all {
			continue
		}
		records, err := file.Records(row.ID, 0, 0)
		if err != nil {
			problems = append(problems, fmt.Sprintf("P14: records of run %s: %v", row.ID, err))
			continue
		}
		byID[row.ID].records = records
		problems = append(problems, l.checkRun(byID[row.ID])...)
	}
	problems = append(problems, l.checkAccepted(byID)...)
	for _, request := range service.since(cycle) {
		problems = append(problems, l.checkRequest(file, byID, request, cycle)...)
	}
	problems = append(problems, service.split()...)
	problems = append(problems, l.checkOnce(byID, service)...)
	problems = append(problems, l.checkMemory(file, service)...)
	for _, run := range byID {
		l.settle(run, cycle)
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

// checkRun compares a run with what watchers saw and people did (P1).
func (l *ledger) checkRun(run *stored) (problems []string) {
	id := run.row.ID
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("P1: run %s (%s): ", id, run.row.Workflow)+fmt.Sprintf(format, args...))
	}
	sums, by := map[uint64]string{}, map[string]bool{}
	for i, record := range run.records {
		encoded, err := json.Marshal(record)
		if err != nil {
			bad("encode record %d: %v", record.Seq, err)
		}
		if record.Seq != uint64(i+1) {
			bad("record %d has the number %d", i+1, record.Seq)
		}
		sums[record.Seq] = sumOf(encoded)
		for _, command := range record.Commands {
			if run.row.Workflow == "feed" && command.Finish != nil && command.Finish.Paused != "" {
				l.yielded = true
			}
		}
		by[record.Event.By] = true
	}
	for _, seq := range slices.Sorted(maps.Keys(l.records[id])) {
		switch sums[seq] {
		case l.records[id][seq]:
		case "":
			bad("record %d was seen and is lost: %d are stored", seq, len(run.records))
		default:
			bad("record %d is not what was seen", seq)
		}
	}
	for _, act := range l.acted[id] {
		if !by[act] {
			bad("%s was accepted and is lost", act)
		}
	}
	if told, ended := l.ended[id]; ended && (!run.row.Closed || string(run.row.Status) != told.Status) {
		bad("it was %s and is %s, closed %t", told.Status, run.row.Status, run.row.Closed)
	}
	if len(run.records) > 0 && run.records[0].Event.Start != nil && run.row.Parent == nil {
		var inputs struct{ Tag string }
		_ = json.Unmarshal(run.records[0].Event.Start.Inputs, &inputs) // our own workflows' inputs
		l.tags[id] = inputs.Tag
	}
	return problems
}

// checkAccepted looks for the runs that were accepted, and for requests that
// made two.
func (l *ledger) checkAccepted(byID map[string]*stored) (problems []string) {
	byTag := map[string]int{}
	for id, tag := range l.tags {
		if byID[id] != nil {
			byTag[tag]++
		}
	}
	for tag, n := range byTag {
		if n > 1 {
			problems = append(problems, fmt.Sprintf("P1: request %s made %d runs", tag, n))
		}
	}
	for request, id := range l.accepted {
		if byID[id] == nil {
			problems = append(problems, fmt.Sprintf("P1: run %s of request %s was accepted and is lost", id, request))
		}
	}
	return problems
}

// checkRequest looks up what a request of this cycle rested on: an intent, when
// it has an effect (P4), no result that was stored before, and its key (P2).
func (l *ledger) checkRequest(file *boltstore.Store, byID map[string]*stored, r seen, cycle int) (problems []string) {
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s %s of run %s, attempt %d: ", r.effect, r.step, r.run, r.attempt)+fmt.Sprintf(format, args...))
	}
	l.figures.requests++
	if found, known := l.results[r.key]; known && found < cycle {
		bad("P6: it was sent in cycle %d, and its result was stored in cycle %d", cycle, found)
	}
	if r.effect == effectRead || r.effect == "list" {
		return problems
	}
	if r.effect == effectKeyed && r.idem != r.key {
		bad("P2: it came with the Idempotency-Key %q, its key is %s", r.idem, r.key)
	}
	run := byID[r.run]
	if run == nil {
		bad("P4: its run is not stored")
		return problems
	}
	if run.records == nil { // it was settled before
		records, err := file.Records(r.run, 0, 0)
		if err != nil {
			bad("P14: %v", err)
		}
		run.records = records
	}
	if !run.intends(r) {
		bad("P4: its intent is not stored")
	}
	return problems
}

// intends reports whether the journal holds the intent of a request.
func (s *stored) intends(r seen) bool {
	for _, record := range s.records {
		for _, command := range record.Commands {
			if command.Call != nil && command.Call.Attempt == r.attempt && runs.IdempotencyKey(s.row.ID, command.Path) == r.key {
				return true
			}
		}
	}
	return false
}

// checkOnce counts once actions: one request, and one more for each time that
// somebody said that it did not happen (P3).
func (l *ledger) checkOnce(byID map[string]*stored, service *counter) (problems []string) {
	service.mu.Lock()
	requests, effects := map[string]int{}, map[string]onceEffect{}
	sent := map[string]seen{}
	for _, r := range service.all {
		if r.effect == effectOnce {
			requests[r.key]++
			sent[r.key] = r
		}
	}
	for key, effect := range service.once {
		effects[key] = *effect
	}
	service.mu.Unlock()
	for key, n := range requests {
		r := sent[key]
		run := byID[r.run]
		if run == nil || run.records == nil {
			continue
		}
		denied := 0
		for _, record := range run.records {
			if asked, didNot := deniedBy(record.Event); didNot && runs.IdempotencyKey(r.run, asked) == key {
				denied++
			}
		}
		if n > 1+denied {
			problems = append(problems, fmt.Sprintf("P3: once %s of run %s was sent %d times, %d of them by decision", r.step, r.run, n, denied+1))
		}
		if times := effects[key].times; times > 1 {
			problems = append(problems, fmt.Sprintf("P3: once %s of run %s happened %d times", r.step, r.run, times))
		}
	}
	return problems
}

// deniedBy reports whether an event says that a once call did not happen: a
// person's word or its plugin's. asked is the call's operation path.
func deniedBy(event journal.Event) (asked string, didNot bool) {
	switch {
	case event.Resolution != nil:
		return event.Path, event.Resolution.Outcome == "did_not"
	case event.Outcome != nil:
		return strings.TrimSuffix(event.Path, "#reconcile"), event.Outcome.Applied == runs.NotApplied
	}
	return "", false
}

// checkMemory compares the cursor, the state and what was told of them (P5): the
// feed's state counts the items that its cursor has passed.
func (l *ledger) checkMemory(file *boltstore.Store, service *counter) (problems []string) {
	cursors, err := file.Cursors("feed", "news")
	if err != nil {
		return []string{fmt.Sprintf("P14: cursors: %v", err)}
	}
	state, err := file.State("feed")
	if err != nil {
		return []string{fmt.Sprintf("P14: state: %v", err)}
	}
	cursor, total := "0", "0"
	if len(cursors) > 0 {
		if cursor, err = watermark(file, l.keys, cursors[0].Value); err != nil {
			return []string{fmt.Sprintf("P5: the cursor: %v", err)}
		}
	}
	if len(state) > 0 {
		total = string(state[0].Value)
	}
	if cursor != total || len(cursors) > 1 {
		problems = append(problems, fmt.Sprintf("P5: the cursor is at %s, the state at %s", cursor, total))
	}
	var at, told int64
	_, _ = fmt.Sscan(cursor, &at)
	for _, ended := range l.ended {
		var outputs struct{ Total int64 }
		if json.Unmarshal(ended.Outputs, &outputs) == nil {
			told = max(told, outputs.Total)
		}
	}
	if at < told || at > service.grown() {
		problems = append(problems, fmt.Sprintf("P5: the cursor is at %d, a run told of %d, there are %d", at, told, service.grown()))
	}
	effects := service.effects()
	for item := int64(1); item <= at; item++ {
		// A run that is parked in the middle has paid for a part, and the next one
		// reads from where the cursor is.
		if n := effects[fmt.Sprintf("keyed feed/item%d", item)]; n < 1 || n > 1 && !l.yielded {
			problems = append(problems, fmt.Sprintf("P5: item %d, which the cursor %d has passed, was paid for %d times", item, at, n))
		}
	}
	return problems
}

// settle notes what a later cycle need not, or must not, see again.
func (l *ledger) settle(run *stored, cycle int) {
	for _, record := range run.records {
		if record.Event.Kind == journal.Completed {
			key := runs.IdempotencyKey(run.row.ID, record.Event.Path)
			if _, known := l.results[key]; !known {
				l.results[key] = cycle
			}
		}
	}
	if run.row.Closed {
		l.settled[run.row.ID] = true
	}
}

// checkEnd compares the effects and outputs of all runs, when all have ended.
func (l *ledger) checkEnd(file *boltstore.Store, service *counter) (problems []string) {
	rows, _, err := file.Runs(runs.Filter{Limit: 1_000_000})
	if err != nil {
		return []string{fmt.Sprintf("P14: list runs: %v", err)}
	}
	effects := service.effects()
	for _, row := range rows {
		records, err := file.Records(row.ID, 0, 0)
		if err != nil {
			problems = append(problems, fmt.Sprintf("P14: records of run %s: %v", row.ID, err))
			continue
		}
		l.count(row, records)
		if row.Status != runs.RunSucceeded || !row.Closed {
			problems = append(problems, fmt.Sprintf("run %s (%s) is %s: %v", row.ID, row.Workflow, row.Status, row.Error))
		}
		problems = append(problems, unflagged(row, records)...)
		if row.Parent != nil {
			continue
		}
		problems = append(problems, l.checkOutputs(row, records)...)
		for _, want := range l.flows[row.Workflow].effects {
			effect, name, _ := strings.Cut(want, " ")
			if n := effects[effect+" "+l.tags[row.ID]+"/"+name]; n != 1 {
				problems = append(problems, fmt.Sprintf("P2: %s of run %s (%s) happened %d times", want, row.ID, row.Workflow, n))
			}
		}
	}
	for _, n := range effects {
		l.figures.effects += n
	}
	return problems
}

// unflagged looks for once calls whose end is neither their own answer, nor their
// plugin's word, nor a person's.
func unflagged(row runs.Run, records []*journal.Record) (problems []string) {
	open := map[string]bool{}
	for _, record := range records {
		switch event := record.Event; event.Kind {
		case journal.Completed, journal.Resolved:
			delete(open, event.Path)
		case journal.Reconciled:
			asked, didNot := deniedBy(event)
			if delete(open, asked); didNot {
				open[asked] = true // it is sent again
			}
		}
		for _, command := range record.Commands {
			if command.Call != nil && command.Call.Effect == plan.EffectOnce {
				open[command.Path] = true
			}
		}
	}
	for path := range open {
		problems = append(problems, fmt.Sprintf("P3: run %s has ended, and nobody knows of %s", row.ID, path))
	}
	return problems
}

// checkOutputs: all runs of a flow have the same outputs, but for the feed's.
func (l *ledger) checkOutputs(row runs.Run, records []*journal.Record) (problems []string) {
	if l.flows[row.Workflow].effects == nil {
		return nil
	}
	for _, record := range records {
		for _, command := range record.Commands {
			if command.Finish == nil || command.Finish.Status != runs.RunSucceeded {
				continue
			}
			encoded, _ := json.Marshal(command.Finish.Outputs) // read from JSON
			if first := l.outputs[row.Workflow]; first != "" && first != string(encoded) {
				problems = append(problems, fmt.Sprintf("run %s (%s) gave %s, another gave %s", row.ID, row.Workflow, encoded, first))
			}
			l.outputs[row.Workflow] = string(encoded)
		}
	}
	return problems
}

func (l *ledger) count(row runs.Run, records []*journal.Record) {
	l.figures.runs++
	l.figures.records += len(records)
	if row.Attempt > 1 {
		l.figures.resumed++
	}
	for _, record := range records {
		if record.Event.Kind == journal.Reconciled {
			l.figures.asked++
		}
		if resolved := record.Event.Resolution; resolved != nil {
			l.figures.unknown++
			if resolved.Outcome == "happened" {
				l.figures.happened++
			}
		}
		for _, command := range record.Commands {
			if command.Finish != nil && command.Finish.Paused != "" && command.Finish.Paused != runs.PausedUnknownOutcome {
				l.figures.parked++
			}
		}
	}
}
