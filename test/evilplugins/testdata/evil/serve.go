package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

func nap() { time.Sleep(20 * time.Millisecond) }

type server struct {
	pluginv1grpc.UnimplementedPluginServer
	name   string
	config map[string]string
}

const (
	configSchema = `{"type":"object","properties":{"api_key":{"type":"string","writeOnly":true}}}`
	inputSchema  = `{"type":"object","properties":{"n":{"type":"integer"},"cursor":{"type":"string"},"what":{"type":"string"},"text":{"type":"string"}}}`
	outputSchema = `{"type":"object","properties":{"text":{"type":"string"},"rows":{"type":"array","items":{"type":"integer"}},"next":{"type":"string"}}}`
)

func (s *server) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	action := &pluginv1.Action{
		Name: "act", Effect: pluginv1.Effect_EFFECT_READ, InputSchema: []byte(inputSchema), OutputSchema: []byte(outputSchema),
		Paging: &pluginv1.Paging{CursorField: "cursor", ItemsField: "rows", NextField: "next"},
	}
	response := &pluginv1.DescribeResponse{
		Name: s.name, Version: "1.0.0", Doc: "does something wrong", ConfigSchema: []byte(configSchema), Plugin: &pluginv1.Capabilities{},
		Actions: []*pluginv1.Action{action},
	}
	switch s.name {
	case "crashes_in_describe":
		os.Exit(4)
	case "lies_about_its_name":
		response.Name = "healthy"
	case "has_a_schema_that_is_no_json":
		action.OutputSchema = []byte(`{"type":`)
	case "has_a_schema_of_no_type":
		action.OutputSchema = []byte(`{"type":"banana"}`)
	case "has_a_schema_of_100_mb":
		action.OutputSchema = []byte(`{"type":"object","description":"` + strings.Repeat("x", 100<<20) + `"}`)
	case "has_a_bottomless_schema":
		action.OutputSchema = []byte(strings.Repeat(`{"type":"array","items":`, 200_000) + `{}` + strings.Repeat(`}`, 200_000))
	case "describes_forever":
		select {}
	}
	return response, nil
}

func (s *server) Connect(_ context.Context, r *pluginv1.ConnectRequest) (*pluginv1.ConnectResponse, error) {
	if s.name == "crashes_in_connect" {
		os.Exit(5)
	}
	s.config = nil
	return &pluginv1.ConnectResponse{}, json.Unmarshal(r.GetConfig().GetJson(), &s.config)
}

type events = grpc.ServerStreamingServer[pluginv1.ExecuteEvent]

func completed(output string) *pluginv1.ExecuteEvent {
	return &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Completed{Completed: &pluginv1.Completed{Output: &pluginv1.Value{Json: []byte(output)}}}}
}

func failed(message string) *pluginv1.ExecuteEvent {
	return &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Failed{Failed: &pluginv1.Error{
		Code: pluginv1.Code_CODE_INVALID, Message: message, Applied: pluginv1.Error_APPLIED_NOT_APPLIED,
	}}}
}

func logLine(text string) *pluginv1.ExecuteEvent {
	return &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Log{Log: &pluginv1.Log{Level: pluginv1.Log_LEVEL_INFO, Message: text}}}
}

func (s *server) Execute(r *pluginv1.ExecuteRequest, stream events) error {
	if s.name == "attacker" {
		_ = os.WriteFile(filepath.Join(os.Getenv("TMPDIR"), "mine"), []byte("mine"), 0o600)
		got, err := json.Marshal(map[string]string{"text": attack(r)})
		if err != nil {
			return err
		}
		return stream.Send(completed(string(got)))
	}
	switch {
	case s.answers(stream):
		return nil
	case s.lives(stream):
		return nil
	case s.grabs(stream):
		return nil
	}
	return stream.Send(completed(`{}`))
}
