package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// beginning is a session whose signals are sent by the test.
func beginning() (s *session, signals chan os.Signal, stderr *bytes.Buffer, stopped *bool) {
	signals, stderr, stopped = make(chan os.Signal, 2), new(bytes.Buffer), new(bool)
	a := &app{sys: System{Stderr: stderr, Signals: func() (<-chan os.Signal, func()) { return signals, func() { *stopped = true } }}}
	return &session{app: a}, signals, stderr, stopped
}

// TestP17ASignalBeforeTheAnswerIsKept for who follows the run: it may have begun.
func TestP17ASignalBeforeTheAnswerIsKept(t *testing.T) {
	s, signals, _, stopped := beginning()
	err := s.begin(t.Context(), time.Minute, func(ctx context.Context) error {
		signals <- syscall.SIGTERM
		for len(signals) > 0 {
			time.Sleep(time.Millisecond)
		}
		return ctx.Err()
	})
	if err != nil || *stopped {
		t.Fatalf("%v, stopped %v", err, *stopped)
	}
	follower, end := s.newFollower("01run", nil)
	defer end()
	if s.pending != syscall.SIGTERM || follower.signals == nil {
		t.Errorf("pending %v, signals %v", s.pending, follower.signals)
	}
}

// TestP17NoAnswerDoesNotHoldAnEnd for ever, nor a second signal at all.
func TestP17NoAnswerDoesNotHoldAnEnd(t *testing.T) {
	for name, with := range map[string]struct {
		late  time.Duration
		sends []os.Signal
		exit  int
	}{
		"a second one":  {time.Minute, []os.Signal{syscall.SIGTERM, os.Interrupt}, 130},
		"one, too late": {time.Millisecond, []os.Signal{syscall.SIGTERM}, 143},
	} {
		s, signals, stderr, stopped := beginning()
		err := s.begin(t.Context(), with.late, func(ctx context.Context) error {
			for _, signal := range with.sends {
				signals <- signal
			}
			<-ctx.Done()
			return ctx.Err()
		})
		var killed *killedError
		if !errors.As(err, &killed) || killed.exitCode() != with.exit || !*stopped || !strings.Contains(stderr.String(), "the run may have begun: flowrun runs list") {
			t.Errorf("%s: %v, stopped %v, %s", name, err, *stopped, stderr)
		}
	}
}

// TestP17AFailedRequestTakesNoSignals: whoever asked has nothing to follow.
func TestP17AFailedRequestTakesNoSignals(t *testing.T) {
	s, _, _, stopped := beginning()
	refused := errors.New("refused")
	if err := s.begin(t.Context(), time.Minute, func(context.Context) error { return refused }); !errors.Is(err, refused) || !*stopped || s.signals != nil {
		t.Errorf("%v, stopped %v, signals %v", err, *stopped, s.signals)
	}
}
