package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/schema"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

func executeCases() []testCase {
	return []testCase{
		{
			id: "execute.completes", title: "completes the calls that its author gave", needs: needsConnection, section: "execute",
			contract: "Execute is one attempt of one request of one page.",
			change:   "mend the call in the kit's config, or the plugin",
			run:      completes,
		},
		{
			id: "execute.ends", title: "ends each call with exactly one answer", needs: needsConnection, section: "execute",
			contract: "Any number of log and progress, then exactly one of completed, pending, failed, then the end of the stream. A stream that ends without one counts as crashed.",
			change:   "send one of the three as the last event, whatever happens, and nothing behind it",
			run: func(_ context.Context, k *kit) error {
				tried := 0
				for _, c := range k.calls {
					if c.first == nil || c.first.err != nil {
						continue
					}
					tried++
					switch {
					case c.first.finals != 1:
						return fault(c.String(), "%d of completed, pending and failed", c.first.finals)
					case c.first.after > 0:
						return fault(c.String(), "%d events behind the answer", c.first.after)
					}
				}
				if tried == 0 {
					return k.noCall("the plugin", nil)
				}
				return nil
			},
		},
		{
			id: "execute.status", title: "tells failures as answers, not as gRPC errors", needs: needsConnection, section: "execute",
			contract: "gRPC status is for the transport only: what goes wrong is a `failed` with its code.",
			change:   "catch what your code throws and answer with failed: internal for a fault of the plugin, the code of the table for one of the service",
			run:      failsByAnswer,
		},
		{
			id: "execute.refuses", title: "refuses a wrong input before it asks anything of the service", needs: needsConnection, section: "execute",
			contract: "The input is checked before anything is sent: a refusal is invalid, not_applied, with a pointer.",
			change:   "run the checks of Validate at the beginning of Execute too: the input may have come from an expression",
			run:      refusesInput,
		},
		{
			id: "execute.defaults", title: "applies the defaults of its schema", needs: needsConnection, section: "inputs-and-defaults",
			contract: "The plugin applies the `default` of its schema, the host does not: an absent field is the same as one with the default.",
			change:   "fill absent fields with their default before the input is used",
			run:      appliesDefaults,
		},
		{
			id: "execute.fits", title: "answers with what its output schema describes", needs: needsConnection, section: "values",
			contract: "An output fits the schema of its action; the host refuses another (unexpected_response).",
			change:   "mend the schema or the answer; where the service may leave a field out, it is not `required`",
			run: func(_ context.Context, k *kit) error {
				return k.eachOutput(func(c *call, output []byte) error {
					if c.action.output == nil || gate.DocumentFault(output) != "" {
						return nil
					}
					if err := c.action.output.WithoutSecrets().CheckAnswer(output); err != nil {
						return fault(c.String(), "%s, which does not fit its schema: %v", brief(output), err)
					}
					return nil
				})
			},
		},
		{
			id: "execute.narrowed", title: "answers with what Validate narrowed the output to", needs: needsConnection, section: "validate",
			contract: "`output_schema` of Validate is what the output of a call with that input fits.",
			change:   "narrow only to what the service is sure to answer",
			run: func(ctx context.Context, k *kit) error {
				narrowed := 0
				err := k.eachOutput(func(c *call, output []byte) error {
					p, err := k.plugin(ctx)
					if err != nil {
						return err
					}
					response, err := k.validate(ctx, p, c.action.GetName(), c.input)
					if err != nil || len(response.GetOutputSchema()) == 0 {
						return nil
					}
					t, err := schema.FromJSON(response.GetOutputSchema())
					if err != nil {
						return nil // validate.narrowed tells
					}
					narrowed++
					if err := t.WithoutSecrets().CheckAnswer(output); err != nil {
						return fault(c.String(), "%s, which does not fit what Validate narrowed its output to (%s): %v", brief(output), brief(response.GetOutputSchema()), err)
					}
					return nil
				})
				if err == nil && narrowed == 0 {
					return skip("it narrows no output of the calls here")
				}
				return err
			},
		},
		{
			id: "execute.documents", title: "answers with JSON that all read alike", needs: needsConnection, section: "values",
			contract: "A Value is UTF-8 JSON that all read alike: no name twice in one object, no number with an exponent that becomes Infinity or of more than 1,000 digits, at most 1,000 levels.",
			change:   "write the output with a JSON library; check what you only pass on",
			run: func(_ context.Context, k *kit) error {
				return k.eachOutput(func(c *call, output []byte) error {
					if why := gate.DocumentFault(output); why != "" {
						return fault(c.String(), "%s: %s", why, brief(output))
					}
					return nil
				})
			},
		},
		{
			id: "execute.sensitive", title: "marks sensitive parts that are there", needs: needsConnection, section: "values",
			contract: "`sensitive` has JSON Pointers of parts that are masked everywhere.",
			change:   "write JSON Pointers into the output (\"/field\"), not names",
			run:      marksSensitive,
		},
		{
			id: "execute.newer", title: "does a call of a newer host", needs: needsConnection, section: "changes",
			contract: "Inside v1 only additions: a plugin takes messages with fields that it does not know.",
			change:   "ignore unknown fields of messages",
			run: func(ctx context.Context, k *kit) error {
				return k.oneCall(ctx, "a newer host", func(p *process, c *call) error {
					r := k.request(c, k.key())
					unknownField(r)
					unknownField(r.GetRun())
					unknownField(r.GetInput())
					if ended := k.execute(ctx, p, r); !ended.ok() {
						return fault(c.String()+" and an unknown field 1999", "%s", ended)
					}
					return nil
				})
			},
		},
		{
			id: "execute.bare", title: "does a call that belongs to no run", needs: needsConnection, section: "execute",
			contract: "`run` is absent or empty where a person calls the action by hand: the plugin needs nothing of it.",
			change:   "take an absent run as an empty one",
			run: func(ctx context.Context, k *kit) error {
				return k.oneCall(ctx, "no run", func(p *process, c *call) error {
					r := k.request(c, k.key())
					r.Run, r.Blobs = nil, false
					ended := k.execute(ctx, p, r)
					if c.action.output.HasBlob() && ended.failed != nil && codeName(ended.failed.GetCode()) == "unsupported" {
						return nil // outside of a run nothing keeps large values
					}
					if ended.err != nil || !ended.ok() {
						return fault(c.String()+", without run", "%s", ended)
					}
					return nil
				})
			},
		},
		{
			id: "execute.survives", title: "outlives input that nobody expects", needs: needsConnection, section: "execute",
			contract: "A failure, a panic included, is of its call alone.",
			change:   "catch what is thrown at the top of each call, and answer with failed: internal",
			run:      survives,
		},
		{
			id: "execute.cancel", title: "gives up a canceled call within a second", needs: needsConnection, section: "end",
			contract: "A canceled call has its gRPC context canceled: the plugin gives up its request within a second.",
			change:   "tie the request to the call's context (Go), or watch for the end of the call and close its connection to the service",
			run:      cancels,
		},
		{
			id: "execute.concurrent", title: "does 64 calls at the same time", needs: needsConnection, section: "execute",
			contract: "Every call may run at the same time as any other.",
			change:   "hold no lock while the service is asked, and give the server as many workers as calls (64)",
			run:      concurrently,
		},
	}
}

