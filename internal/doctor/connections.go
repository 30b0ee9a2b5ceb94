package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
)

// servicePatience is how long a service may take to answer.
const servicePatience = 10 * time.Second

// checkConnections lets each connection make one harmless request.
func (e *examination) checkConnections(ctx context.Context, check string) {
	declared := e.project.ListConnections(ctx)
	switch {
	case e.Sandbox:
		e.skip("connections", "", "those of a sandbox work while it does")
		return
	case len(declared) == 0:
		e.skip("connections", "", "none is declared under `connections` of "+projectFileName)
		return
	}
	names := make([]string, len(declared))
	for i, connection := range declared {
		names[i] = connection.Name
	}
	bounded, cancel := context.WithTimeout(ctx, servicePatience)
	defer cancel()
	tests, err := e.tryConnections(bounded, names)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		e.failWith("connections", "", err)
		return
	}
	for _, test := range tests {
		failure := test.Error
		if failure == nil {
			account := ""
			if test.Account != "" {
				account = ", as " + test.Account
			}
			if test.NotTried {
				e.ok(check, test.Name, "%s: %s%s", test.Plugin, test.Opened(), account)
			} else {
				e.ok(check, test.Name, "%s answers in %d ms%s", test.Plugin, test.DurationMS, account)
			}
			continue
		}
		e.add(Finding{Check: check, Subject: test.Name, Status: Fail, Err: failure, Detail: string(failure.Kind) + ": " + failure.Message, Hint: failure.Hint})
	}
}

// tryConnections asks the owner of the store; where there is no store yet, an
// engine on a folder that is thrown away. One that does not answer in time has
// failed so.
func (e *examination) tryConnections(ctx context.Context, names []string) ([]connections.Test, error) {
	var tester Tester = e.store
	if e.store == nil {
		opened, remove, err := e.openAside(ctx)
		if err != nil {
			return nil, err
		}
		defer remove()
		tester = opened
	}
	tests := make([]connections.Test, len(names))
	Each(names, func(i int, name string) {
		test, err := tester.TestConnection(ctx, name)
		if err != nil {
			failure := &runs.Error{Kind: plan.KindInternal, Message: err.Error()}
			if ctx.Err() != nil {
				failure.Kind, failure.Message = plan.KindTimeout, fmt.Sprintf("no answer within %s", servicePatience)
			}
			test = connections.Test{Name: name, Error: failure}
		}
		tests[i] = test
	})
	return tests, nil
}

// openAside opens an engine of the project on a folder of its own.
func (e *examination) openAside(ctx context.Context) (*engine.Engine, func(), error) {
	folder, err := os.MkdirTemp("", "flowrun-doctor-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder to try connections: %w", err)
	}
	config := e.Config
	config.StateDir = folder
	project, err := engine.LoadProject(ctx, config)
	if err == nil {
		var opened *engine.Engine
		if opened, err = engine.Open(ctx, project); err == nil {
			return opened, func() {
				_ = opened.Close(context.Background())
				_ = os.RemoveAll(folder) // made above, nothing of the user's is in it
			}, nil
		}
		project.Close()
	}
	return nil, nil, errors.Join(err, os.RemoveAll(folder))
}

// checkTriggers looks whether somebody acts on the schedules.
func (e *examination) checkTriggers(ctx context.Context, check string) {
	page, err := e.store.Schedules(ctx)
	if err != nil {
		e.skip(check, "", err.Error())
		return
	}
	paused := slices.DeleteFunc(slices.Clone(page.Items), func(s trigger.ScheduleItem) bool { return !s.Paused })
	serving := e.owner != nil && e.owner.Serve
	switch {
	case len(page.Items) == 0:
		return
	case !serving:
		e.warn(check, "", diag.Count(len(page.Items), "schedule")+", and no process acts on them", "start %s", diag.Command{"serve"})
	default:
		e.ok(check, "", "%s, the server acts on them", diag.Count(len(page.Items), "schedule"))
	}
	for _, schedule := range paused {
		detail := "it was paused by " + cmp.Or(schedule.PausedBy, "flowrun")
		if schedule.PausedReason != "" {
			detail += ": " + schedule.PausedReason
		}
		e.add(Finding{Check: "schedule", Subject: schedule.ID, Status: Warn, Detail: detail, Hint: diag.Sayf("%s", diag.Command{"schedules", "resume", schedule.ID})})
	}
}
