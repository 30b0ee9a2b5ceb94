package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func TestExitCodesByCause(t *testing.T) {
	cases := map[string]struct {
		err  error
		want int
	}{
		"nothing is wrong":                  {nil, 0},
		"an unforeseen error":               {errors.New("x"), 1},
		"a missing input":                   {&web.Problem{Code: wire.CodeInvalidInput}, 2},
		"an invalid workflow":               {&web.Problem{Code: wire.CodeInvalidWorkflow}, 3},
		"an invalid project file":           {fmt.Errorf("load: %w", diag.List{{}}), 3},
		"an unknown run of the owner":       {&web.Problem{Code: wire.CodeNotFound}, 9},
		"an unknown plugin":                 {workspace.ErrUnknownPlugin, 9},
		"a conflict":                        {&web.Problem{Code: wire.CodeConflict}, 10},
		"no owner":                          {&web.GoneError{}, 12},
		"a locked store":                    {&fault.LockedError{Path: "p"}, 73},
		"a store that can't be read":        {&fault.StoreError{Fault: fault.StoreIO}, 74},
		"a full disk":                       {&fault.StoreError{Fault: fault.StoreFull}, 75},
		"a damaged store":                   {&fault.StoreError{Fault: fault.StoreCorrupt}, 76},
		"a store of a newer flowrun":        {&fault.StoreError{Fault: fault.StoreNewer}, 77},
		"the owner's store is full":         {&web.Problem{Code: wire.CodeStoreFull}, 75},
		"the command's own code":            {exitWith(8), 8},
		"a joined error with its own code":  {errors.Join(errors.New("x"), exitWith(6)), 6},
		"a command whose context was ended": {context.Canceled, 130},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := exitCode(c.err); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}

func TestExitCodesOfRuns(t *testing.T) {
	cases := map[string]struct {
		run  runs.Run
		want int
	}{
		"succeeded":          {runs.Run{Status: runs.RunSucceeded}, 0},
		"failed":             {runs.Run{Status: runs.RunFailed}, 5},
		"canceled":           {runs.Run{Status: runs.RunCanceled}, 6},
		"timed out":          {runs.Run{Status: runs.RunTimedOut}, 7},
		"paused":             {runs.Run{Status: runs.RunPaused, Paused: runs.PausedUnknownOutcome}, 8},
		"paused for a login": {runs.Run{Status: runs.RunPaused, Paused: runs.PausedAuthRequired}, 4},
		"waits for a person": {runs.Run{Status: runs.RunWaiting}, 8},
		"nobody drives it":   {runs.Run{Status: runs.RunRunning}, 8},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := exitOfRun(c.run); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}

func TestExitCodesOfCalls(t *testing.T) {
	cases := map[string]struct {
		err  *runs.Error
		want int
	}{
		"it succeeded":              {nil, 0},
		"refused before sending":    {&runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied}, 3},
		"refused by the service":    {&runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, HTTPStatus: 400}, 5},
		"a login is needed":         {&runs.Error{Kind: plan.KindAuthRequired}, 4},
		"the service is not there":  {&runs.Error{Kind: plan.KindUnavailable}, 5},
		"the service has no record": {&runs.Error{Kind: plan.KindNotFound, HTTPStatus: 404}, 5},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := exitOfCall(c.err); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}
