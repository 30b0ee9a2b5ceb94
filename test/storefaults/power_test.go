//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/test/systrace"
)

// tracedWork runs a job under the tracer.
func tracedWork(ctx context.Context, j job, handler systrace.Handler) (systrace.Outcome, error) {
	argument, err := json.Marshal(j)
	if err != nil {
		return systrace.Outcome{}, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return systrace.Outcome{}, err
	}
	defer null.Close()
	return systrace.Run(ctx, systrace.Command{
		Path: "/proc/self/exe", Args: []string{"storefaults"}, Env: childEnv("work", string(argument)),
		Files: []*os.File{null, null, os.Stderr},
	}, handler)
}

// spoken returns the line that a call prints, "" when it prints none.
func spoken(c *systrace.Call) string {
	if c.Kind != systrace.Write || c.FD != 1 {
		return ""
	}
	return strings.TrimSuffix(string(c.Data), "\n")
}

// event is a call that changes the folder, or a line that the child has begun to
// print: what it acknowledges may be known from then on.
type event struct {
	call *systrace.Call
	line string
}

// record runs a job and returns what it did, in order.
func record(t *testing.T, j job) []event {
	t.Helper()
	var events []event
	folder := filepath.Dir(j.Path)
	outcome, err := tracedWork(t.Context(), j, systrace.Handler{
		Enter: func(c *systrace.Call) syscall.Errno {
			if text := spoken(c); text != "" {
				events = append(events, event{line: text})
			}
			return 0
		},
		Exit: func(c *systrace.Call) {
			if c.Path == folder || strings.HasPrefix(c.Path, folder+"/") || strings.HasPrefix(c.Target, folder+"/") {
				events = append(events, event{call: c})
			}
		},
	})
	skipWhereRefused(t, err)
	if last := events[len(events)-1]; outcome.Exit != 0 || last.line != "end" {
		t.Fatalf("the child ended with %+v: %s", outcome, lastLines(events))
	}
	for _, e := range events {
		if strings.HasPrefix(e.line, "failed") {
			t.Fatal(e.line)
		}
	}
	return events
}

func lastLines(events []event) string {
	var lines []string
	for _, e := range events {
		if e.line != "" {
			lines = append(lines, e.line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-5):], "; ")
}

// powerLoss is one image with what must be in it.
type powerLoss struct {
	name   string
	images map[string]image
	ask    question
}

// simulation draws power losses from traces.
type simulation struct {
	seed    uint64
	images  int
	early   bool // control: acknowledgements before the answer
	apart   bool // control: a run and its fire are two transactions
	nosync  bool // control: after its creation the store's file is never synced
	nodata  bool // control: the data pages are not synced before the meta page is written
	restore bool // the power is lost while a backup is restored
	perTest int  // images of one trace

	catch func(verdict) bool // control: the first verdict that it takes is enough

	before             map[string][]byte // files that are there when a trace begins
	older              uint64            // the schema of that
	migrated, original string            // of questions
}

// maps are the sizes of the address space: they decide how the file grows. The
// last one is the product's.
func mapSizes() []int { return []int{32 << 10, 256 << 10, 20 << 20, 1 << 30} }

// draw calls each with every image, until it returns false.
func (s simulation) draw(t *testing.T, each func(powerLoss) bool) {
	t.Helper()
	for trace, more := 0, true; more && trace*s.perTest < s.images; trace++ {
		seed := s.seed + uint64(trace)
		j := job{
			Path:   filepath.Join(scratch(t), "flowrun.db"),
			Script: script{Seed: seed, Ops: 12 + int(seed%9)}, Sessions: 2, Early: s.early, Apart: s.apart,
			Map: mapSizes()[trace%len(mapSizes())], Upkeep: s.restore || trace%3 == 2 && !s.early && !s.nosync && !s.nodata, Restore: s.restore,
		}
		if s.before != nil {
			j.Script.Ops, j.Sessions = 0, 1
			writeBefore(t, filepath.Dir(j.Path), s.before)
		}
		events := record(t, j)
		if trace > 0 && trace%4 == 0 {
			t.Logf("%d of %d images drawn", trace*s.perTest, s.images)
		}
		_ = os.RemoveAll(filepath.Dir(j.Path))
		more = s.replay(t, j, events, min(s.perTest, s.images-trace*s.perTest), each)
	}
}

