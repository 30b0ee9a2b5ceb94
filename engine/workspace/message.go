package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/notify"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// messageTemplate is what a notify target sends in the words of its service, made ready.
type messageTemplate struct {
	message check.Message
	code    *interp.TriggerCode
}

// readMessages checks the bodies and headers of the notify targets.
func (p *Workspace) readMessages() error {
	var problems diag.List
	for i := range p.file.Notify {
		target := &p.file.Notify[i]
		if target.Request.Body == nil && len(target.Request.Headers) == 0 {
			continue
		}
		message, found := check.NotifyMessage(p.file.File, target.Request.Body, target.Request.Headers)
		problems = append(problems, found...)
		if found.HasErrors() {
			continue
		}
		values := []plan.Value{message.Body}
		for _, header := range message.Headers {
			values = append(values, header.Value)
		}
		code, err := interp.CompileValues(p.file.File, eval.NewCache(), values...)
		if err != nil {
			return err
		}
		if p.messages == nil {
			p.messages = map[string]messageTemplate{}
		}
		p.messages[target.Name] = messageTemplate{message: message, code: code}
	}
	problems.Sort()
	return problems.Err()
}

// Tell sends a message to a notify target within ctx, in the words of its service. key is
// the idempotency key: the same for every attempt. The message's text must be masked
// already; nothing of a secret stands in the error.
func (p *Workspace) Tell(ctx context.Context, name string, message notify.Message, key string) *runs.Error {
	if public := p.file.Server.PublicURL; public != "" && message.Run != "" {
		message.Link = public + "/runs/" + message.Run
	}
	target, err := p.notifyTarget(ctx, name)
	if err != nil {
		return &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: err.Error()}
	}
	declared, _ := p.file.NotifyTarget(name)
	if len(target.Command) == 0 {
		var failed *runs.Error
		if target.Request, failed = p.notifyRequest(ctx, declared, message); failed != nil {
			failed.Message = "the message for " + name + ": " + failed.Message
			return failed
		}
	}
	return p.sender().Send(ctx, target, message, key)
}

// notifyRequest makes the request of a target; nil where it takes the message as it is.
func (p *Workspace) notifyRequest(ctx context.Context, declared *project.Notify, message notify.Message) (*notify.Request, *runs.Error) {
	own := declared.Request
	template, ok := p.messages[declared.Name]
	if !ok && own.Method == "" && own.ContentType == "" {
		return nil, nil
	}
	request := &notify.Request{Method: cmp.Or(own.Method, http.MethodPost), Header: http.Header{}}
	roots := map[string]any{"message": messageValue(message)}
	for _, header := range template.message.Headers {
		text, failed := p.messageText(ctx, declared.Name, template, header.Value, roots, message)
		if failed != nil {
			return nil, failed
		}
		request.Header.Set(header.Name, oneLine(text))
	}
	var failed *runs.Error
	contentType := "application/json"
	switch body := template.message.Body; {
	case body.IsZero():
		encoded, err := json.Marshal(message)
		if err != nil {
			return nil, &runs.Error{Kind: plan.KindInternal, Applied: runs.NotApplied, Message: err.Error()}
		}
		request.Body = encoded
	case template.message.IsText:
		contentType = "text/plain; charset=utf-8"
		var text string
		text, failed = p.messageText(ctx, declared.Name, template, body, roots, message)
		request.Body = []byte(text)
	default:
		request.Body, failed = p.messageJSON(ctx, declared.Name, template, roots, message)
	}
	request.Header.Set("Content-Type", cmp.Or(own.ContentType, contentType))
	return request, failed
}

// messageValue is the root `message`. What a message does not have is null.
func messageValue(message notify.Message) map[string]any {
	orNull := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	return map[string]any{
		"text": message.Text, "to": message.To, "event": cmp.Or(message.Event, check.MessageEvents()[0]), "workflow": message.Workflow,
		"run": orNull(message.Run), "step": orNull(message.Step), "at": schema.FixZone(message.At), "link": orNull(message.Link),
	}
}

// messageText evaluates a value that becomes text.
func (p *Workspace) messageText(ctx context.Context, target string, template messageTemplate, v plan.Value, roots map[string]any, message notify.Message) (string, *runs.Error) {
	value, failed := template.code.Value(v, schema.Of(schema.String), roots, message.At)
	if failed != nil {
		return "", failed
	}
	if schema.IsSecretRef(value) {
		revealed, failed := p.revealed(ctx, target, value)
		text, _ := revealed.(string)
		return text, failed
	}
	text, err := eval.Text(value)
	if err != nil {
		return "", &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: err.Error()}
	}
	return text, nil
}

// messageJSON evaluates a body that is a list or an object.
func (p *Workspace) messageJSON(ctx context.Context, target string, template messageTemplate, roots map[string]any, message notify.Message) ([]byte, *runs.Error) {
	value, failed := template.code.Value(template.message.Body, nil, roots, message.At)
	if failed == nil {
		value, failed = p.revealed(ctx, target, value)
	}
	if failed != nil {
		return nil, failed
	}
	encoded, err := schema.Encode(value)
	if err != nil {
		return nil, &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: err.Error()}
	}
	return encoded, nil
}

// revealed puts the secrets of a target into a value: what is a reference anywhere in it
// was written in the project file, since a message holds texts alone.
func (p *Workspace) revealed(ctx context.Context, target string, value any) (any, *runs.Error) {
	if name, is := schema.SecretName(value); is {
		text, err := p.secretsOf(LiveNotify+target).Reveal(ctx, name)
		if err != nil {
			return nil, &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: fmt.Sprintf("secret %s: %v", name, err)}
		}
		return text, nil
	}
	var failed *runs.Error
	switch value := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(value))
		for name, part := range value {
			if object[name], failed = p.revealed(ctx, target, part); failed != nil {
				return nil, failed
			}
		}
		return object, nil
	case []any:
		list := make([]any, len(value))
		for i, part := range value {
			if list[i], failed = p.revealed(ctx, target, part); failed != nil {
				return nil, failed
			}
		}
		return list, nil
	}
	return value, nil
}

// oneLine is a text as a header can hold it: line breaks and other control characters
// become spaces.
func oneLine(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
}
