//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/test/systrace"
)

// fault lets some calls on the store's files fail.
type fault struct {
	name   string // of the system call
	result syscall.Errno
	at     int // the first call that fails, from 1 on
	every  int // and every so many after it; 0 = no other
}

func (f fault) String() string { return fmt.Sprintf("%s %d: %v", f.name, f.at, f.result) }

func (f fault) hits(count int) bool {
	return count == f.at || f.every > 0 && count > f.at && (count-f.at)%f.every == 0
}

// struck is what a child did that met a fault.
type struck struct {
	reached  int      // faults
	calls    int      // matching calls
	after    []string // changes of the store's file after the first fault
	failures []failure
	wentOn   []string
	acks     acknowledged
	ended    bool
	seal     bool // the fault met the writing of a seal, of a file that was closed well already
}

// strike runs a job and lets calls on the store's files fail.
func strike(t *testing.T, j job, f fault) (s struck, err error) {
	s.acks = acknowledged{}
	_, err = tracedWork(t.Context(), j, systrace.Handler{
		Enter: func(c *systrace.Call) syscall.Errno {
			if text := spoken(c); text != "" {
				s.hear(text)
			}
			if !strings.HasPrefix(c.Path, j.Path) {
				return 0
			}
			if s.reached > 0 && f.result != syscall.EINTR && (c.Kind == systrace.Write || c.Kind == systrace.Truncate || c.Kind == systrace.Sync) {
				s.after = append(s.after, c.String())
			}
			if c.Name != f.name {
				return 0
			}
			if s.calls++; !f.hits(s.calls) {
				return 0
			}
			s.reached++
			s.seal = strings.HasSuffix(c.Path, ".seal")
			return f.result
		},
	})
	return s, err
}

func (s *struck) hear(text string) {
	s.acks.hear(text)
	if said, ok := strings.CutPrefix(text, "failed "); ok {
		var f failure
		if err := json.Unmarshal([]byte(said), &f); err != nil {
			f.Text = text
		}
		s.failures = append(s.failures, f)
	}
	if strings.HasPrefix(text, "went on") {
		s.wentOn = append(s.wentOn, text)
	}
	s.ended = s.ended || text == "end"
}

// faults returns what is wrong with how the store took the fault.
func (s *struck) faults(j job, f fault) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if !s.ended {
		say("the process did not come to its end")
	}
	if len(s.wentOn) > 0 {
		say("an operation was acknowledged after the failure: %v", s.wentOn)
	}
	if len(s.after) > 0 {
		say("%d changes of the file after the failure, the first: %s", len(s.after), s.after[0])
	}
	if f.result == syscall.EINTR && f.name != "fdatasync" { // bbolt asks for an fdatasync only once
		if len(s.failures) > 0 {
			say("an interrupted call was not done again: %+v", s.failures[0])
		}
		return wrong
	}
	if len(s.failures) == 0 && f.result != syscall.EINTR && !s.seal {
		say("the store said nothing")
	}
	full := f.result == syscall.ENOSPC
	for _, failed := range s.failures {
		switch {
		case !strings.Contains(failed.Text, j.Path):
			say("the path is not named: %+v", failed)
		case failed.During == "close": // all is acknowledged, only the mark of a good end is missing
		case failed.Opening && failed.NoSpace != full, !failed.Opening && (!failed.Stopped || failed.Full != full):
			say("the failure is of another kind: %+v", failed)
		}
	}
	return wrong
}

// strikes runs one job for each fault, two at a time, and returns what was
// wrong, by fault.
type strikes struct {
	t      *testing.T
	script script
	again  bool

	mu      sync.Mutex
	wrong   map[string][]string
	reached map[string]int
	beyond  map[string]int // the first call of a name that no process came to
	refused error
}

func (s *strikes) run(faults []fault) {
	s.wrong, s.reached, s.beyond = map[string][]string{}, map[string]int{}, map[string]int{}
	todo := make(chan fault)
	var all sync.WaitGroup
	for range 2 {
		c := newCourt(s.t)
		all.Go(func() {
			for f := range todo {
				s.one(c, f)
			}
		})
	}
	for _, f := range faults {
		todo <- f
	}
	close(todo)
	all.Wait()
	skipWhereRefused(s.t, s.refused)
}

