package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// answers lets the person before a live view answer what the run asks. Keys are read while
// something is asked, and at no other time: what is typed else is for the shell.
type answers struct {
	live    *view.Live // nil = nobody answers here
	keys    <-chan term.Key
	restore func() error
	editing bool
	sending bool
	edited  chan func() // shows what the editor has left
	decided chan func() // shows what became of an answer
	subs    chan func() // shows what runs of sub-workflows ask
	asked   map[string]bool
	ticks   int
}

// subTicks is after how many ticks runs of sub-workflows are asked again: the run that is
// followed hears of its sub-workflow's first question, not of the next one.
const subTicks = 10

// newAnswers are those of a view; not every view has somebody before it.
func (a *app) newAnswers(shown view.Follower) answers {
	live, ok := shown.(*view.Live)
	if !ok {
		return answers{}
	}
	live.AnswerHere(a.asksPeople(), a.commandText)
	return answers{live: live, edited: make(chan func(), 1), decided: make(chan func(), 1), subs: make(chan func(), 1), asked: map[string]bool{}}
}

// tick draws the view; before that the keys are there that it names.
func (f *follower) tick() {
	p := &f.answers
	if p.editing {
		return
	}
	if p.live != nil {
		switch asks := p.live.Asks(); {
		case asks && p.keys == nil:
			if keys, restore, ok := term.TypingAnew(f.app.sys.Stdin); ok {
				p.keys, p.restore = keys, restore
			}
		case !asks:
			f.giveBack()
		}
	}
	f.view.Tick(f.app.sys.Now())
}

// settle waits for an editor that is open, and for the answer that was sent.
func (f *follower) settle() {
	if f.answers.editing {
		(<-f.answers.edited)()
	}
	if f.answers.sending {
		(<-f.answers.decided)()
	}
	f.tick()
}

// giveBack gives the terminal back.
func (f *follower) giveBack() {
	if p := &f.answers; p.keys != nil {
		if err := p.restore(); err != nil {
			f.app.note("%v", err)
		}
		p.keys, p.restore = nil, nil
	}
}

// pressed does what a key means.
func (f *follower) pressed(ctx context.Context, key term.Key) {
	p := &f.answers
	switch meant := p.live.Press(key); {
	case meant.Answer != nil:
		p.sending = true
		go f.decide(ctx, f.session.client, *meant.Answer)
	case meant.Edit != "":
		f.giveBack()
		p.live.Hide()
		p.editing = true
		go f.edit(ctx, meant.Edit)
	}
	f.tick()
}

// decide sends an answer as `runs approve` and `runs reject` do.
func (f *follower) decide(ctx context.Context, c *web.Client, answer view.Answer) {
	act := engine.ActApprove
	if !answer.Approved {
		act = engine.ActReject
	}
	request := engine.DecideRequest{Form: answer.Form, Comment: answer.Comment, By: f.app.user()}
	result, err := c.Decide(ctx, answer.Run, answer.Step.Path, act, request)
	f.answers.decided <- func() {
		f.answers.sending = false
		if err != nil {
			f.answers.live.Refused(answer, inputAsUsage(err))
		} else if answer.Run != f.id { // of the run itself its feed tells
			f.view.Note(decidedText(map[bool]string{true: "approved", false: "rejected"}[answer.Approved], result.Step, ""))
		}
	}
}

// noteDecision tells of an answer to a step that waited for one, before what follows from it.
func (f *follower) noteDecision(before, step runs.Step) {
	if f.answers.live == nil || step.Decision == nil || before.Needs() != runs.NeedApprove || before.Decision != nil {
		return
	}
	by := step.Decision.By
	if by == f.app.user() {
		by = ""
	}
	f.view.Note(decidedText(step.Answer(), step.Path, by))
}

func decidedText(what, path, by string) string {
	text := what + " " + term.Clean(path)
	if by != "" {
		text += " by " + term.Clean(by)
	}
	return text
}

// edit opens a form in the person's editor.
func (f *follower) edit(ctx context.Context, form string) {
	text, err := f.app.edited(ctx, form)
	f.answers.edited <- func() {
		f.answers.editing = false
		f.answers.live.Edited(text, err)
	}
}

// edited is a text after the person has edited it. The file with it is the person's alone.
func (a *app) edited(ctx context.Context, text string) (_ string, err error) {
	file, err := os.CreateTemp("", "flowrun-*.yaml")
	if err != nil {
		return text, fmt.Errorf("make a file for the editor: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return text, fmt.Errorf("make a file for the editor: %w", err)
	}
	if err := a.openEditor(ctx, file.Name(), a.sys.Stderr); err != nil {
		return text, err
	}
	left, err := a.readWhole(file.Name(), "form", maxInputFile, func(err error) error { return fmt.Errorf("read the form: %w", err) })
	return string(left), err
}

// askSub finds out what the run of a sub-workflow's step asks.
func (f *follower) askSub(ctx context.Context, step runs.Step) {
	p := &f.answers
	if p.live == nil || step.Run == "" || step.Needs() != runs.NeedApprove || p.asked[step.Path] {
		return
	}
	p.asked[step.Path] = true
	c := f.session.client
	go func() {
		questions, err := questionsOf(ctx, c, step.Run)
		show := func() {
			delete(p.asked, step.Path)
			if err == nil { // else the row says that its run waits
				p.live.Sub(step.Path, questions)
			}
		}
		select {
		case p.subs <- show:
		case <-ctx.Done():
		}
	}()
}

// askSubs asks the runs of all sub-workflows that wait, now and then.
func (f *follower) askSubs(ctx context.Context) {
	if f.answers.ticks++; f.answers.ticks%subTicks != 0 {
		return
	}
	for _, step := range f.steps {
		f.askSub(ctx, step)
	}
}

// questionsOf are those of a run, and of the runs of its sub-workflows.
func questionsOf(ctx context.Context, c *web.Client, id string) (all []view.Question, err error) {
	steps, err := c.StepsInShort(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		switch {
		case step.Needs() != runs.NeedApprove || step.Decision != nil:
		case step.Run == "":
			all = append(all, view.Question{Run: id, Step: step})
		default:
			inner, err := questionsOf(ctx, c, step.Run)
			if err != nil {
				return nil, err
			}
			all = append(all, inner...)
		}
	}
	return all, nil
}
