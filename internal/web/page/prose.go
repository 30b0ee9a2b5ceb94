package page

import (
	"encoding/json"
	"html/template"
	"net/http"

	"github.com/flowrun/flowrun/engine/runs"
)

// prose is a text for people, with its Markdown rendered where it has some.
type prose struct {
	HTML template.HTML // "" = it has no Markdown
	Raw  string
	Cut  bool
	Save string // where all of it is
}

// Levels of the first heading of a rendered text, by where it stands.
const (
	belowTitle   = 2
	belowSection = 3
	belowValue   = 4
)

// message is what a step says to the person who it waits for.
func (s *site) message(run string, step runs.Step) prose {
	p := prose{Save: stepURL(run, step.Path) + "/message"}
	p.Raw, p.Cut = cutText(step.Message, roomOfValue)
	p.HTML, _ = s.markdown.Render(p.Raw, belowSection)
	return p
}

// enrich renders a text of which its author says that it is Markdown.
func (s *site) enrich(v *value, raw json.RawMessage, r *room) {
	var text string
	if v.Text != "" {
		text = v.Text
	} else if v.Cut || json.Unmarshal(raw, &text) != nil {
		return
	}
	rich, has := s.markdown.Render(text, belowValue)
	if !has {
		return
	}
	v.Rich, v.Text, v.Short = rich, text, false
	r.left -= len(rich)
}

// rich is a description: rendered where it has Markdown, else as it is. It stands in
// one block of a class.
func (s *site) rich(text, class string, first int) template.HTML {
	if html, has := s.markdown.Render(text, first); has {
		return `<div class="` + template.HTML(template.HTMLEscapeString(class)) + ` md">` + html + `</div>` //nolint:gosec // escaped, and rendered by markdown
	}
	return template.HTML(`<p class="` + template.HTMLEscapeString(class) + `">` + escapeText(text) + `</p>`) //nolint:gosec // escaped
}

// richText is rich without a block around it, for the cell of a table.
func (s *site) richText(text string) template.HTML {
	if html, has := s.markdown.Render(text, belowSection); has {
		return `<div class="md">` + html + `</div>`
	}
	return template.HTML(escapeText(text)) //nolint:gosec // escaped
}

// messageFile is the message of a step as a file.
func messageFile(r *http.Request, result *runs.Result) (*attachment, error) {
	step, ok := result.Steps[r.PathValue("step")]
	if !ok || step.Message == "" {
		return nil, notFound("message of step", r.PathValue("step"))
	}
	return &attachment{step.Path + ".txt", []byte(step.Message)}, nil
}
