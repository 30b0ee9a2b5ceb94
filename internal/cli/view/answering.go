package view

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Question is a step of a run that waits for a person's yes or no.
type Question struct {
	Run  string
	Step runs.Step
}

// Answer is what a person said to a question in a live view.
type Answer struct {
	Question
	Approved bool
	Form     map[string]workspace.Input
	Comment  string
}

// Pressed is what follows from a key: an answer, a form that is to be edited, or nothing.
type Pressed struct {
	Answer *Answer
	Edit   string // the form as YAML, "" for none
}

// answering is how far a person is with the question at hand.
type answering struct {
	command func(args ...string) string // as a flowrun command is typed
	here    bool                        // somebody may answer in this terminal

	at      string                     // the question's key
	drawn   string                     // the key of the one that stands on the screen
	filling *Filling                   // while fields are asked for
	filled  map[string]workspace.Input // by the editor; nil = not yet
	text    string                     // that the editor left
	comment *string                    // while it is typed why not
	wrong   string
	sent    bool // the answer is on its way
}

// AnswerHere lets a person answer questions in the view, where here is true, and else shows
// how they are answered elsewhere: by what command makes of a command of flowrun.
func (l *Live) AnswerHere(here bool, command func(args ...string) string) {
	l.answers.here, l.answers.command = here, command
}

// Asks reports whether keys mean something.
func (l *Live) Asks() bool { return l.answers.here && len(l.model.questions()) > 0 }

// Sub tells what the run of a sub-workflow's step asks.
func (l *Live) Sub(path string, questions []Question) { l.model.subs[path] = questions }

func (q Question) key() string { return q.Run + " " + q.Step.Path }

// questions are the steps that wait for a yes or no, in the order of the rows.
func (m *model) questions() (all []Question) {
	add := func(step runs.Step) {
		switch {
		case step.Needs() != runs.NeedApprove || step.Decision != nil:
		case step.Run != "":
			all = append(all, m.subs[step.Path]...)
		default:
			all = append(all, Question{m.run.ID, step})
		}
	}
	for _, r := range m.rows {
		add(r.step)
		for _, path := range slices.Sorted(maps.Keys(r.active)) {
			add(r.active[path])
		}
	}
	return all
}

// question is the one at hand. Where the one before is gone, all that was typed for it is too.
func (l *Live) question() (q Question, place, of int) {
	all := l.model.questions()
	if len(all) == 0 {
		l.turnTo("")
		return q, 0, 0
	}
	place = slices.IndexFunc(all, func(q Question) bool { return q.key() == l.answers.at })
	if place < 0 {
		place = 0
		l.turnTo(all[0].key())
	}
	return all[place], place, len(all)
}

func (l *Live) turnTo(key string) {
	l.answers = answering{command: l.answers.command, here: l.answers.here, drawn: l.answers.drawn, at: key}
}

// Press takes a key.
func (l *Live) Press(key term.Key) Pressed {
	q, place, of := l.question()
	a := &l.answers
	switch {
	case of == 0 || a.sent || a.drawn != q.key(): // nobody answers what does not stand there yet
	case a.filling != nil:
		switch done, left := a.filling.Press(key); {
		case left:
			a.filling = nil
		case done:
			return l.answer(Answer{Question: q, Approved: true, Form: a.filling.Given()})
		}
	case a.comment != nil:
		return l.pressComment(q, key)
	case key == term.KeyUp || key == term.KeyDown:
		next := (place + 1) % of
		if key == term.KeyUp {
			next = (place + of - 1) % of
		}
		l.turnTo(l.model.questions()[next].key())
	default:
		return l.pressAsked(q, strings.ToLower(string(key)))
	}
	return Pressed{}
}

// pressAsked takes the key that says what is done with a question.
func (l *Live) pressAsked(q Question, key string) Pressed {
	a := &l.answers
	switch key {
	case "y":
		fields := fieldsOf(q.Step)
		if a.filled != nil || len(fields) == 0 {
			return l.answer(Answer{Question: q, Approved: true, Form: a.filled})
		}
		a.filling, a.wrong = NewFilling(q.Step.Form, "approves", fields), ""
	case "n":
		a.comment, a.wrong = new(string), ""
	case "e":
		if len(fieldsOf(q.Step)) > 0 {
			if a.text == "" {
				a.text = formYAML(q.Step)
			}
			return Pressed{Edit: a.text}
		}
	}
	return Pressed{}
}

// pressComment takes a key while it is typed why not.
func (l *Live) pressComment(q Question, key term.Key) Pressed {
	a := &l.answers
	switch key {
	case term.KeyEnter:
		return l.answer(Answer{Question: q, Comment: strings.TrimSpace(*a.comment)})
	case term.KeyEscape:
		a.comment = nil
	default:
		*a.comment = typedWith(*a.comment, key)
	}
	return Pressed{}
}

// typedWith is a line that is typed, after one more key.
func typedWith(line string, key term.Key) string {
	switch key {
	case term.KeyClear:
		return ""
	case term.KeyBackspace:
		letters := []rune(line)
		return string(letters[:max(len(letters)-1, 0)])
	}
	if letter, ok := key.Letter(); ok {
		return line + letter
	}
	return line
}

func (l *Live) answer(answer Answer) Pressed {
	l.answers.sent = true
	return Pressed{Answer: &answer}
}

// Refused shows why an answer that was sent does not count. Where the question is still there,
// it is asked again.
func (l *Live) Refused(answer Answer, why error) {
	if q, _, of := l.question(); of == 0 || q.key() != answer.key() {
		l.Note("not answered: " + term.Clean(why.Error()))
		return
	}
	l.turnTo(answer.key())
	l.answers.wrong = why.Error()
}

// Edited takes the form as the editor has left it. It counts as soon as the person says y.
func (l *Live) Edited(text string, err error) {
	q, _, of := l.question()
	if of == 0 {
		return
	}
	a := &l.answers
	a.text, a.wrong, a.filled = text, "", nil
	if err == nil && strings.TrimSpace(text) == "" {
		err = errors.New("the form is empty: nothing was taken from it")
		a.text = ""
	}
	var filled map[string]workspace.Input
	if err == nil {
		filled, err = readForm(q.Step, text)
	}
	if err != nil {
		a.wrong = err.Error()
		return
	}
	a.filled = filled
}

// Hide takes the view from the screen, so that another program may use it.
func (l *Live) Hide() { l.draw(nil) }
