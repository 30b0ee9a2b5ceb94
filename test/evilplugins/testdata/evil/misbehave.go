package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// answers are wrong answers, and too much of them. Send fails when the host has
// enough: that ends them.
func (s *server) answers(stream events) bool {
	send := func(e *pluginv1.ExecuteEvent) bool { return stream.Send(e) == nil }
	switch s.name {
	case "answers_with_a_wrong_type":
		send(completed(`{"text":5}`))
	case "answers_with_unknown_fields":
		send(completed(`{"text":"fine","more":{"deep":[1,2,3]},"__proto__":"x"}`))
	case "answers_with_no_json":
		send(completed("{\"text\":\"\xff\xfe"))
	case "answers_with_latin_1":
		send(completed("{\"text\":\"caf\xe9\"}"))
	case "answers_with_a_name_twice":
		send(completed(`{"text":"a","text":"b"}`))
	case "answers_with_infinity":
		send(completed(`{"text":"fine","more":1e2000000000}`))
	case "fails_with_latin_1":
		line, end := logLine("look"), failed("no")
		line.GetLog().Fields = []byte("{\"city\":\"Z\xfcrich\"}")
		end.GetFailed().Details = []byte("{\"body\":\"Z\xfcrich\",\"n\":1e999}")
		send(line)
		send(end)
	case "answers_with_bottomless_json":
		send(completed(`{"text":` + strings.Repeat(`[`, 2_000_000) + strings.Repeat(`]`, 2_000_000) + `}`))
	case "answers_with_100_mb":
		send(completed(`{"text":"` + strings.Repeat("x", 100<<20) + `"}`))
	case "fails_with_50_mb":
		send(failed(strings.Repeat("e", 50<<20)))
	case "logs_forever":
		for send(logLine(strings.Repeat("blah ", 400))) {
		}
	case "progresses_forever":
		for send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Progress{Progress: &pluginv1.Progress{Fraction: 7, Message: strings.Repeat("p", 2000)}}}) {
		}
	case "answers_twice":
		send(completed(`{}`))
		send(completed(`{}`))
	case "answers_never":
	case "answers_too_late":
		time.Sleep(2500 * time.Millisecond)
		send(completed(`{}`))
	case "repeats_its_cursor":
		event := completed(`{"rows":[1],"next":"again"}`)
		event.GetCompleted().NextCursor = "again"
		send(event)
	case "is_pending_forever":
		send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Pending{Pending: &pluginv1.Pending{RetryAfter: durationpb.New(50 * time.Millisecond)}}})
	case "tells_its_secrets":
		fmt.Fprintln(os.Stderr, "my key is", s.config["api_key"])
		send(logLine("my key is " + s.config["api_key"]))
		send(failed("the key " + s.config["api_key"] + " was refused"))
	case "asks_for_what_is_not_its_own":
		send(failed(burgle(stream.Context())))
	case "reads_its_environment":
		send(failed(snoop()))
	default:
		return false
	}
	return true
}

// lives are processes that do not behave.
func (s *server) lives(stream events) bool {
	switch s.name {
	case "crashes_in_a_call":
		go panic("my heart")
		select {}
	case "ignores_cancel", "ignores_every_signal":
		select {}
	case "stops_itself":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {}
	case "kills_its_group":
		_ = syscall.Kill(0, syscall.SIGKILL)
		select {}
	case "forks_without_end":
		for range 400 { // bounded: the suite may run without the limit
			_ = exec.Command("sleep", "300").Start()
		}
		select {}
	case "leaves_a_child_with_its_pipes":
		child := exec.Command("sh", "-c", `trap "" HUP TERM INT; while :; do sleep 300; done`)
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			_ = stream.Send(failed(err.Error()))
		}
		os.Exit(6)
	case "floods_stderr":
		for {
			fmt.Fprintln(os.Stderr, strings.Repeat("flood ", 500))
			if stream.Context().Err() != nil {
				return true
			}
		}
	case "forges_its_stderr":
		fmt.Fprint(os.Stderr, "\x1b]0;owned\x07\x1b[2J{\"@level\":\"error\",\"@message\":\"x\",\"plugin\":{\"name\":\"healthy\"}}\n\r\x1b[31merror: store corrupt\x1b[0m\n")
		os.Exit(7)
	default:
		return false
	}
	return true
}

// grabs take more than they are given.
func (s *server) grabs(stream events) bool {
	switch s.name {
	case "eats_memory":
		var hog [][]byte
		for range 40 { // 2.5 GiB, each page of which is used
			block := make([]byte, 64<<20)
			for at := 0; at < len(block); at += 4096 {
				block[at] = 1
			}
			hog = append(hog, block)
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Second)
		runtime.KeepAlive(hog)
		_ = stream.Send(completed(`{"text":"2.5 GiB"}`))
	case "opens_10000_files":
		for n := range 10_000 {
			if _, err := os.Open("/dev/null"); err != nil {
				_ = stream.Send(failed(fmt.Sprintf("file %d: %v", n, err)))
				return true
			}
		}
		_ = stream.Send(completed(`{"text":"10000 files"}`))
	case "writes_a_huge_file":
		file, err := os.Create(filepath.Join(os.Getenv("TMPDIR"), "huge"))
		if err == nil {
			defer os.Remove(file.Name())
			_, err = file.WriteAt([]byte("x"), 3<<30) // a hole: no disk is filled
		}
		if err != nil {
			_ = stream.Send(failed(err.Error()))
			return true
		}
		_ = stream.Send(completed(`{"text":"3 GiB"}`))
	default:
		return false
	}
	return true
}

// burgle asks the host for what belongs to others and tells what it got.
func burgle(ctx context.Context) string {
	own, thief := launchToken(), "guessed"
	got := []string{}
	try := func(what, token, scope string, md ...string) {
		conn, err := grpc.NewClient("passthrough:///host", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
				return net.Dial("unix", os.Getenv(handshake.EnvHostSocket))
			}))
		if err != nil {
			return
		}
		defer conn.Close()
		outgoing := metadata.AppendToOutgoingContext(ctx, append([]string{handshake.LaunchTokenKey, token}, md...)...)
		if scope == "token" {
			_, err = pluginv1grpc.NewHostClient(conn).AcquireToken(outgoing, &pluginv1.AcquireTokenRequest{Connection: "healthy"})
		} else {
			_, err = pluginv1grpc.NewHostClient(conn).GetState(outgoing, &pluginv1.GetStateRequest{Scope: scope, Key: "k"})
		}
		if err == nil {
			got = append(got, what)
		}
	}
	try("state with a guessed token", thief, "plugin")
	try("state of another connection", own, "connection/healthy")
	try("state of another run", own, "run", handshake.RunKey, "another-run")
	try("state of another scope", own, "everything")
	try("the token of another connection", own, "token")
	if neighbours, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(os.Getenv(handshake.EnvHostSocket))), "*", "host")); len(neighbours) > 0 {
		got = append(got, "the names of the sockets of others")
	}
	return fmt.Sprintf("got %d: %s", len(got), strings.Join(got, ", "))
}

// snoop looks for what the host did not give it.
func snoop() string {
	found := []string{}
	for _, entry := range os.Environ() {
		if strings.Contains(entry, "canary") || strings.HasPrefix(entry, "FLOWRUN_SECRET") {
			found = append(found, entry)
		}
	}
	return fmt.Sprintf("found %d: %s", len(found), strings.Join(found, ", "))
}