// replay draws moments of a trace, and a power loss at each. It reports whether each
// wants more.
func (s simulation) replay(t *testing.T, j job, events []event, count int, each func(powerLoss) bool) (more bool) {
	t.Helper()
	source := rand.New(rand.NewPCG(j.Script.Seed, 1))
	first := 0
	if j.Restore {
		first = slices.IndexFunc(events, func(e event) bool { return e.line == "restoring" })
	}
	moments := map[int]int{}
	for range count {
		moments[first+source.IntN(len(events)+1-first)]++
	}
	d := newDisk(filepath.Dir(j.Path))
	for name, content := range s.before {
		d.holdsAlready(name, content)
	}
	acks := acknowledged{}
	d.ignore = func(c *systrace.Call) bool {
		return acks[opened] > 0 && c.Path == j.Path && (s.nosync || s.nodata && !d.metaIsPending(c.Path))
	}
	for at := 0; ; at++ {
		for n := range moments[at] {
			f := drawFate(source)
			loss := powerLoss{
				name:   fmt.Sprintf("FLOWRUN_SEED=%d, map %d, event %d of %d, image %d", j.Script.Seed, j.Map, at, len(events), n),
				images: f.files(d),
				ask: question{
					Script: j.Script, Acks: maps.Clone(acks), Slack: 1, Map: j.Map, Check: true, Write: source.IntN(4) == 0, Apart: s.apart,
					Migrated: s.migrated, Original: s.original, Older: s.older,
				},
			}
			if !each(loss) {
				return false
			}
		}
		if at == len(events) {
			return true
		}
		if e := events[at]; e.call == nil {
			acks.hear(e.line)
		} else if err := d.take(e.call); err != nil {
			t.Fatal(err)
		}
	}
}

// run judges every image on two judges at a time and returns the verdicts, with
// the first few faults in words.
func (s simulation) run(t *testing.T) (counts map[string]int, faults []string) {
	t.Helper()
	losses := make(chan powerLoss, 4)
	counts = map[string]int{}
	var mu sync.Mutex
	var judges sync.WaitGroup
	var caught atomic.Bool
	for range 2 {
		folder, c := scratch(t), newCourt(t)
		judges.Go(func() {
			for loss := range losses {
				v := s.judge(c, folder, loss)
				if s.catch != nil && s.catch(v) {
					caught.Store(true)
				}
				mu.Lock()
				if v.Verdict == whole && v.Detail != "" {
					counts[v.Detail]++
				}
				if counts[v.Verdict]++; v.Verdict != whole && len(faults) < 20 {
					faults = append(faults, fmt.Sprintf("%s: %s: %s", loss.name, v.Verdict, v.Detail))
					if !s.early && !s.apart && !s.nosync && !s.nodata {
						keep(t, loss.images)
					}
				}
				mu.Unlock()
			}
		})
	}
	func() {
		defer close(losses)
		s.draw(t, func(loss powerLoss) bool {
			losses <- loss
			return !caught.Load()
		})
	}()
	judges.Wait()
	return counts, faults
}

func (s simulation) judge(c *court, folder string, loss powerLoss) verdict {
	if err := writeImages(folder, loss.images); err != nil {
		return verdict{broken, err.Error()}
	}
	q := loss.ask
	q.Path = filepath.Join(folder, "flowrun.db")
	if _, ok := loss.images["flowrun.db"]; !ok && q.Acks[opened] > 0 {
		return verdict{changed, "the file is gone that was opened"}
	}
	return c.ask(q)
}

func TestP1_NothingAcknowledgedIsLostByPowerLoss(t *testing.T) {
	s := simulation{seed: testSeed(t), images: suitesize.Of(t, "FLOWRUN_POWER_IMAGES", 300), perTest: 2500}
	s.perTest = max(50, min(s.perTest, s.images/4))
	counts, faults := s.run(t)
	t.Logf("%d images: %v", s.images, counts)
	for _, fault := range faults {
		t.Error(fault)
	}
	if counts[whole] != s.images {
		t.Errorf("%d of %d images are not whole", s.images-counts[whole], s.images)
	}
}

// A restore leaves the old store or the restored one, never none.
func TestP15_ARestoreIsOneStepForAPowerLoss(t *testing.T) {
	s := simulation{seed: testSeed(t), images: max(60, suitesize.Of(t, "FLOWRUN_POWER_IMAGES", 300)/10), restore: true}
	s.perTest = max(60, s.images/4)
	counts, faults := s.run(t)
	t.Logf("%d images: %v", s.images, counts)
	for _, fault := range faults {
		t.Error(fault)
	}
	if counts[whole] != s.images || counts["restored"] == 0 || counts["restored"] == s.images {
		t.Errorf("of %d images %d are whole and %d restored", s.images, counts[whole], counts["restored"])
	}
}

