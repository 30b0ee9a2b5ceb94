package web

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Problem is an error answer, and the error that the client returns for it.
type Problem = wire.Problem

// problemOf turns an error of the engine into its answer.
func problemOf(err error) *Problem {
	var (
		problem  *Problem
		conflict *fault.ConflictError
		input    *fault.InputError
		store    *fault.StoreError
		unknown  *fault.UnknownError
		plugin   *engine.PluginChangedError
		busy     *fault.BusyError
		query    *runquery.QueryError
		filter   *runquery.FilterError
		list     diag.List
		reused   *engine.ReusedKeyError
	)
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.Is(err, engine.ErrClosing):
		return wire.NewProblem(wire.CodeClosing, closingText)
	case errors.Is(err, fault.ErrRunNotFound), errors.Is(err, workspace.ErrUnknownPlugin):
		return wire.NewProblem(wire.CodeNotFound, err.Error())
	case errors.As(err, &unknown):
		return wire.NewProblem(wire.CodeNotFound, unknown.Error()).With(unknown.Hint)
	case errors.As(err, &conflict):
		return wire.NewProblem(wire.CodeConflict, conflict.Message).With(conflict.Hint)
	case errors.As(err, &plugin):
		return wire.NewProblem(wire.CodePlugin, plugin.Message).With(plugin.Hint)
	case errors.As(err, &input):
		return inputProblem(input)
	case errors.As(err, &reused):
		return wire.NewProblem(wire.CodeReusedKey, reused.Error()).With(diag.Say("another request needs another key; the same one again is answered with its run"))
	case errors.As(err, &query):
		answer := wire.NewProblem(wire.CodeBadRequest, query.Error()).With(query.Hint())
		answer.Problems = query.Problems
		return answer
	case errors.As(err, &filter):
		shown := *filter
		shown.Text = shorten(filter.Text)
		answer := wire.NewProblem(wire.CodeBadRequest, shown.Error()).With(filter.Hint)
		answer.Input = filter.Part
		return answer
	case errors.As(err, &list):
		return invalidWorkflow(list)
	case errors.As(err, &busy):
		return wire.NewProblem(wire.CodeTooMany, busy.Error())
	case errors.As(err, &store):
		return wire.NewProblem(cmp.Or(storeCodes[store.Fault], wire.CodeStoreIO), store.Error()).With(store.Hint)
	}
	return wire.NewProblem(wire.CodeInternal, err.Error())
}

// ofRun is the error of a request about one run, which it names; nil where err is.
func ofRun(id string, err error) error {
	if !errors.Is(err, fault.ErrRunNotFound) {
		return err
	}
	answer := noRun(id)
	var gone *upkeep.RunNotFoundError
	if errors.As(err, &gone) {
		answer.Hint = gone.Hint
	}
	return answer
}

func noRun(id string) *Problem {
	return wire.NewProblem(wire.CodeNotFound, fmt.Sprintf("there is no run %q", id))
}

// storeCodes are those of a store's failures that are none of input and output.
var storeCodes = map[fault.StoreFault]wire.Code{
	fault.StoreFull: wire.CodeStoreFull, fault.StoreCorrupt: wire.CodeStoreCorrupt, fault.StoreNewer: wire.CodeStoreNewer,
}

func invalidWorkflow(list diag.List) *Problem {
	answer := wire.NewProblem(wire.CodeInvalidWorkflow, "the workflow has problems")
	answer.Problems = list
	return answer
}

// inputProblem tells all that is wrong with inputs. Detail, Input and Hint are those
// of the first, and of the others as far as they are few.
func inputProblem(wrong *fault.InputError) *Problem {
	answer := wire.NewProblem(wire.CodeInvalidInput, wrong.Error()).With(wrong.Hint)
	answer.Input = wrong.Input
	for _, one := range wrong.All() {
		answer.Faults = append(answer.Faults, wire.InputFault{Input: one.Input, Pointer: one.Pointer, Detail: one.Message, Hint: one.Hint})
	}
	return answer
}

// placed is what err says, with the faults of inputs pointed into the body of the
// request.
func placed(err error, values string, texts map[string]string, textsName string) *Problem {
	problem := problemOf(err)
	if problem.Code == wire.CodeInvalidInput {
		problem.Place(values, texts, textsName)
	}
	return problem
}