func cancels(ctx context.Context, k *kit) error {
	return k.inTheMiddle(ctx, func(_ *process, c *call, cancel context.CancelFunc, _ <-chan *answer) error {
		request := k.service.seen()[0]
		cancel()
		select {
		case <-request.gone:
			return nil
		case <-time.After(time.Second + slack):
			return fault("the cancel of "+c.String()+" in the middle of "+request.method+" "+request.uri, "its request to the service is open for more than a second")
		}
	})
}

func completes(_ context.Context, k *kit) error {
	if len(k.Config.Calls) == 0 {
		return skip("the config gives no calls")
	}
	for _, given := range k.Config.Calls {
		if k.action(given.Action) == nil {
			return advise("name an action of the plugin", "the config's call of "+given.Action, "the plugin has no such action")
		}
	}
	for _, c := range k.calls[:min(len(k.Config.Calls), len(k.calls))] {
		if !c.first.ok() && c.first.pending == nil {
			return fault(c.String(), "%s", c.first)
		}
	}
	return nil
}

// eachOutput goes through the outputs of the calls that work.
func (k *kit) eachOutput(do func(c *call, output []byte) error) error {
	calls := k.working(nil)
	if len(calls) == 0 {
		return k.noCall("the plugin", nil)
	}
	for _, c := range calls {
		if err := do(c, c.first.completed.GetOutput().GetJson()); err != nil {
			return err
		}
	}
	return nil
}

