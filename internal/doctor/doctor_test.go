package doctor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// answers is a store that says what a test wants.
type answers struct {
	stats     upkeep.DBStats
	key       services.KeyReport
	runs      []runs.Run
	schedules []trigger.ScheduleItem
	left      int
	err       error
}

func (a *answers) DBStats(context.Context) (*upkeep.DBStats, error)      { return &a.stats, a.err }
func (a *answers) CheckKey(context.Context) (*services.KeyReport, error) { return &a.key, a.err }
func (a *answers) Runs(context.Context, runs.Filter) (*web.Page[runs.Run], error) {
	return &web.Page[runs.Run]{Items: a.runs}, a.err
}
func (a *answers) Schedules(context.Context) (*web.SchedulePage, error) {
	page := new(web.SchedulePage)
	page.Items = a.schedules
	return page, a.err
}
func (a *answers) TestConnection(context.Context, string) (connections.Test, error) {
	return connections.Test{}, a.err
}
func (a *answers) Leave() error { a.left++; return a.err }

type plainWords struct{}

func (plainWords) Path(path string) string       { return path }
func (plainWords) Time(at time.Time) string      { return at.Format(time.RFC3339) }
func (plainWords) Size(bytes int64) string       { return fmt.Sprint(bytes) }
func (plainWords) Command(args ...string) string { return strings.Join(args, " ") }

func TestWhatTheStoreSaysIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		store *answers
		look  func(*examination, context.Context, string)
		want  Finding
	}{
		"a full store": {
			&answers{stats: upkeep.DBStats{Pressure: "the disk is full"}}, (*examination).checkContents,
			Finding{Check: "space", Status: Fail, Cause: StoreFull, Detail: "no run is accepted: the disk is full"},
		},
		"a store that is half full": {
			&answers{stats: upkeep.DBStats{UsedBytes: 51, MaxBytes: 100}}, (*examination).checkContents,
			Finding{Check: "space", Status: Warn, Detail: "the store holds 51 of at most 100"},
		},
		"runs that nobody drives": {
			&answers{stats: upkeep.DBStats{Runs: map[runs.Status]int{runs.RunRunning: 1, runs.RunWaiting: 1}}}, (*examination).checkContents,
			Finding{Check: "runs", Status: Warn, Detail: "2 runs have not ended, and no process drives them"},
		},
		"a key that is not this store's": {
			&answers{key: services.KeyReport{File: "key", Values: 3, Lost: []services.SealedValue{{Kind: "secret", Name: "a"}}}}, (*examination).checkKey,
			Finding{Check: "key", Status: Fail, Cause: StoreCorrupt, Detail: "key does not open 1 of 3 sealed values"},
		},
		"a backup that is old": {
			&answers{stats: upkeep.DBStats{LastBackup: &upkeep.BackupReport{Path: ".", At: noon.Add(-8 * 24 * time.Hour)}}}, (*examination).checkBackup,
			Finding{Check: "backup", Status: Warn, Detail: "the last one is of 2026-05-24T12:00:00Z"},
		},
		"a clock that went back": {
			&answers{runs: []runs.Run{{StartedAt: noon.Add(2 * time.Minute)}}}, (*examination).checkClock,
			Finding{Check: "clock", Status: Warn, Detail: "it shows 2026-06-01T12:00:00Z, and a run began at 2026-06-01T12:02:00Z"},
		},
		"schedules that nobody acts on": {
			&answers{schedules: []trigger.ScheduleItem{{}}}, (*examination).checkTriggers,
			Finding{Check: "schedules", Status: Warn, Detail: "1 schedule, and no process acts on them"},
		},
		"a store that does not answer": {
			&answers{err: context.DeadlineExceeded}, (*examination).checkKey,
			Finding{Check: "key", Status: Fail, Detail: context.DeadlineExceeded.Error(), Err: context.DeadlineExceeded},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &examination{Options: Options{Config: workspace.Config{Now: func() time.Time { return noon }}, Words: plainWords{}}, store: test.store}
			test.look(e, t.Context(), test.want.Check)
			if len(e.findings) != 1 {
				t.Fatalf("findings %+v, want one", e.findings)
			}
			got := e.findings[0]
			if test.want.Status != OK && got.Err == nil && got.Hint.Text == "" {
				t.Error("nothing is said of the remedy")
			}
			got.Hint = diag.Hint{}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("found %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestTheFirstFailureAndTheWorstStatusAreTold(t *testing.T) {
	e := new(examination)
	e.ok("a", "", "well")
	if report := e.report(); report.Status != OK || report.FirstFailure() != nil {
		t.Errorf("of what is well: %+v", report)
	}
	e.warn("b", "", "old", "renew it")
	if report := e.report(); report.Status != Warn || report.FirstFailure() != nil {
		t.Errorf("of a warning: %+v", report)
	}
	e.fail("c", "", Locked, "held", "")
	e.fail("d", "", Invalid, "wrong", "")
	e.warn("e", "", "old", "renew it")
	if report := e.report(); report.Status != Fail || report.FirstFailure() == nil || report.FirstFailure().Cause != Locked {
		t.Errorf("of failures: %+v", report)
	}
}

func TestOnlyWhatIsAskedForIsMended(t *testing.T) {
	mended, broken := 0, errors.New("not ours")
	mend := func() error { mended++; return nil }
	e := &examination{}
	e.mend(Finding{Check: "a", Status: Fail, Hint: diag.Say("chmod it")}, mend)
	if f := e.findings[0]; mended != 0 || f.Status != Fail || !f.CanFix || f.Fixed || f.Hint.Text != "chmod it; `flowrun doctor --fix` does it" {
		t.Errorf("without --fix: mended %d times, %+v", mended, f)
	}
	e.Fix = true
	e.mend(Finding{Check: "b", Status: Fail, Hint: diag.Say("chmod it")}, mend)
	if f := e.findings[1]; mended != 1 || f.Status != OK || !f.Fixed || f.Hint.Text != "" {
		t.Errorf("with --fix: mended %d times, %+v", mended, f)
	}
	e.mend(Finding{Check: "c", Status: Fail, Hint: diag.Say("chmod it")}, func() error { return broken })
	if f := e.findings[2]; f.Status != Fail || f.Fixed || !strings.Contains(f.Hint.Text, "not ours; chmod it") {
		t.Errorf("where it can't be mended: %+v", f)
	}
}

func TestTheStoreIsGivenBackOnce(t *testing.T) {
	store := &answers{err: errors.New("no room")}
	e := &examination{store: store}
	e.leave()
	e.end()
	if store.left != 1 {
		t.Errorf("given back %d times", store.left)
	}
	if f := e.report().FirstFailure(); f == nil || !errors.Is(f.Err, store.err) {
		t.Errorf("a store that could not be given back is not told: %+v", e.findings)
	}
}
