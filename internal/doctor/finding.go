package doctor

import (
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
)

// The statuses of a finding.
const (
	OK      = "ok"
	Warn    = "warn"
	Fail    = "fail"
	Skipped = "skipped"
)

// Cause is what kind of thing is wrong where a look has failed.
type Cause string

// The causes. Without one, Err of the finding says what is wrong.
const (
	Invalid      Cause = "invalid"       // the project file, a workflow, or what they name
	Plugin       Cause = "plugin"        // a plugin does not start, or not in its sandbox
	Locked       Cause = "locked"        // a process holds the store and does not answer
	StoreIO      Cause = "store-io"      // the store or its folder can't be used as it is
	StoreFull    Cause = "store-full"    // the disk or the store is full
	StoreCorrupt Cause = "store-corrupt" // the store is damaged
	Machine      Cause = "machine"       // the clock or the system
)

// Finding is one thing that the doctor looked at.
type Finding struct {
	Check     string `json:"check"`             // what was looked at: store, plugin, connection
	Subject   string `json:"subject,omitempty"` // which one: the plugin's name
	Status    string `json:"status"`            // ok, warn, fail, skipped
	Detail    string `json:"detail"`
	diag.Hint        // that of Err where it is empty
	Fixed     bool   `json:"fixed,omitempty"` // it was mended
	CanFix    bool   `json:"can_fix,omitempty"`

	Cause Cause `json:"-"` // of a failure; "" = Err tells
	Err   error `json:"-"` // what was said where something was asked; nil = nothing
}

// Name is how a finding is called in a list: "plugin tasks".
func (f Finding) Name() string {
	if f.Subject == "" {
		return f.Check
	}
	return f.Check + " " + f.Subject
}

// Report is all that the doctor found.
type Report struct {
	Status string    `json:"status"` // the worst of the findings: ok, warn or fail
	Items  []Finding `json:"items"`
}

// FirstFailure is the first finding that has failed, which decides how a command
// ends; nil = none has.
func (r Report) FirstFailure() *Finding {
	for i, f := range r.Items {
		if f.Status == Fail {
			return &r.Items[i]
		}
	}
	return nil
}

func (e *examination) report() Report {
	report := Report{Status: OK, Items: e.findings}
	for _, f := range e.findings {
		if f.Status == Fail || f.Status == Warn && report.Status == OK {
			report.Status = f.Status
		}
	}
	return report
}

func (e *examination) add(f Finding) {
	f.Detail = strings.TrimSpace(f.Detail)
	e.findings = append(e.findings, f)
}

func (e *examination) ok(check, subject, format string, args ...any) {
	e.add(Finding{Check: check, Subject: subject, Status: OK, Detail: fmt.Sprintf(format, args...)})
}

func (e *examination) warn(check, subject, detail, hint string, commands ...diag.Command) {
	e.add(Finding{Check: check, Subject: subject, Status: Warn, Detail: detail, Hint: sayWith(hint, commands)})
}

// sayWith is a hint whose verbs are its commands, where it has some.
func sayWith(hint string, commands []diag.Command) diag.Hint {
	if len(commands) == 0 {
		return diag.Say(hint)
	}
	return diag.Hint{}.Then(hint, commands...)
}

func (e *examination) skip(check, subject, why string) {
	e.add(Finding{Check: check, Subject: subject, Status: Skipped, Detail: why})
}

func (e *examination) fail(check, subject string, cause Cause, detail, hint string, commands ...diag.Command) {
	e.add(Finding{Check: check, Subject: subject, Status: Fail, Cause: cause, Detail: detail, Hint: sayWith(hint, commands)})
}

// failWith is fail for an error, with the cause and the hint that it may carry.
func (e *examination) failWith(check, subject string, err error) {
	e.add(Finding{Check: check, Subject: subject, Status: Fail, Err: err, Detail: err.Error()})
}

// mend tries to mend what is wrong when that was asked for; else it says so.
func (e *examination) mend(f Finding, mend func() error) {
	f.CanFix = true
	if !e.Fix {
		if f.Hint.Text == "" {
			f.Hint = diag.Sayf("%s mends it", diag.Command{"doctor", "--fix"})
		} else {
			f.Hint = f.Hint.Then("; %s does it", diag.Command{"doctor", "--fix"})
		}
	} else if err := mend(); err != nil {
		f.Hint = diag.Sayf("it could not be mended: %v; %s", err, f.Hint.Text)
	} else {
		f.Status, f.Fixed, f.Hint = OK, true, diag.Hint{}
	}
	e.add(f)
}