// oneCall does a call that works, of a read where there is one.
func (k *kit) oneCall(ctx context.Context, _ string, do func(p *process, c *call) error) error {
	calls := k.working((*call).reads)
	if len(calls) == 0 {
		calls = k.working(nil)
	}
	if len(calls) == 0 {
		return k.noCall("the plugin", nil)
	}
	p, err := k.connected(ctx)
	if err != nil {
		return err
	}
	return do(p, calls[0])
}

func failsByAnswer(ctx context.Context, k *kit) error {
	for _, c := range k.calls {
		if c.first != nil && c.first.err != nil {
			return fault(c.String(), "%s", c.first)
		}
	}
	p, err := k.connected(ctx)
	if err != nil {
		return err
	}
	r := &pluginv1.ExecuteRequest{Action: k.actions[0].GetName(), Connection: "kit-no-such-connection", Input: &pluginv1.Value{Json: []byte(`{"` + unknownName + `":1}`)}}
	if ended := k.execute(ctx, p, r); ended.err != nil {
		return fault("Execute "+r.GetAction()+" with "+string(r.GetInput().GetJson())+" on a connection that was never opened", "%s", ended)
	}
	return nil
}

func refusesInput(ctx context.Context, k *kit) error {
	p, err := k.connected(ctx)
	if err != nil {
		return err
	}
	tried := 0
	for _, a := range k.actions {
		if a.input == nil || tried == manyActions {
			continue
		}
		for _, f := range a.input.Fields {
			if !f.Required || f.Type.Default != nil {
				continue
			}
			base, ok := k.goodInput(ctx, p, a)
			if !ok {
				break
			}
			tried++
			doc, _ := json.Marshal(without(base, f.Name)) // of JSON values
			c := &call{action: a, input: doc}
			k.service.pass()
			ended := k.execute(ctx, p, k.request(c, k.key()))
			seen := k.service.seen()
			e := ended.failed
			switch {
			case len(seen) > 0:
				return fault(c.String(), "it sent %s, and then %s", seen[0], ended)
			case e == nil:
				return fault(c.String(), "%s", ended)
			case e.GetCode() != codeInvalid || e.GetApplied() != notApplied || e.GetPointer() != "/"+f.Name:
				return fault(c.String(), "%s; expected is invalid, not_applied, pointer /%s", ended, f.Name)
			}
			break
		}
	}
	if tried == 0 {
		return skip("no action has an input that must be given")
	}
	return nil
}

