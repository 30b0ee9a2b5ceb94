package runs

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// WaitKind says what a step waits for. Other texts than these are what the disk
// lacks: the gate's own words.
type WaitKind string

// What steps wait for.
const (
	WaitApproval  WaitKind = "approval"
	WaitSignal    WaitKind = "signal"
	WaitSleep     WaitKind = "sleep"
	WaitRetry     WaitKind = "retry"      // of the next attempt
	WaitPoll      WaitKind = "poll"       // a pending answer is asked for again
	WaitRound     WaitKind = "round"      // of `repeat`
	WaitRateLimit WaitKind = "rate limit" // its service's limiter holds the call back
	WaitLogin     WaitKind = "login"      // a person logs in and resumes the run
	WaitResolve   WaitKind = "resolve"    // a person says whether it took effect
	WaitResume    WaitKind = "resume"     // a person looks at it and resumes the run
)

// Wait is what a step waits for. Its text is what Step.Wait keeps.
type Wait struct {
	Kind    WaitKind
	Attempt int       // of WaitRetry and WaitRound: the one that comes
	Of      int       // of WaitRetry: how many there may be
	Until   time.Time // no part of the text; zero = nothing bounds it
}

// String is the wait's text: "retry 2 of 4", or its kind.
func (w Wait) String() string {
	switch {
	case w.Kind == WaitRetry && w.Attempt != 0:
		return fmt.Sprintf("%s %d of %d", w.Kind, w.Attempt, w.Of)
	case w.Kind == WaitRound && w.Attempt != 0:
		return string(w.Kind) + " " + strconv.Itoa(w.Attempt)
	}
	return string(w.Kind)
}

// ParseWait reads a wait's text. What is no other wait is a kind of its own.
func ParseWait(text string) Wait {
	kind, numbers, _ := strings.Cut(text, " ")
	attempt, of, _ := strings.Cut(numbers, " of ")
	w := Wait{Kind: WaitKind(kind)}
	w.Attempt, _ = strconv.Atoi(attempt) // what is no number has another text
	w.Of, _ = strconv.Atoi(of)
	if w.String() == text {
		return w
	}
	return Wait{Kind: WaitKind(text)}
}

// Waits is what the step waits for and until when.
func (s *Step) Waits() Wait {
	w := ParseWait(s.Wait)
	if s.Until != nil {
		w.Until = *s.Until
	}
	return w
}

// Answered reports whether it is an answer that ends the wait: nothing is tried
// again at Until then.
func (w Wait) Answered() bool { return w.Kind == WaitApproval || w.Kind == WaitSignal }

// Parked reports whether the step has stopped until a person acts on its run.
func (w Wait) Parked() bool {
	return w.Kind == WaitLogin || w.Kind == WaitResolve || w.Kind == WaitResume
}

// Words says to people what is waited for.
func (w Wait) Words() string {
	switch w.Kind {
	case WaitApproval:
		return "waits for an approval"
	case WaitRateLimit:
		return "waits for the rate limit"
	case WaitSignal:
		return "waits for a signal"
	case WaitLogin:
		return "waits for a login"
	case WaitResolve:
		return "its outcome is not known"
	case WaitResume:
		return "waits for a resume"
	case WaitPoll:
		return "asks again later"
	}
	return w.String()
}
