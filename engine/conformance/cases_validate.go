package conformance

import (
	"context"
	"encoding/json"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/flowrun/flowrun/engine/schema"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

const unknownName = "flowrun_kit_no_such_input"

func validateCases() []testCase {
	return []testCase{
		{
			id: "validate.examples", title: "finds nothing wrong with its own examples", needs: needsDescription, section: "validate",
			contract: "Validate refuses what Execute would refuse, and nothing else.",
			change:   "mend the example, or the rule that refuses it",
			run: func(ctx context.Context, k *kit) error {
				return k.eachExample(ctx, func(p *process, a *action, input []byte) error {
					response, err := k.validate(ctx, p, a.GetName(), input)
					if err != nil {
						return fault("Validate "+a.GetName()+" with "+brief(input), "the gRPC error %v", err)
					}
					if refused := errorsIn(response.GetDiagnostics()); len(refused) > 0 {
						return fault("Validate "+a.GetName()+" with "+brief(input), "%s", saidOf(refused))
					}
					return nil
				})
			},
		},
		{
			id: "validate.missing", title: "refuses an input that lacks a field, with a pointer", needs: needsDescription, section: "inputs-and-defaults",
			contract: "The plugin checks the input, the host does not: a missing field is a diagnostic of severity error with a JSON Pointer to it.",
			change:   "check each required field in Validate, and name it: /field",
			run: func(ctx context.Context, k *kit) error {
				return k.eachInput(ctx, func(p *process, a *action, base map[string]any) error {
					for _, f := range a.input.Fields {
						if !f.Required {
							continue
						}
						if _, ok := base[f.Name]; !ok {
							continue
						}
						input := without(base, f.Name)
						if err := k.refuses(ctx, p, a, input, "/"+f.Name); err != nil {
							return err
						}
					}
					return nil
				})
			},
		},
		{
			id: "validate.unknown", title: "refuses an input that it does not have, with a pointer", needs: needsDescription, section: "inputs-and-defaults",
			contract: "The plugin checks the input, the host does not: a name that the schema does not have is a diagnostic of severity error with a JSON Pointer to it.",
			change:   "compare the names of the input with those of the schema, and name the one that is too much: /name",
			run: func(ctx context.Context, k *kit) error {
				return k.eachInput(ctx, func(p *process, a *action, base map[string]any) error {
					if a.input.Open || a.input.Additional != nil {
						return nil // describe.closed tells
					}
					return k.refuses(ctx, p, a, with(base, unknownName, 1), "/"+unknownName)
				})
			},
		},
		{
			id: "validate.kinds", title: "refuses a value of another kind, with a pointer", needs: needsDescription, section: "inputs-and-defaults",
			contract: "The plugin checks the input against its own schema: a value that does not fit is a diagnostic of severity error with a JSON Pointer to it.",
			change:   "check the kind of each value in Validate",
			run: func(ctx context.Context, k *kit) error {
				return k.eachInput(ctx, func(p *process, a *action, base map[string]any) error {
					for _, f := range a.input.Fields {
						if !f.Type.Known() || f.Type.Kind == schema.Any {
							continue
						}
						if err := k.refuses(ctx, p, a, with(base, f.Name, wrong(f.Type)), "/"+f.Name); err != nil {
							return err
						}
					}
					return nil
				})
			},
		},
		{
			id: "validate.expressions", title: "says nothing of parts that are still expressions", needs: needsDescription, section: "validate",
			contract: "`unknown` lists, as JSON Pointers, the parts of the input that are still expressions; they are absent from `input` or have a placeholder, and nothing is said about them.",
			change:   "leave out each rule that needs a part in `unknown`, that it is required too",
			run: func(ctx context.Context, k *kit) error {
				return k.eachInput(ctx, func(p *process, a *action, base map[string]any) error {
					for name := range base {
						input, _ := json.Marshal(without(base, name)) // of JSON values
						response, err := k.validate(ctx, p, a.GetName(), input, "/"+name)
						sent := "Validate " + a.GetName() + " with " + brief(input) + ", unknown [/" + name + "]"
						if err != nil {
							return fault(sent, "the gRPC error %v", err)
						}
						if refused := errorsIn(response.GetDiagnostics()); len(refused) > 0 {
							return fault(sent, "%s", saidOf(refused))
						}
					}
					return nil
				})
			},
		},
		{
			id: "validate.newer", title: "takes a request of a newer host", needs: needsDescription, section: "changes",
			contract: "Inside v1 only additions: a plugin takes messages with fields that it does not know.",
			change:   "ignore unknown fields of messages; protobuf does it by itself",
			run: func(ctx context.Context, k *kit) error {
				return k.eachInput(ctx, func(p *process, a *action, base map[string]any) error {
					input, _ := json.Marshal(base) // of JSON values
					r := &pluginv1.ValidateRequest{Action: a.GetName(), Input: &pluginv1.Value{Json: input}}
					unknownField(r)
					unknownField(r.GetInput())
					sent := "Validate " + a.GetName() + " with " + brief(input) + " and an unknown field 1999"
					response, err := p.rpc.Validate(p.authorized(ctx), r)
					if err != nil {
						return fault(sent, "the gRPC error %v", err)
					}
					if refused := errorsIn(response.GetDiagnostics()); len(refused) > 0 {
						return fault(sent, "%s", saidOf(refused))
					}
					return nil
				})
			},
		},
		{
			id: "validate.config", title: "says nothing that depends on a config that it is not told, and tells one that is wrong", needs: needsDescription, section: "validate",
			contract: "`config` is absent where the connection is not known before the run: the plugin says nothing then that depends on it. What is wrong with the config itself is a diagnostic without a pointer.",
			change:   "leave out each rule that needs the config where none comes; tell what is wrong with it without a pointer, which would be one into the input",
			run:      looksAtConfigs,
		},
		{
			id: "validate.narrowed", title: "narrows an output to a schema that can be read", needs: needsDescription, section: "validate",
			contract: "`output_schema` of an answer is the action's output schema, narrowed by the known input; empty = as described.",
			change:   "give a JSON Schema that is within the one of the description",
			run:      narrowsWell,
		},
		{
			id: "validate.decided", title: "says no more than its schemas where it says that they decide", needs: needsDescription, section: "validate",
			contract: "An action with `schemas_decide`: to an input that its input schema takes, whatever of it is unknown and whatever the config, Validate says nothing. Hosts do not ask about it.",
			change:   "leave schemas_decide out where Validate has a rule, a narrowed output or a paging_identity; an SDK sets it by itself",
			run:      decidedBySchemas,
		},
		{
			id: "validate.large", title: "takes a value of almost 8 MiB", needs: needsDescription, section: "names-and-sizes",
			contract: "A message has at most 8 MiB, where FLOWRUN_MESSAGE_LIMIT says no other: the plugin takes all up to there.",
			change:   "raise the receive limit of the gRPC server to 64 MiB: most begin with 4 MiB",
			run: func(ctx context.Context, k *kit) error {
				p, err := k.plugin(ctx)
				if err != nil {
					return err
				}
				if len(k.actions) == 0 {
					return skip("it describes no action without being told something: see `with` of --config")
				}
				a := k.actions[0]
				input, _ := json.Marshal(map[string]any{unknownName: strings.Repeat("x", 8<<20-4096)}) // a text
				_, err = p.rpc.Validate(p.authorized(ctx), &pluginv1.ValidateRequest{Action: a.GetName(), Input: &pluginv1.Value{Json: input}})
				switch {
				case status.Code(err) == codes.ResourceExhausted, !p.alive():
					return fault("Validate "+a.GetName()+" with a text of 8 MiB", "the gRPC error %v", err)
				}
				return nil
			},
		},
	}
}

// refuses judges Validate of an input that is wrong at one place.
func (k *kit) refuses(ctx context.Context, p *process, a *action, input map[string]any, pointer string) error {
	doc, _ := json.Marshal(input) // of JSON values
	sent := "Validate " + a.GetName() + " with " + brief(doc)
	response, err := k.validate(ctx, p, a.GetName(), doc)
	if err != nil {
		return fault(sent, "the gRPC error %v", err)
	}
	refused := errorsIn(response.GetDiagnostics())
	for _, d := range refused {
		if d.GetPointer() == pointer || strings.HasPrefix(d.GetPointer(), pointer+"/") {
			return nil
		}
	}
	if len(refused) == 0 {
		return fault(sent, "no error: %s", saidOf(response.GetDiagnostics()))
	}
	return fault(sent, "an error, but none at %s: %s", pointer, saidOf(refused))
}

// eachExample goes through the examples of the manifest.
func (k *kit) eachExample(ctx context.Context, do func(p *process, a *action, input []byte) error) error {
	p, err := k.plugin(ctx)
	if err != nil {
		return err
	}
	count := 0
	for _, a := range k.actions {
		for _, e := range a.GetExamples() {
			count++
			if err := do(p, a, e.GetInput()); err != nil {
				return err
			}
		}
	}
	if count == 0 {
		return skip("its manifest has no examples")
	}
	return nil
}

// manyActions bounds how many actions of a large manifest are tried by the same rule.
const manyActions = 50

// eachInput goes through the actions with an input that their plugin takes.
func (k *kit) eachInput(ctx context.Context, do func(p *process, a *action, base map[string]any) error) error {
	count := 0
	for _, a := range k.actions {
		if a.input == nil || a.input.Kind != schema.Object || count >= manyActions {
			continue
		}
		p, err := k.plugin(ctx)
		if err != nil {
			return err
		}
		base, ok := k.goodInput(ctx, p, a)
		if !ok {
			continue
		}
		count++
		if err := do(p, a, base); err != nil {
			return err
		}
	}
	if count == 0 {
		return skip("no input is known that it takes: give examples in the manifest, or calls with --config")
	}
	return nil
}

// goodInput is an input that Validate takes.
func (k *kit) goodInput(ctx context.Context, p *process, a *action) (map[string]any, bool) {
	var tries [][]byte
	for _, c := range k.Config.Calls {
		if c.Action == a.GetName() {
			tries = append(tries, orEmpty(c.Input))
		}
	}
	for _, e := range a.GetExamples() {
		tries = append(tries, e.GetInput())
	}
	made, _ := json.Marshal(sample(a.input)) // of JSON values
	for _, input := range append(tries, made) {
		response, err := k.validate(ctx, p, a.GetName(), input)
		var object map[string]any
		if err == nil && len(errorsIn(response.GetDiagnostics())) == 0 && json.Unmarshal(input, &object) == nil && object != nil {
			return object, true
		}
	}
	return nil, false
}

func with(object map[string]any, name string, value any) map[string]any {
	copied := without(object, name)
	copied[name] = value
	return copied
}

func without(object map[string]any, name string) map[string]any {
	copied := map[string]any{}
	for n, v := range object {
		if n != name {
			copied[n] = v
		}
	}
	return copied
}

// wrong is a value of another kind.
func wrong(t *schema.Type) any {
	if t.Kind == schema.List {
		return map[string]any{"flowrun": "kit"}
	}
	return []any{map[string]any{"flowrun": "kit"}}
}

func narrowsWell(ctx context.Context, k *kit) error {
	narrowed := 0
	look := func(p *process, a *action, input []byte) error {
		response, err := k.validate(ctx, p, a.GetName(), input)
		sent := "Validate " + a.GetName() + " with " + brief(input)
		if identity := response.GetPagingIdentity(); identity != "" && a.GetPaging() == nil {
			return fault(sent, "the paging_identity %q of an action without pages", identity)
		}
		if err != nil || len(response.GetOutputSchema()) == 0 {
			return nil
		}
		narrowed++
		t, err := schema.FromJSON(response.GetOutputSchema())
		if err != nil {
			return fault(sent, "the output schema %s, which can't be read: %v", brief(response.GetOutputSchema()), err)
		}
		if a.output != nil && t.Kind != a.output.Kind && a.output.Known() {
			return fault(sent, "the output schema %s, which describes %s where the description has %s", brief(response.GetOutputSchema()), t, a.output)
		}
		return nil
	}
	p, err := k.plugin(ctx)
	if err != nil {
		return err
	}
	for _, a := range k.actions {
		for _, e := range a.GetExamples() {
			if err := look(p, a, e.GetInput()); err != nil {
				return err
			}
		}
	}
	for _, c := range k.calls {
		if err := look(p, c.action, c.input); err != nil {
			return err
		}
	}
	if narrowed == 0 {
		return skip("it narrows no output of the examples and calls here")
	}
	return nil
}
