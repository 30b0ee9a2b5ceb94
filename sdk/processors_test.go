package sdk

import (
	"testing"
	"time"
)

// scheduler is what processors see of a process: its clock and its processor time move by
// hand, and a look comes when it is due.
type scheduler struct {
	*processors
	clock, used time.Duration
	has, sets   int
	due         time.Duration // 0 = nobody looks
	next        func()
}

func newScheduler() *scheduler {
	s := &scheduler{has: 1}
	s.processors = &processors{
		most: 8, set: func(n int) { s.has = n; s.sets++ }, spent: func() time.Duration { return s.used },
		now:   func() time.Time { return time.Unix(0, 0).Add(s.clock) },
		after: func(wait time.Duration, look func()) { s.due, s.next = s.clock+wait, look },
	}
	return s
}

// pass lets time pass, of which the process uses a part of one processor.
func (s *scheduler) pass(time, used time.Duration) {
	for end := s.clock + time; s.clock < end; {
		step := end - s.clock
		if s.due > 0 {
			step = min(step, s.due-s.clock)
		}
		s.clock, s.used = s.clock+step, s.used+used*step/time
		if s.due == s.clock {
			s.due = 0
			s.next()
		}
	}
}

func TestAPluginThatComputesGetsProcessors(t *testing.T) {
	s := newScheduler()
	end := s.begin()
	s.pass(60*time.Millisecond, 60*time.Millisecond)
	if s.has != 8 {
		t.Fatalf("a call that has computed for 60 ms has %d processors, want 8", s.has)
	}
	s.pass(3*time.Second, 20*time.Second)
	end()
	if s.has != 8 {
		t.Errorf("a process that uses 7 processors has %d", s.has)
	}
	s.pass(3*time.Second, 0)
	if s.has != 1 || s.due != 0 {
		t.Errorf("a process that does nothing has %d processors, and a look at %v", s.has, s.due)
	}
}

func TestAPluginThatWaitsKeepsOneProcessor(t *testing.T) {
	s := newScheduler()
	for range 10_000 { // short calls, one after the other, that use a third of one
		end := s.begin()
		s.pass(300*time.Microsecond, 100*time.Microsecond)
		end()
	}
	if s.sets != 0 {
		t.Errorf("the number of processors was changed %d times", s.sets)
	}
}

// A call that waits for long and computes then is seen, too.
func TestACallThatComputesLateGetsProcessors(t *testing.T) {
	s := newScheduler()
	end := s.begin()
	s.pass(time.Minute, 0)
	s.pass(2*lastLook, 2*lastLook)
	if s.has != 8 {
		t.Errorf("it has %d processors, want 8", s.has)
	}
	end()
}

// The number is left alone where somebody has said it.
func TestWhoSaysHowManyProcessorsIsHeard(t *testing.T) {
	if p := fewProcessors("3", nil); p != nil {
		t.Errorf("GOMAXPROCS of the environment is not heard")
	}
	var none *processors
	none.begin()()
}
