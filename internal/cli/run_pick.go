package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// mostChoices is how many runs a person chooses from.
const mostChoices = 1000

// pick lets a person choose the run where the command line names none. It holds no store
// meanwhile. Without a terminal findRun takes the newest.
func (a *app) pick(ctx context.Context, run *runRef) error {
	if run.named() != "" || run.workflow != "" || !a.hasLiveErr() || !term.IsTerminalInput(a.sys.Stdin) {
		return nil
	}
	found, err := ask(ctx, a, func(c *web.Client) ([]runs.Run, error) { return newest(ctx, c, mostChoices, run.fit.filters...) })
	switch {
	case err != nil:
		return a.noRunYet(run, err)
	case len(found) < 2:
		return nil
	}
	chosen, err := a.choose(strings.TrimSpace("run "+run.fit.of), found)
	if chosen != nil {
		run.id = chosen.ID
	}
	return err
}

// choose shows the chooser until a person has chosen. One who leaves ends the command.
func (a *app) choose(title string, found []runs.Run) (chosen *runs.Run, err error) {
	signals, stop := a.signals()
	defer stop()
	keys, restore, ok := term.Typing(a.sys.Stdin)
	if !ok {
		return nil, nil
	}
	chooser := view.NewChooser(a.sys.Stderr, func() (int, int) { return term.Size(a.sys.Stderr) }, a.style, title, found, a.sys.Now())
	defer func() {
		chooser.Close()
		err = errors.Join(err, restore())
	}()
	for {
		chooser.Draw()
		select {
		case key := <-keys:
			if chosen, over := chooser.Press(key); over && chosen != nil {
				return chosen, nil
			} else if over {
				return nil, &codedError{code: exitInterrupted, err: errors.New("no run was chosen")}
			}
		case signal := <-signals:
			return nil, &codedError{code: exitOfSignal(signal), err: errSilent, silent: true}
		}
	}
}