// The controls: the same power losses must be found when nothing is synced, and
// when the acknowledgement comes too early.
func TestP1_ControlWithoutSyncsIsCaught(t *testing.T) {
	s := simulation{seed: testSeed(t), images: 120, perTest: 60, nosync: true}
	counts, _ := s.run(t)
	t.Logf("without syncs: %v", counts)
	if lost := s.images - counts[whole]; lost*2 <= s.images {
		t.Errorf("only %d of %d images have lost something: the simulator sees nothing", lost, s.images)
	}
}

func TestP1_ControlWithoutTheSyncBeforeTheMetaPageIsCaught(t *testing.T) {
	s := simulation{seed: testSeed(t), images: 400, perTest: 200, nodata: true, catch: func(v verdict) bool { return v.Verdict != whole }}
	counts, faults := s.run(t)
	t.Logf("without the first sync of a commit: %v", counts)
	if len(faults) == 0 {
		t.Error("no image is damaged: the simulator sees nothing")
	}
}

func TestP1_ControlWithEarlyAcksIsCaught(t *testing.T) {
	s := simulation{seed: testSeed(t), images: 120, perTest: 60, early: true, catch: func(v verdict) bool { return v.Verdict == changed }}
	counts, faults := s.run(t)
	t.Logf("acknowledged too early: %v, the first: %.300s", counts, strings.Join(faults, ""))
	if counts[changed] == 0 {
		t.Error("no image has lost an acknowledgement: the simulator sees nothing")
	}
}

// The schedule of the suite above, with the run and its fire in two transactions.
func TestP10_ControlWithARunApartFromItsFireIsCaught(t *testing.T) {
	const torn = "operations of the schedule were acknowledged"
	s := simulation{seed: testSeed(t), images: 400, perTest: 100, apart: true, catch: func(v verdict) bool {
		return v.Verdict == changed && strings.Contains(v.Detail, torn)
	}}
	counts, faults := s.run(t)
	t.Logf("a run apart from its fire: %v, the first: %.300s", counts, strings.Join(faults, ""))
	if !slices.ContainsFunc(faults, func(fault string) bool { return strings.Contains(fault, torn) }) {
		t.Error("no fire is torn: the simulator sees nothing")
	}
}

// unsyncedAcks returns the acknowledgements of the long runs, which are written
// on the committer's own goroutine, that came while anything was not synced.
func unsyncedAcks(t *testing.T, j job, events []event) (bad []string, seen int) {
	t.Helper()
	d := newDisk(filepath.Dir(j.Path))
	for _, e := range events {
		if e.call != nil {
			if err := d.take(e.call); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var w writer
		var count int
		if _, err := fmt.Sscanf(e.line, "ack %s %d", &w, &count); err != nil || count == 1 {
			continue
		}
		if _, ok := w.run(); !ok {
			continue
		}
		if seen++; d.unsynced() {
			bad = append(bad, e.line)
		}
	}
	return bad, seen
}

// sooner moves each acknowledgement before the sync that it came after. A job that says
// its own too early says them between two commits, when it happens so, and nothing is
// unsynced then: it is no control.
func sooner(events []event) (moved []event) {
	sync := 0
	for _, e := range events {
		switch {
		case e.call == nil && strings.HasPrefix(e.line, "ack "):
			moved = slices.Insert(moved, sync, e)
			sync++
		case e.call != nil && e.call.Kind == systrace.Sync:
			sync = len(moved)
			fallthrough
		default:
			moved = append(moved, e)
		}
	}
	return moved
}

func TestP4_AnAcknowledgementComesAfterTheSync(t *testing.T) {
	j := job{
		Path: filepath.Join(scratch(t), "flowrun.db"), Script: script{Seed: testSeed(t), Ops: 20}, Sessions: 1,
		Map: mapSizes()[0],
	}
	events := record(t, j)
	bad, seen := unsyncedAcks(t, j, events)
	if seen < longRuns*15 {
		t.Errorf("only %d acknowledgements", seen)
	}
	if len(bad) > 0 {
		t.Errorf("%d of %d acknowledgements came before the sync: %v", len(bad), seen, slices.Compact(bad))
	}
	if early, all := unsyncedAcks(t, j, sooner(events)); len(early) != all || all != seen {
		t.Errorf("control: of %d acknowledgements before their sync %d are caught", all, len(early))
	}
}
