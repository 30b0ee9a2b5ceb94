package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

func describeCases() []testCase {
	return []testCase{
		{
			id: "describe.answers", title: "describes itself", needs: needsStart, section: "describe",
			contract: "Describe is pure: it needs no config and no network.",
			change:   "answer flowrun.plugin.v1.Plugin/Describe, at once and without the service",
			run: func(_ context.Context, k *kit) error {
				if k.describeError != nil {
					return fault("Describe", "the gRPC error %v", k.describeError)
				}
				return nil
			},
		},
		{
			id: "describe.same", title: "describes itself with the same bytes each time", needs: needsDescription, section: "describe",
			contract: "Describe is pure and the same bytes for the same executable: the host caches it by the executable's sha256.",
			change:   "put in no time, no random text, nothing of the machine, and write maps in a fixed order",
			run:      sameBytes,
		},
		{
			id: "describe.newer", title: "describes itself to a newer host", needs: needsDescription, section: "changes",
			contract: "Inside v1 only additions: new fields, messages, calls, enum values. Optional features are strings in Capabilities, both ways.",
			change:   "ignore minors, features and fields that the plugin does not know",
			run: func(ctx context.Context, k *kit) error {
				p, err := k.plugin(ctx)
				if err != nil {
					return err
				}
				r := &pluginv1.DescribeRequest{HostVersion: "99.0.0", ProtocolMinor: 99, Host: &pluginv1.Capabilities{Features: []string{"a_newer_feature"}}}
				unknownField(r)
				sent := "Describe with " + shown(r) + " and an unknown field 1999"
				answered, err := p.rpc.Describe(p.authorized(ctx), r)
				if err != nil {
					return fault(sent, "the gRPC error %v", err)
				}
				if len(answered.GetActions()) != len(k.described.GetActions()) {
					return fault(sent, "%d actions in place of %d", len(answered.GetActions()), len(k.described.GetActions()))
				}
				return nil
			},
		},
		describedCase("describe.names", "has names that can be written and kept", "names-and-sizes",
			"A plugin's name has lower-case letters, digits, _ and -, at most 63, a letter first, and is not `core`; names of actions and limiters have no -. No name stands twice.",
			"rename it: names stand in workflows, paths and metrics", badNames),
		describedCase("describe.sizes", "keeps within the sizes of a description", "names-and-sizes",
			"A description has at most 8 MiB, as every message.",
			"shorten texts and examples, share what repeats by $ref, or make two plugins of it", func(k *kit) string {
				if size := proto.Size(k.described); size > handshake.DefaultMessageLimit {
					return fmt.Sprintf("%d bytes", size)
				}
				return ""
			}),
		describedCase("describe.effects", "says what each action does to the world", "describe",
			"Each action says its effect: read, idempotent, keyed or once. The host repeats calls by it.",
			"set `effect`: READ where nothing changes, IDEMPOTENT where twice is as once, KEYED where the service knows the idempotency key, else ONCE", func(k *kit) string {
				for _, a := range k.actions {
					if a.GetEffect() == 0 {
						return "action " + a.GetName() + " has no effect"
					}
				}
				return ""
			}),
		describedCase("describe.schemas", "has schemas that can be read", "describe",
			"Schemas are JSON Schema 2020-12, the part it shares with draft-07; an input is an object.",
			"mend the schema; `flowrun explain types` tells the words that are understood", badSchemas),
		describedCase("describe.closed", "takes no names that it does not declare", "describe",
			"Inputs and configs have additionalProperties: false; outputs may have more than they say.",
			"write \"additionalProperties\": false into the schema: a misspelt input is then found before a run", openSchemas),
		describedCase("describe.documents", "writes JSON that all read alike", "values",
			"A Value is UTF-8 JSON that all read alike: no name twice in one object, no number that becomes Infinity. The host refuses schemas and examples too.",
			"write the document with a JSON library, from a value and not from text", badDocuments),
		describedCase("describe.references", "names nothing that is not there", "describe",
			"Limiters, fields of paging and range, the token action, the actions of a login and of a delivery are those that the description has.",
			"correct the name, or declare what it names", badReferences),
		describedCase("describe.examples", "has examples that fit its schemas", "describe",
			"Inputs and outputs of examples fit the schemas of their action.",
			"mend the example, or the schema that does not allow it", badExamples),
		{
			id: "describe.simulator", title: "has a simulator that starts", needs: needsDescription, section: "describe",
			contract: "`simulator` is the command of a program that stands for the service in a sandbox. It prints one JSON object on stdout, the config of a connection to itself, within 30 seconds, and serves on this machine until its stdin ends.",
			change:   "run the command by hand, from the folder of the plugin's executable: it prints one JSON object and goes on serving",
			run: func(_ context.Context, k *kit) error {
				switch {
				case len(k.described.GetSimulator()) == 0:
					return skip("it names no simulator")
				case k.Options.Service != nil || k.Simulate == nil || len(k.Config.Simulator) > 0 || k.Config.Service != "" || len(k.Config.Answers) > 0:
					return skip("something else stands for its service here")
				case strings.HasPrefix(k.unconnected, "its simulator"):
					return fault(strings.Join(k.described.GetSimulator(), " "), "%s", k.unconnected)
				}
				return nil
			},
		},
		{
			id: "describe.taken", title: "is taken by the host as it describes itself", needs: needsDescription, section: "describe",
			contract: "The host refuses a description that is wrong: no action of it can be used then.",
			change:   "mend what the message names",
			run: func(_ context.Context, k *kit) error {
				switch {
				case k.refused == "":
					return nil
				case k.failedSome("describe."):
					return skip("the host refuses it for what another case of the description tells")
				}
				return fault("Describe, by the host", "%s", k.refused)
			},
		},
	}
}

