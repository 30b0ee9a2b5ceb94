package sdk

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"google.golang.org/protobuf/proto"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// maxStack bounds the stack that a panic writes into the log, in bytes.
const maxStack = 8 << 10

// execute runs one call and returns its terminal event. A panic of the author's
// code, in whatever it is asked for, becomes the failure of this call; its
// stack goes to the log.
func (s *service) execute(c *core, request *pluginv1.ExecuteRequest) (event *pluginv1.ExecuteEvent) {
	defer onPanic(func(text, stack string) {
		c.log(pluginv1.Log_LEVEL_ERROR, "the plugin panicked: "+text, []any{"stack", stack})
		event = c.failed(&Error{Code: CodeInternal, Message: "the plugin panicked: " + text,
			Hint: "this is a bug of the plugin; the log of the step has the place"})
	})
	if c.action == nil {
		missing := s.noAction(request.GetAction())
		return c.failed(&Error{Code: CodeUnsupported, Message: missing.Summary, Hint: missing.Detail, Applied: NotApplied})
	}
	conn, refused := s.connection(request.GetConnection())
	if refused != nil {
		return c.failed(refused)
	}
	raw := request.GetInput().GetJson()
	c.useConnection(conn, raw)
	output, err := c.call(raw)
	if dropped := c.events.droppedLines(); dropped > 0 {
		c.events.sendDropped(dropped, c.now())
	}
	if pending := asPending(err); pending != nil {
		return &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Pending{Pending: c.protoPending(pending)}}
	}
	if failed(err) {
		return c.failed(asError(err))
	}
	return c.completed(output, s.limit)
}

// call checks the input and runs the author's function.
func (c *core) call(raw []byte) (output any, err error) {
	input, problems := c.action.decode(raw, nil)
	if refused := firstError(problems); refused != nil {
		return nil, refused
	}
	if c.action.looksAtConfig() {
		more, _ := c.action.onConfig(c.conn.config, input, nil)
		if refused := firstError(more); refused != nil {
			return nil, refused
		}
		problems = append(problems, more...)
	}
	for _, p := range c.warnings(problems) {
		c.log(pluginv1.Log_LEVEL_WARN, p.Summary, []any{"pointer", p.Pointer})
	}
	return c.action.run(c, c.conn.config, input)
}

// warnings are the findings to log: once for a step, at its first page and
// attempt.
func (c *core) warnings(problems []Problem) []Problem {
	if c.pageCursor != "" || c.run.Attempt > 1 {
		return nil
	}
	return problems
}

// onPanic is deferred: it tells of a panic, if there was one.
func onPanic(tell func(text, stack string)) {
	if recovered := recover(); recovered != nil {
		tell(plain(cut(fmt.Sprint(recovered), 1024)), cut(string(debug.Stack()), maxStack))
	}
}

func (c *core) failed(e *Error) *pluginv1.ExecuteEvent {
	return &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Failed{Failed: c.protoError(e)}}
}

// completed encodes the output of a call that did what it should. When it
// cannot be sent, the effect has happened all the same.
func (c *core) completed(output any, limit int) *pluginv1.ExecuteEvent {
	happened := AppliedFully
	if c.action.effect == pluginv1.Effect_EFFECT_READ {
		happened = NotApplied
	}
	encoded, err := encodeOutput(output)
	if err != nil {
		return c.failed(&Error{Code: CodeInternal, Message: "encode the output: " + err.Error(), Applied: happened})
	}
	event := &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Completed{Completed: c.completedPage(encoded)}}
	if size := proto.Size(event); size > limit {
		return c.failed(&Error{
			Code: CodeUnexpectedResponse, Applied: happened,
			Message: fmt.Sprintf("the output has %d bytes, more than the limit of %d", size, limit),
			Hint:    "ask for less, or for smaller pages",
		})
	}
	return event
}

// sensitiveIn are the pointers of Call.Sensitive that point at something of an output.
func (c *core) sensitiveIn(output []byte) []string {
	var there []string
	for _, pointer := range c.sensitive {
		if pointedAt(output, pointer) != nil {
			there = append(there, pointer)
		}
	}
	return there
}

// pointedAt is the value at a JSON Pointer (RFC 6901), nil where there is none.
func pointedAt(document json.RawMessage, pointer string) json.RawMessage {
	if pointer == "" {
		return document
	}
	if pointer[0] != '/' {
		return nil
	}
	for _, token := range strings.Split(pointer[1:], "/") {
		if document = inside(document, strings.NewReplacer("~1", "/", "~0", "~").Replace(token)); document == nil {
			return nil
		}
	}
	return document
}

func (c *core) completedPage(encoded json.RawMessage) *pluginv1.Completed {
	c.mu.Lock()
	defer c.mu.Unlock()
	completed := &pluginv1.Completed{
		Output:     &pluginv1.Value{Json: encoded, Sensitive: append(sensitivePointers(c.action.output, encoded), c.sensitiveIn(encoded)...)},
		NextCursor: c.next,
		Watermark:  c.newWatermark,
		PageNote:   c.newPageNote,
	}
	if len(c.meta) > 0 {
		if meta, err := marshalJSON(c.meta); err == nil && len(meta) <= maxLogText {
			completed.Meta = c.masks.now().bytes(meta)
		}
	}
	return completed
}
