package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	"github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// launchToken takes the token before the SDK does, and puts another descriptor in its
// place: with the token the process may ask the host whatever it likes.
func launchToken() (string, io.Closer) {
	number, err := strconv.Atoi(os.Getenv(handshake.EnvLaunchTokenFD))
	if err != nil {
		return "", io.NopCloser(nil) // started by hand
	}
	file := os.NewFile(uintptr(number), "token")
	defer file.Close()
	token, err := io.ReadAll(file)
	if err != nil {
		panic(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	_, _ = write.Write(token)
	_ = write.Close()
	_ = os.Setenv(handshake.EnvLaunchTokenFD, strconv.Itoa(int(read.Fd())))
	return string(token), read
}

// ask has the host tell of states and tokens: of its own plugin, where the neighbour's
// lie for the neighbour, and of others' connections.
func ask(c *sdk.Call[config], l *loot, in search, token string) {
	conn, err := grpc.NewClient("passthrough:///host", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			return net.Dial("unix", os.Getenv(handshake.EnvHostSocket))
		}))
	if err != nil {
		l.Tried = append(l.Tried, err.Error())
		return
	}
	defer conn.Close()
	host, ctx := pluginv1grpc.NewHostClient(conn), metadata.AppendToOutgoingContext(c, handshake.LaunchTokenKey, token)
	tried := func(what string, found bool, err error) {
		came := "nothing"
		if err != nil {
			came = status.Code(err).String()
		} else if found {
			came = "an answer"
		}
		l.Tried = append(l.Tried, what+": "+came)
	}
	scopes := []string{"plugin", "run"}
	for _, name := range in.Connections {
		scopes = append(scopes, "connection/"+name)
		for _, peek := range []bool{true, false} {
			answer, err := host.AcquireToken(ctx, &pluginv1.AcquireTokenRequest{Connection: name, Peek: peek})
			tried("token of "+name, answer != nil, err)
			l.look("a token of the host", answer.String())
		}
	}
	for _, scope := range scopes {
		answer, err := host.GetState(ctx, &pluginv1.GetStateRequest{Scope: scope, Key: "hidden"})
		tried("state of "+scope, answer.GetFound(), err)
		l.look("a state of the host", string(answer.GetValue()))
	}
}

// engine asks the engine's own API, as the user's commands do.
func (l *loot) engine(socket string) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) },
	}}
	for _, path := range []string{"/api/v1/runs", "/api/v1/connections"} {
		answer, err := client.Get("http://flowrun" + path)
		if err != nil {
			l.Tried = append(l.Tried, "the engine: nothing")
			continue
		}
		body, _ := io.ReadAll(io.LimitReader(answer.Body, maxFile))
		_ = answer.Body.Close()
		l.Tried = append(l.Tried, "the engine: "+strconv.Itoa(answer.StatusCode))
		l.look("the engine's API", string(body))
	}
}
