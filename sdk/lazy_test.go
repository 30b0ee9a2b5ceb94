package sdk

import (
	"context"
	"fmt"
	"strings"
	"testing"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// generated is a plugin of written schemas, as generators make them.
func generated(schema string) *Plugin {
	echo := func(_ *Call[struct{}], in Value) (Value, error) { return in, nil }
	var parts []Part
	for i := range 3 {
		parts = append(parts, Read(fmt.Sprintf("a%d", i), "One of many", echo, Input([]byte(schema)), Output([]byte(schema))))
	}
	return New("many", "1.0.0", "Many", parts...)
}

// usesOne asks about an input of one action, and fails where another one has its schemas then.
func usesOne(t *testing.T, p *Plugin, server *Server) {
	t.Helper()
	answer, err := server.service.Validate(context.Background(), &pluginv1.ValidateRequest{Action: "a1", Input: &pluginv1.Value{Json: []byte(`{"n":"x"}`)}})
	if err != nil || len(answer.GetDiagnostics()) != 1 {
		t.Fatalf("%v, %v", answer, err)
	}
	for i, a := range p.actions {
		if ready := a.input != nil; ready != (i == 1) {
			t.Errorf("%s: ready = %v", a.name, ready)
		}
	}
}

// TestIssue15_3_WrittenSchemasAreReadWhenTheyAreUsed: a process that serves one call reads
// the schemas of one action.
func TestIssue15_3_WrittenSchemasAreReadWhenTheyAreUsed(t *testing.T) {
	p := generated(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	server, err := newServer(p, ServerOptions{}, false)
	if err != nil {
		t.Fatal(err)
	}
	usesOne(t, p, server)
}

// TestIssue15_3_WrongWrittenSchemasAreFound: by Err, by a harness, when the plugin describes
// itself, and where the action is used.
func TestIssue15_3_WrongWrittenSchemasAreFound(t *testing.T) {
	p := generated(`{"type":"objekt"}`)
	if err := p.Err(); err == nil || strings.Count(err.Error(), "objekt") < 3 {
		t.Errorf("Err: %v", err)
	}
	if _, err := NewServer(generated(`{"type":"objekt"}`), ServerOptions{}); err == nil {
		t.Error("a harness takes it")
	}
	server, err := newServer(generated(`{"type":"objekt"}`), ServerOptions{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.service.Describe(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "objekt") {
		t.Errorf("Describe: %v", err)
	}
	if _, err := server.service.Validate(context.Background(), &pluginv1.ValidateRequest{Action: "a0"}); err == nil || !strings.Contains(err.Error(), "objekt") {
		t.Errorf("Validate: %v", err)
	}
}

type lazyInput struct {
	N int `json:"n"`
}

// reflected is a plugin whose schemas are those of Go's types, some with mistakes.
func reflected(more ...Part) *Plugin {
	echo := func(_ *Call[struct{}], in lazyInput) (lazyInput, error) { return in, nil }
	var parts []Part
	for i := range 3 {
		parts = append(parts, Read(fmt.Sprintf("a%d", i), "One of many", echo, Example("one", Value(`{"n":1}`), Value(`{"n":1}`))))
	}
	return New("many", "1.0.0", "Many", append(parts, more...)...)
}

// TestADescribedPluginMakesTheSchemasThatAreUsed: a process that is started for one call
// makes the schemas of one action.
func TestADescribedPluginMakesTheSchemasThatAreUsed(t *testing.T) {
	p := reflected()
	server, err := newServer(p, ServerOptions{}, true)
	if err != nil {
		t.Fatal(err)
	}
	usesOne(t, p, server)
	if described, err := server.service.Describe(context.Background(), nil); err != nil || len(described.GetActions()) != 3 || len(described.GetActions()[2].GetInputSchema()) == 0 {
		t.Errorf("Describe: %v, %v", described, err)
	}
}

// TestMistakesInActionsAreFound: by Err, and by a process that was not described yet, in
// the order of the parts, before it serves anything; where it was described, when it is
// asked to describe itself, and where the action is used.
func TestMistakesInActionsAreFound(t *testing.T) {
	wrong := func() *Plugin {
		tag := func(_ *Call[struct{}], in struct {
			N chan int `json:"n"`
		}) (lazyInput, error) {
			return lazyInput{}, nil
		}
		echo := func(_ *Call[struct{}], in lazyInput) (lazyInput, error) { return in, nil }
		return reflected(Read("tag", "For tests", tag), Read("example", "For tests", echo, Example("bad", Value(`{"n":"x"}`), nil)), TokenAction("none"))
	}
	err := wrong().Err()
	if err == nil || strings.Contains(err.Error(), "example bad") {
		t.Fatalf("Err: %v", err)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 2 || !strings.Contains(lines[0], "action tag: input") || !strings.Contains(lines[1], "token action") {
		t.Errorf("Err: %q", lines)
	}
	if _, refused := newServer(wrong(), ServerOptions{}, false); refused == nil || !strings.Contains(refused.Error(), err.Error()) {
		t.Errorf("a process that was not described: %v", refused)
	}
	echo := func(_ *Call[struct{}], in lazyInput) (lazyInput, error) { return in, nil }
	example := func() *Plugin {
		return reflected(Read("example", "For tests", echo, Example("bad", Value(`{"n":"x"}`), nil)))
	}
	if err := example().Err(); err == nil || !strings.Contains(err.Error(), "example bad") {
		t.Errorf("Err: %v", err)
	}
	server, err := newServer(example(), ServerOptions{}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.service.Validate(context.Background(), &pluginv1.ValidateRequest{Action: "example"}); err == nil || !strings.Contains(err.Error(), "example bad") {
		t.Errorf("Validate: %v", err)
	}
	if _, err := server.service.Describe(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "example bad") {
		t.Errorf("Describe: %v", err)
	}
}
