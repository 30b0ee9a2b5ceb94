package cli

import (
	"context"
	"errors"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// act asks the owner of the store, which this process is where there is none, and
// gives the store back. The question may be put twice.
func act[T any](ctx context.Context, a *app, question func(*web.Client) (T, error)) (answer T, err error) {
	session, err := a.connect(ctx, roleLook)
	if err != nil {
		return answer, err
	}
	answer, err = tryAnyway(ctx, session, question)
	return answer, errors.Join(err, session.close(nil))
}

// ask is act for what only looks: where there is no store it asks nobody, makes
// none, and returns errNoStore.
func ask[T any](ctx context.Context, a *app, question func(*web.Client) (T, error)) (answer T, err error) {
	if err := a.needStore(ctx); err != nil {
		return answer, err
	}
	return act(ctx, a, question)
}

// askOr is ask for what the project's files tell where there is no store.
func askOr[T any](ctx context.Context, a *app, question func(*web.Client) (T, error), offline func(*workspace.Workspace) (T, error)) (T, error) {
	answer, err := ask(ctx, a, question)
	if errors.Is(err, errNoStore) {
		return inProject(ctx, a, offline)
	}
	return answer, err
}

// inProject reads something of the project, for which no store is needed.
func inProject[T any](ctx context.Context, a *app, read func(*workspace.Workspace) (T, error)) (answer T, err error) {
	project, err := a.loadProject(ctx)
	if err != nil {
		return answer, err
	}
	defer project.Close()
	return read(project)
}

// visit is ask for what has no answer of its own.
func (a *app) visit(ctx context.Context, question func(*web.Client) error) error {
	_, err := ask(ctx, a, func(c *web.Client) (any, error) { return nil, question(c) })
	return err
}

// askRun is ask for what is asked of one run, which it finds first.
func askRun[T any](ctx context.Context, a *app, run *runRef, question func(*web.Client) (T, error)) (answer T, err error) {
	if err := a.pick(ctx, run); err != nil {
		return answer, err
	}
	answer, err = ask(ctx, a, func(c *web.Client) (answer T, err error) {
		if err := a.findRun(ctx, c, run); err != nil {
			return answer, err
		}
		return question(c)
	})
	return answer, a.noRunYet(run, err)
}

// visitRun is visit for what is asked of one run.
func (a *app) visitRun(ctx context.Context, run *runRef, question func(*web.Client) error) error {
	_, err := askRun(ctx, a, run, func(c *web.Client) (any, error) { return nil, question(c) })
	return err
}

// allowNoStore is err, unless it says that there is no store: a list is empty then.
func allowNoStore(err error) error {
	if errors.Is(err, errNoStore) {
		return nil
	}
	return err
}

// notYet is the refusal where there is no store to look into: what says what is
// not there.
func (a *app) notYet(err error, what string) error {
	if !errors.Is(err, errNoStore) {
		return err
	}
	return notFoundError(errors.New(what), "`"+a.commandText("config", "paths")+"` shows where it is looked for")
}

// unknownAsNotFound gives the errors of a project without a store the exit codes that
// the API's have.
func unknownAsNotFound(err error) error {
	if unknown, ok := errors.AsType[*fault.UnknownError](err); ok {
		return notFoundError(unknown, unknown.Hint.Text)
	}
	return err
}

// inputAsUsage makes a usage error of an input that the owner refused.
func inputAsUsage(err error) error {
	if problem, ok := errors.AsType[*web.Problem](err); ok && problem.Code == wire.CodeInvalidInput {
		return usageError(errors.New(problem.Detail), problem.Hint.Text)
	}
	return err
}