func (s *strikes) one(c *court, f fault) {
	s.mu.Lock()
	beyond := s.beyond[f.name]
	s.mu.Unlock()
	if beyond > 0 && f.at > beyond {
		return
	}
	j := job{
		Path: filepath.Join(scratch(s.t), "flowrun.db"), Script: s.script, Sessions: 2, Again: s.again,
		Map: mapSizes()[f.at%3],
	}
	seen, err := strike(s.t, j, f)
	s.mu.Lock()
	if err != nil {
		s.refused = err
	}
	done := err != nil || seen.reached == 0
	if err == nil && done && (beyond == 0 || f.at < beyond) {
		s.beyond[f.name] = f.at
	}
	s.mu.Unlock()
	if done {
		return
	}
	wrong := seen.faults(j, f)
	v := c.ask(question{Path: j.Path, Script: j.Script, Acks: seen.acks, Slack: 1, Map: j.Map, Check: true, Write: true})
	if v.Verdict != whole {
		wrong = append(wrong, fmt.Sprintf("after reopening: %s: %s", v.Verdict, v.Detail))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached[f.name+" "+f.result.Error()]++
	if len(wrong) > 0 {
		s.wrong[f.String()] = wrong
	}
}

// allFaults are the faults at call 1 to most. The short form takes every call
// once, with one kind of error after the other.
func allFaults(most int, short bool) (faults []fault) {
	for _, name := range []string{"pwrite64", "fdatasync", "ftruncate", "fsync"} {
		for at := 1; at <= most; at++ {
			for i, result := range []syscall.Errno{syscall.EIO, syscall.ENOSPC} {
				if !short || at%2 == i {
					faults = append(faults, fault{name: name, result: result, at: at})
				}
			}
		}
		const stride = 40 // a process that is only interrupted goes on: it meets many
		for at := 1; at <= min(stride, most); at++ {
			if !short || at%10 == 1 {
				faults = append(faults, fault{name: name, result: syscall.EINTR, at: at, every: stride})
			}
		}
	}
	return faults
}

func TestP13_AFailedSystemCallStopsTheStore(t *testing.T) {
	seed := testSeed(t)
	most := suitesize.Of(t, "FLOWRUN_SYSCALL_MAX", 40)
	s := &strikes{t: t, script: script{Seed: seed, Ops: max(10, most/5)}}
	s.run(allFaults(most, most <= 40))
	t.Logf("faults that were met: %v", s.reached)
	for name, wrong := range s.wrong {
		t.Errorf("%s: %s", name, strings.Join(wrong, "; "))
	}
	for _, call := range []string{"pwrite64", "fdatasync", "ftruncate", "fsync"} {
		if s.reached[call+" "+syscall.EIO.Error()] == 0 || s.reached[call+" "+syscall.ENOSPC.Error()] == 0 || s.reached[call+" "+syscall.EINTR.Error()] == 0 {
			t.Errorf("%s was never met", call)
		}
	}
}

// A program that opens the store again after a failure, and writes once more,
// hides the first loss: the suite must see it.
func TestP13_ControlThatTriesAgainIsCaught(t *testing.T) {
	s := &strikes{t: t, script: script{Seed: testSeed(t), Ops: 6}, again: true}
	s.run([]fault{
		{name: "pwrite64", result: syscall.EIO, at: 30}, {name: "fdatasync", result: syscall.EIO, at: 10},
		{name: "fdatasync", result: syscall.ENOSPC, at: 11},
	})
	caught := 0
	for _, wrong := range s.wrong {
		if slices.ContainsFunc(wrong, func(text string) bool { return strings.Contains(text, "changes of the file after the failure") }) {
			caught++
		}
	}
	if caught != 3 {
		t.Errorf("%d of 3 second tries were caught: %v", caught, s.wrong)
	}
}
