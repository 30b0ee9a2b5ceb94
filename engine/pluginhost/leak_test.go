package pluginhost

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// escapedText writes a text with an escape for each of its characters.
func escapedText(text string) string {
	var escaped strings.Builder
	for _, r := range text {
		fmt.Fprintf(&escaped, `\u%04x`, r)
	}
	return escaped.String()
}

// leak tells the connection's secret in every text of the answer that the input names.
func (s *evilServer) leak(r *pluginv1.ExecuteRequest, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	var input struct{ Text string }
	if err := json.Unmarshal(r.GetInput().GetJson(), &input); err != nil {
		return err
	}
	key := s.config["api_key"]
	document := []byte(`{"plain":"` + key + `","` + key + `":1,"escaped":"` + escapedText(key) + `"}`)
	switch input.Text {
	case "failed":
		return stream.Send(failure(&pluginv1.Error{
			Code: pluginv1.Code_CODE_NOT_FOUND, Message: strings.Repeat("x", 4<<10-4) + key, Reason: "r " + key, Pointer: "/" + key, Limiter: key, Details: document,
		}))
	case "limited":
		return stream.Send(failure(&pluginv1.Error{Code: pluginv1.Code_CODE_RATE_LIMITED, Message: "m", Limiter: "all"}))
	case "pending":
		return stream.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Pending{Pending: &pluginv1.Pending{
			RetryAfter: durationpb.New(time.Second), Checkpoint: []byte("here " + key), Message: "wait " + key,
			Prompt: &pluginv1.Prompt{Title: key, Url: "https://a.example/device?k=" + key, UserCode: "WDJB-" + key, Message: key},
		}}})
	case "completed":
		event := completed(`{"text":"` + escapedText(key) + `"}`)
		c := event.GetCompleted()
		c.NextCursor, c.Watermark, c.PageNote, c.Meta = "https://a.example/?api_key="+key+"&page=2", []byte("w "+key), []byte("n "+key), document
		return stream.Send(event)
	case "given":
		given, err := json.Marshal(map[string]string{"text": fmt.Sprintf("%q %q %q %q", r.GetPageCursor(), r.GetWatermark(), r.GetPageNote(), r.GetCheckpoint())})
		if err != nil {
			return err
		}
		os.Stderr.Write(append(given, '\n'))
		if r.GetPageCursor() == "https://a.example/?api_key="+key+"&page=2" && string(r.GetWatermark()) == "w "+key && string(r.GetPageNote()) == "n "+key {
			given = []byte(`{"text":"as it was"}`)
		}
		return stream.Send(completed(string(given)))
	case "told":
		line := logLine("log " + key)
		line.GetLog().Fields = document
		if err := stream.Send(line); err != nil {
			return err
		}
		if err := stream.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Progress{Progress: &pluginv1.Progress{Message: "half " + key}}}); err != nil {
			return err
		}
		return stream.Send(completed(`{}`))
	case "duplicate":
		return stream.Send(completed(`{"a":1,"a":2}`))
	}
	return status.Error(codes.DataLoss, "odd "+key)
}

// ask uses the host's services in ways that they must refuse, or mask.
func (s *evilServer) ask(r *pluginv1.ExecuteRequest, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	host, conn, err := hostClient(os.Getenv(handshake.EnvHostSocket), launchToken())
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, key := stream.Context(), s.config["api_key"]
	said := map[string]any{}
	_, err = host.AcquireToken(ctx, &pluginv1.AcquireTokenRequest{Connection: "other"})
	said["another connection"] = status.Code(err).String()
	_, err = host.AcquireToken(ctx, &pluginv1.AcquireTokenRequest{Connection: "other", Peek: true})
	said["a look at another connection"] = status.Code(err).String()
	_, err = host.AcquireToken(ctx, &pluginv1.AcquireTokenRequest{Connection: r.GetConnection(), Key: "k " + key})
	said["a key with a secret"] = status.Code(err).String()
	_, err = host.PutState(ctx, &pluginv1.PutStateRequest{Scope: "plugin", Key: "k " + key, Value: []byte("v " + key)})
	said["state"] = status.Code(err).String()
	got, err := host.GetState(ctx, &pluginv1.GetStateRequest{Scope: "plugin", Key: "k " + key})
	said["state again"] = fmt.Sprint(status.Code(err), " ", string(got.GetValue()) == "v "+key)
	_, err = host.CommitToken(ctx, &pluginv1.CommitTokenRequest{LeaseId: "l", Token: &pluginv1.Token{AccessToken: "new-t0ken", Extra: []byte(`{"a":1,"a":2}`)}})
	said["extra that is no JSON"] = status.Code(err).String()
	_, err = host.CommitToken(ctx, &pluginv1.CommitTokenRequest{LeaseId: "l", Error: &pluginv1.Error{
		Code: pluginv1.Code_CODE_UNAVAILABLE, Message: "e " + key, Reason: key, Details: []byte(`{"d":"` + key + `"}`), Limiter: key, Pointer: "/" + key,
	}})
	said["an error"] = status.Code(err).String()
	data, err := json.Marshal(said)
	if err != nil {
		return err
	}
	return stream.Send(completed(string(data)))
}