func appliesDefaults(ctx context.Context, k *kit) error {
	tried := 0
	for _, c := range k.working(func(c *call) bool {
		return c.action.GetEffect() <= pluginv1.Effect_EFFECT_IDEMPOTENT && c.action.input != nil
	}) {
		var absent, given map[string]any
		if json.Unmarshal(c.input, &absent) != nil || json.Unmarshal(c.input, &given) != nil {
			continue
		}
		var names []string
		for _, f := range c.action.input.Fields {
			var v any
			if _, there := absent[f.Name]; !there && f.Type.Default != nil && json.Unmarshal(f.Type.Default, &v) == nil && v != nil {
				given[f.Name] = v
				names = append(names, f.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		p, err := k.connected(ctx)
		if err != nil {
			return err
		}
		whole, _ := json.Marshal(given) // of JSON values
		trace := func(input []byte) string {
			k.service.pass()
			ended := k.execute(ctx, p, k.request(&call{action: c.action, input: input}, k.key()))
			text := ""
			for _, r := range k.service.seen() {
				text += r.String() + "; "
			}
			if text == "" && ended.ok() {
				text = "the output " + brief(ended.completed.GetOutput().GetJson())
			}
			return text
		}
		was := trace(c.input)
		if trace(c.input) != was {
			continue // it differs from call to call
		}
		tried++
		if is := trace(whole); is != was {
			return fault(c.String()+", and with the defaults of "+strings.Join(names, ", ")+" written out", "%sand with them %s", was, is)
		}
	}
	if tried == 0 {
		return skip("no call that works leaves an input with a default away")
	}
	return nil
}

func marksSensitive(_ context.Context, k *kit) error {
	tried := 0
	for _, c := range k.working(nil) {
		var v any
		value := c.first.completed.GetOutput()
		if json.Unmarshal(value.GetJson(), &v) != nil {
			continue
		}
		for _, pointer := range value.GetSensitive() {
			tried++
			if _, ok := at(v, pointer); !ok {
				return fault(c.String(), "sensitive has %q, which is nothing in the output", pointer)
			}
		}
	}
	if tried == 0 {
		return skip("no output of the calls here has sensitive parts")
	}
	return nil
}

// survives sends what no host sends, and looks whether the process lives.
func survives(ctx context.Context, k *kit) error {
	hostile := []string{``, `null`, `[]`, `{`, strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)}
	inputs := map[string][]string{"flowrun_kit_no_such_action": hostile}
	for _, a := range k.actions[:min(len(k.actions), 10)] {
		inputs[a.GetName()] = hostile
		if a.input == nil {
			continue
		}
		nulls := map[string]any{}
		for _, f := range a.input.Fields {
			nulls[f.Name] = nil
		}
		doc, _ := json.Marshal(nulls) // of JSON values
		inputs[a.GetName()] = append(slices.Clone(hostile), string(doc))
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		for _, input := range inputs[name] {
			p, err := k.connected(ctx)
			if err != nil {
				return err
			}
			r := &pluginv1.ExecuteRequest{Action: name, Connection: connectionName, Input: &pluginv1.Value{Json: []byte(input)}, PageCursor: "\x01kit", Checkpoint: []byte("\x00kit"), Watermark: []byte("\xffkit"), PageNote: []byte("kit")}
			bounded, cancel := context.WithTimeout(ctx, startLimit)
			_ = k.execute(bounded, p, r)
			cancel()
			if p.endsWithin(2 * time.Millisecond) {
				return fault("Execute "+name+" with "+brief([]byte(input)), "the process ended: %s", p.ending())
			}
		}
	}
	return nil
}

// manyCalls is how many calls are made at a time.
const manyCalls = 64

func concurrently(ctx context.Context, k *kit) error {
	seen := k.seenCalls((*call).reads)
	return k.oneCall(ctx, "64 calls", func(p *process, c *call) error {
		if len(seen) > 0 {
			c = seen[0]
			k.service.set(modePair)
		}
		if !c.reads() && !k.standsIn {
			return skip("no call of a read works here")
		}
		ended := make([]*answer, manyCalls)
		var group sync.WaitGroup
		for i := range ended {
			group.Go(func() { ended[i] = k.execute(ctx, p, k.request(c, k.key())) })
		}
		group.Wait()
		broken := 0
		for _, a := range ended {
			if a.err != nil || a.finals == 0 {
				broken++
			}
		}
		sent := fmt.Sprintf("%d times %s, all at once", manyCalls, c)
		switch {
		case !p.alive():
			return fault(sent, "the process ended: %s", p.ending())
		case broken > 0:
			return fault(sent, "%d calls without an answer", broken)
		case len(seen) > 0 && k.service.most() < 2:
			return fault(sent, "one request at a time at the service")
		}
		return nil
	})
}

// most is how many requests were in flight at a time.
func (s *service) most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}
