package check

import (
	"context"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// messageRoot is what the expressions of a notify target read, beside `secrets`.
const messageRoot = "message"

// MessageEvents are what a message may be about: a step's own word is `message`.
func MessageEvents() []string {
	return []string{"message", "failed", "paused", "recovered", "delivery_failed"}
}

// MessageType is the type of `message` in the body and the headers of a notify target.
func MessageType() *schema.Type {
	text := schema.Of(schema.String)
	return schema.ObjectOf(
		schema.Required("text", text), schema.Required("to", text), schema.Required("event", schema.EnumOf(MessageEvents()...)),
		schema.Required("workflow", text), schema.Required("run", schema.Nullable(text)), schema.Required("step", schema.Nullable(text)),
		schema.Required("at", schema.Of(schema.Time)), schema.Required("link", schema.Nullable(text)),
	)
}

// Message is what a notify target sends, as values over `message`.
type Message struct {
	Body    plan.Value     // zero = the message as it is
	IsText  bool           // the body is text, else JSON
	Headers []plan.Binding // each is text
}

// NotifyMessage checks the body and the headers of a notify target in the project file:
// its expressions see `message` alone, and a secret stands as a whole value. body may be
// nil.
func NotifyMessage(file string, body *spec.Node, headers []spec.Pair) (Message, diag.List) {
	c := newChecker(context.Background(), &spec.Workflow{File: file, Language: spec.V1()}, nil)
	scope := eval.NewScope().With(messageRoot, MessageType()).With("secrets", schema.MapOf(schema.SecretText()))
	var message Message
	if body != nil {
		if message.IsText = body.Kind == spec.Scalar; message.IsText {
			message.Body = c.messageText(scope, body, "a body that is no list and no object")
		} else {
			v := valuer{c: c, scope: scope, field: true}
			message.Body = v.value(body, nil, "", false).plan
		}
	}
	for _, header := range headers {
		message.Headers = append(message.Headers, plan.Binding{Name: header.Key.Text, Value: c.messageText(scope, header.Value, "a header")})
	}
	c.reportForeign()
	c.problems.Sort()
	return message, c.problems
}

// messageText reads a value that becomes text: one secret, or what text may hold.
func (c *checker) messageText(scope *eval.Scope, node *spec.Node, what string) plan.Value {
	text := c.text(node)
	if !text.bad && !text.hasExpr() {
		return literal(jsonText(text.literal())) // 010 stays as it is written
	}
	v := valuer{c: c, scope: scope, field: true}
	out := v.value(node, nil, "", false)
	if v.bad || out.plan.Kind == plan.ValueSecret {
		return out.plan
	}
	if misfit := eval.FitsText(out.typ); misfit != nil {
		c.errorAt(node.Pos, CodeType, "%s is text: %s", what, misfit.Message).Hint = misfit.Hint
	}
	return out.plan
}