// describedCase is a case that looks at the description alone; bad says what is wrong.
func describedCase(id, title, section, contract, change string, bad func(*kit) string) testCase {
	return testCase{
		id: id, title: title, needs: needsDescription, section: section, contract: contract, change: change,
		run: func(_ context.Context, k *kit) error {
			if why := bad(k); why != "" {
				return fault("Describe", "%s", why)
			}
			return nil
		},
	}
}

// rawCodec leaves an answer as the bytes that came.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, errors.New("not a message")
	}
	return proto.Marshal(m)
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	into, ok := v.(*[]byte)
	if !ok {
		return errors.New("not bytes")
	}
	*into = bytes.Clone(data)
	return nil
}

// describedStarts is how many further processes describe themselves.
const describedStarts = 8

func sameBytes(ctx context.Context, k *kit) error {
	ask := func(p *process) ([]byte, error) {
		var raw []byte
		err := p.conn.Invoke(p.authorized(ctx), pluginv1grpc.Plugin_Describe_FullMethodName, k.describeRequest(), &raw, grpc.ForceCodec(rawCodec{}))
		return raw, err
	}
	p, err := k.plugin(ctx)
	if err != nil {
		return err
	}
	first, err := ask(p)
	if err != nil {
		return err
	}
	again, err := ask(p)
	if err != nil {
		return err
	}
	sent := "Describe, twice in one process"
	// The order of a small map is often the same twice.
	for range describedStarts {
		if !bytes.Equal(first, again) {
			break
		}
		sent = "Describe, in two processes"
		other, err := k.start(ctx)
		if err != nil {
			return err
		}
		again, err = ask(other)
		other.kill()
		if err != nil {
			return err
		}
	}
	if bytes.Equal(first, again) {
		return nil
	}
	return fault(sent, "%s", difference(first, again))
}

// difference says where two texts part.
func difference(a, b []byte) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	part := func(text []byte) string {
		return fmt.Sprintf("%q", bytes.ToValidUTF8(text[max(0, min(i-20, len(text))):min(len(text), i+40)], nil))
	}
	return fmt.Sprintf("%d and %d bytes, which part at byte %d: %s and %s", len(a), len(b), i, part(a), part(b))
}

