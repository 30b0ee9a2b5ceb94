package runs

// Need is what a person must do so that a step goes on.
type Need string

// The needs of steps. Of a sub-workflow's step it is a need of its run: Step.Run.
const (
	NeedNothing Need = ""
	NeedApprove Need = "approve" // or reject
	NeedSignal  Need = "signal"
	NeedLogin   Need = "login" // by the step's prompt, or of its connection and then a resume
	NeedResolve Need = "resolve"
	NeedResume  Need = "resume"
)

// Needs says what a person must do so that the step goes on.
func (s *Step) Needs() Need {
	waits, kind := s.Status == StepWaiting, WaitKind(s.Wait)
	switch {
	case kind == WaitResolve:
		return NeedResolve
	case !s.Status.Ended() && s.Prompt != nil, kind == WaitLogin: // also while it is asked whether the person is done
		return NeedLogin
	case kind == WaitResume:
		return NeedResume
	case waits && kind == WaitApproval:
		return NeedApprove
	case waits && kind == WaitSignal:
		return NeedSignal
	}
	return NeedNothing
}

// ForPerson reports whether the step, which has not stopped, waits for what a person
// does: an answer, or what its prompt says.
func (s *Step) ForPerson() bool {
	return !s.Status.Ended() && (s.Prompt != nil || s.Waits().Answered())
}

// GoesOn reports whether something happens in the step by itself: it is one of an
// action, since a loop goes on by the steps of its items.
func (s *Step) GoesOn() bool {
	switch s.Status {
	case StepRunning, StepRetrying:
		return s.Uses != ""
	case StepWaiting:
		return s.Uses != "" && !s.ForPerson() && !s.Waits().Parked()
	}
	return false
}

// Asks reports whether the step is one that is made to wait for an answer.
func (s *Step) Asks() bool { return s.Uses == CoreApprove || s.Uses == CoreWait }

// Answer says what was decided: "approved", "rejected" or, of a signal or an
// unknown outcome, "answered". Decision must be set.
func (s *Step) Answer() string {
	switch {
	case s.Decision.Rejected:
		return "rejected"
	case s.Uses == CoreApprove:
		return "approved"
	}
	return "answered"
}
