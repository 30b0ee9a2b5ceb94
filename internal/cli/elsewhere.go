package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/web"
)

// elsewhere looks for a run that is not in the store of this command in the other one
// of the project: the sandbox's, or the real one. Where it lies there, the error names
// that store and the command, word for word.
func (a *app) elsewhere(ctx context.Context, args []string, err error) error {
	if err == nil || exitCode(err) != exitNotFound || a.isRemote() {
		return err
	}
	id := lostRun(args, err)
	at, located := a.locate()
	if coded, ok := errors.AsType[*codedError](err); ok && located == nil && len(coded.looked) > 0 {
		return a.namedElsewhere(ctx, at, args, coded)
	}
	if id == "" || located != nil {
		return err
	}
	other := filepath.Join(at.realState, sandboxFolder)
	text, words := "there is no run %q here: it is one of the sandbox", append(slices.Clone(args), "--sandbox")
	if a.sandbox {
		other = at.realState
		text, words = "there is no run %q in the sandbox: it is one of the project's real store", withoutSandbox(args)
	}
	if !a.holds(ctx, at, other, id) {
		return err
	}
	for i, word := range words {
		words[i] = diag.ShellWord(word)
	}
	return notFoundError(fmt.Errorf(text, id), "`flowrun "+strings.Join(words, " ")+"`")
}

// namedElsewhere is elsewhere for a run that was named without its id.
func (a *app) namedElsewhere(ctx context.Context, at place, args []string, err *codedError) error {
	where, words := "the sandbox has such a run", append(slices.Clone(args), "--sandbox")
	other := at
	other.stateDir = filepath.Join(at.realState, sandboxFolder)
	if a.sandbox {
		where, words, other.stateDir = "the project's real store has such a run", withoutSandbox(args), at.realState
	}
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	looker, end := a.lookAtRuns(ctx, other)
	defer end()
	for _, filter := range err.looked {
		if filter.Limit = 1; len(looker.list(filter)) > 0 {
			return notFoundError(fmt.Errorf("%w; %s", err.err, where), "`flowrun "+strings.Join(texts(words, diag.ShellWord), " ")+"`")
		}
	}
	return err
}

// lostRun is the run that is not there: the one that the error is of, else the one
// that the arguments name; "" = none.
func lostRun(args []string, err error) string {
	if coded, ok := errors.AsType[*codedError](err); ok && coded.run != "" {
		return coded.run
	}
	if place := slices.IndexFunc(args, web.ValidRunID); place >= 0 {
		return args[place]
	}
	return ""
}

// holds asks the owner of a store for a run, or the store itself where nobody owns it.
func (a *app) holds(ctx context.Context, at place, stateDir, id string) bool {
	client, _, err := web.Dial(ctx, stateDir)
	var gone *web.GoneError
	switch {
	case err == nil:
		defer client.Close()
		_, err = client.ResultInShort(ctx, id)
		return err == nil
	case errors.As(err, &gone):
		return engine.HasRun(a.engineConfig(at), stateDir, id)
	}
	return false
}

// withoutSandbox takes the flags of a sandbox out of a command.
func withoutSandbox(args []string) []string {
	var words []string
	for i := 0; i < len(args); i++ {
		name, _, valued := strings.Cut(args[i], "=")
		switch name {
		case "--sandbox":
		case "--live", "--mocks", "--approve-after":
			if !valued {
				i++
			}
		default:
			words = append(words, args[i])
		}
	}
	return words
}