func badNames(k *kit) string {
	plugin, inside := regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`), regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
	if name := k.described.GetName(); !plugin.MatchString(name) || name == "core" {
		return fmt.Sprintf("the plugin's name is %q", name)
	}
	seen := map[string]bool{}
	for _, a := range k.actions {
		if !inside.MatchString(a.GetName()) {
			return fmt.Sprintf("an action's name is %q", a.GetName())
		}
		if seen[a.GetName()] {
			return "action " + a.GetName() + " stands there twice"
		}
		seen[a.GetName()] = true
	}
	for _, l := range k.described.GetLimiters() {
		if !inside.MatchString(l.GetName()) || seen["limiter "+l.GetName()] {
			return fmt.Sprintf("a limiter's name is %q, which is wrong or stands there twice", l.GetName())
		}
		seen["limiter "+l.GetName()] = true
	}
	return ""
}

// schemaError reads a schema that is a good document.
func schemaError(doc []byte) error {
	if gate.DocumentFault(doc) != "" {
		return nil // describe.documents tells
	}
	_, err := schema.FromJSON(doc)
	return err
}

func badSchemas(k *kit) string {
	if err := schemaError(k.described.GetConfigSchema()); err != nil {
		return "the schema of the config: " + err.Error()
	}
	for _, a := range k.actions {
		if err := schemaError(a.GetInputSchema()); err != nil {
			return "the input schema of " + a.GetName() + ": " + err.Error()
		}
		if a.input != nil && a.input.Kind != schema.Object {
			return "the input schema of " + a.GetName() + " describes " + a.input.String() + ", not an object"
		}
		if err := schemaError(a.GetOutputSchema()); err != nil {
			return "the output schema of " + a.GetName() + ": " + err.Error()
		}
	}
	return ""
}

func openSchemas(k *kit) string {
	open := func(t *schema.Type) bool {
		return t != nil && t.Kind == schema.Object && (t.Open || t.Additional != nil)
	}
	if t, err := schema.FromJSON(k.described.GetConfigSchema()); err == nil && open(t) {
		return "the schema of the config takes names that it does not declare: " + brief(k.described.GetConfigSchema())
	}
	for _, a := range k.actions {
		if open(a.input) {
			return "the input schema of " + a.GetName() + " takes names that it does not declare: " + brief(a.GetInputSchema())
		}
	}
	return ""
}

func badDocuments(k *kit) string {
	look := func(what string, doc []byte) string {
		if len(doc) == 0 {
			return ""
		}
		if why := gate.DocumentFault(doc); why != "" {
			return what + ": " + why + ": " + brief(doc)
		}
		return ""
	}
	found := []string{look("the schema of the config", k.described.GetConfigSchema())}
	for _, a := range k.actions {
		found = append(found, look("the input schema of "+a.GetName(), a.GetInputSchema()), look("the output schema of "+a.GetName(), a.GetOutputSchema()))
		for _, e := range a.GetExamples() {
			name := "the example " + e.GetName() + " of " + a.GetName()
			found = append(found, look(name+", its input", e.GetInput()), look(name+", its output", e.GetOutput()))
		}
	}
	return first(found)
}

// first is the first text that is not empty.
func first(texts []string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func badReferences(k *kit) string {
	limiters := map[string]bool{}
	for _, l := range k.described.GetLimiters() {
		limiters[l.GetName()] = true
	}
	var found []string
	lacks := func(what, name string) {
		found = append(found, fmt.Sprintf("%s names %q, which does not exist", what, name))
	}
	field := func(what string, t *schema.Type, name string) {
		if t == nil || name == "" {
			return
		}
		if _, ok := t.Field(name); !ok {
			lacks(what, name)
		}
	}
	for _, a := range k.actions {
		for _, name := range a.GetLimiters() {
			if !limiters[name] {
				lacks("action "+a.GetName()+", its limiters,", name)
			}
		}
		field("paging of "+a.GetName(), a.input, a.GetPaging().GetCursorField())
		field("paging of "+a.GetName(), a.output, a.GetPaging().GetItemsField())
		field("paging of "+a.GetName(), a.output, a.GetPaging().GetNextField())
		field("range of "+a.GetName(), a.input, a.GetRange().GetFromField())
		field("range of "+a.GetName(), a.input, a.GetRange().GetToField())
	}
	login := k.described.GetLogin()
	for _, named := range []struct{ what, name string }{
		{"the token action", k.described.GetTokenAction()}, {"login, start", login.GetStart()}, {"login, wait", login.GetWait()},
		{"login, status", login.GetStatus()}, {"login, revoke", login.GetRevoke()}, {"the delivery", k.described.GetDelivery().GetAction()},
	} {
		if named.name != "" && k.action(named.name) == nil {
			lacks(named.what, named.name)
		}
	}
	if d := k.described.GetDelivery(); d != nil && k.action(d.GetAction()) != nil {
		for _, input := range []string{d.GetContent(), d.GetMarkdown(), d.GetPath(), d.GetTitle()} {
			field("the delivery by "+d.GetAction(), k.action(d.GetAction()).input, input)
		}
	}
	return first(found)
}

func badExamples(k *kit) string {
	for _, a := range k.actions {
		for _, e := range a.GetExamples() {
			name := fmt.Sprintf("the example %q of %s", e.GetName(), a.GetName())
			if a.input != nil && gate.DocumentFault(e.GetInput()) == "" {
				if err := a.input.WithoutSecrets().Check(e.GetInput()); err != nil {
					return name + ", its input: " + err.Error()
				}
			}
			if a.output != nil && len(e.GetOutput()) > 0 && gate.DocumentFault(e.GetOutput()) == "" {
				if err := a.output.WithoutSecrets().CheckAnswer(e.GetOutput()); err != nil {
					return name + ", its output: " + err.Error()
				}
			}
		}
	}
	return ""
}

// failedSome reports whether a case whose id begins so has failed.
func (k *kit) failedSome(prefix string) bool {
	return slices.ContainsFunc(k.failed, func(id string) bool { return strings.HasPrefix(id, prefix) })
}
