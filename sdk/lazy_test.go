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

// TestIssue15_3_WrittenSchemasAreReadWhenTheyAreUsed: a process that serves one call reads
// the schemas of one action.
func TestIssue15_3_WrittenSchemasAreReadWhenTheyAreUsed(t *testing.T) {
	p := generated(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	server, err := newServer(p, ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.service.Validate(context.Background(), &pluginv1.ValidateRequest{Action: "a1", Input: &pluginv1.Value{Json: []byte(`{"n":"x"}`)}})
	if err != nil || len(answer.GetDiagnostics()) != 1 {
		t.Fatalf("%v, %v", answer, err)
	}
	for i, a := range p.actions {
		if read := a.input != nil; read != (i == 1) {
			t.Errorf("%s: read = %v", a.name, read)
		}
	}
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
	server, err := newServer(generated(`{"type":"objekt"}`), ServerOptions{})
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
