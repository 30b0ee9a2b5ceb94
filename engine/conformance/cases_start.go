package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

func startCases() []testCase {
	return []testCase{
		{
			id: "start.handshake", title: "writes its handshake line and serves gRPC there", section: "start",
			contract: "It listens on a new unix socket and then writes one line to stdout and flushes it: 1|1|unix|PATH|grpc|. Lines before it that do not look like it are skipped.",
			change:   "print the line `1|1|unix|PATH|grpc|` with a line end, flush stdout, and only after the socket listens; stay alive then",
			run:      func(_ context.Context, k *kit) error { return k.handshake() },
		},
		{
			id: "start.cookie", title: "explains itself to a person and ends with 2", section: "start",
			contract: "It checks the cookie FLOWRUN_PLUGIN=flowrun.plugin.v1. Without it a person started it: it explains itself on stderr and exits with 2.",
			change:   "before all else, look at FLOWRUN_PLUGIN; when it is not flowrun.plugin.v1, say on stderr what the program is for, and exit with 2",
			run:      withoutCookie,
		},
		{
			id: "start.socket", title: "listens in the folder that it is given", needs: needsStart, section: "start",
			contract: "It listens on a new unix socket in the directory PLUGIN_UNIX_SOCKET_DIR (TMPDIR when that is not set).",
			change:   "make the socket inside PLUGIN_UNIX_SOCKET_DIR: the host connects to no other place, and others can't get there",
			run:      inItsFolder,
		},
		{
			id: "start.health", title: "says that it is healthy", needs: needsStart, section: "start",
			contract: "It serves, as go-plugin asks, grpc.health.v1.Health with the service `plugin` SERVING.",
			change:   "serve grpc.health.v1.Health on the same socket; Check of the service `plugin` answers SERVING (the bytes 08 01)",
			run:      healthy,
		},
		{
			id: "start.host", title: "runs as the host runs it: a copy, in the sandbox", needs: needsDescription, section: "sandbox",
			contract: "The process can open its own code, HOME, TMPDIR, PLUGIN_UNIX_SOCKET_DIR, the system's programs and libraries, and the folder that its source lies in. What it says of itself is taken by the host.",
			change:   "find what belongs to the plugin by an absolute path or inside the executable, since a copy of the file runs; keep to the folders that it is given",
			run:      underHost,
		},
	}
}

// handshake tells why there is none.
func (k *kit) handshake() error {
	if k.startError != nil {
		return fault(strings.Join(k.Command, " ")+", with the environment and the pipes of the host", "%v", k.startError)
	}
	return nil
}

func withoutCookie(ctx context.Context, k *kit) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.Command[0], k.Command[1:]...)
	cmd.Dir = k.Folder
	var stdout, stderr bytes.Buffer
	home, err := os.MkdirTemp(k.Dir, "h")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + pathOf(k.Environ)}, &stdout, &stderr, time.Second
	if stdin, err := cmd.StdinPipe(); err == nil { // open, as a terminal is
		defer stdin.Close()
	}
	sent := "a start without FLOWRUN_PLUGIN"
	if err := cmd.Run(); err != nil && ctx.Err() != nil {
		return fault(sent, "it did not end within 5 s, and wrote on stdout: %s", brief(stdout.Bytes()))
	}
	switch code := cmd.ProcessState.ExitCode(); {
	case code != 2:
		return fault(sent, "it ended with %d", code)
	case strings.TrimSpace(stderr.String()) == "":
		return fault(sent, "it ended with 2 and said nothing on stderr")
	}
	return nil
}

func pathOf(environ []string) string {
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	return path
}

func inItsFolder(ctx context.Context, k *kit) error {
	p, err := k.plugin(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"s", "tmp"} {
		if strings.HasPrefix(filepath.Clean(p.address), filepath.Join(p.folder, name)+string(filepath.Separator)) {
			return nil
		}
	}
	return fault("PLUGIN_UNIX_SOCKET_DIR="+filepath.Join(p.folder, "s"), "its socket is %s", p.address)
}

func healthy(ctx context.Context, k *kit) error {
	p, err := k.plugin(ctx)
	if err != nil {
		return err
	}
	sent := "grpc.health.v1.Health/Check of the service `" + handshake.PluginSet + "`"
	response, err := grpc_health_v1.NewHealthClient(p.conn).Check(p.authorized(ctx), &grpc_health_v1.HealthCheckRequest{Service: handshake.PluginSet})
	if err != nil {
		return fault(sent, "the gRPC error %v", err)
	}
	if response.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fault(sent, "the answer %s", response.GetStatus())
	}
	return nil
}

// underHost has the host itself start the plugin and read its description.
func underHost(ctx context.Context, k *kit) error {
	if k.failedSome("start.socket") {
		return skip("the host connects to no socket elsewhere: see start.socket")
	}
	state, err := os.MkdirTemp(k.Dir, "t")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	name := k.described.GetName()
	source := pluginhost.Source{Name: name, Command: k.Command, Path: k.Command[0], Bundled: k.Bundled, Settings: k.hostSettings()}
	if k.Folder != "" {
		source.Command, source.Path = nil, k.Folder // the command is its manifest's
	}
	environ := append([]string{}, k.Environ...)
	for variable, value := range k.env {
		source.Env = append(source.Env, variable)
		environ = append(environ, variable+"="+value)
	}
	host := pluginhost.New(pluginhost.Options{
		StateDir: state, Sources: []pluginhost.Source{source}, Environ: environ, Now: k.Now, Entropy: k.Entropy, Version: k.Version,
	})
	defer func() { _ = host.Close(ctx) }() // what it says of the end is stop.shutdown's
	if _, err := host.Describe(ctx, name); err != nil {
		came := err.Error()
		failure, ok := errors.AsType[*pluginhost.PluginError](err)
		if ok {
			came = failure.Message
		}
		if ok && failure.Reason == pluginhost.ReasonDescribe {
			k.refused = came // describe.taken tells
			return nil
		}
		return fault("the start that `flowrun run` makes, and Describe", "%s", came)
	}
	return nil
}

func tokenCases() []testCase {
	const contract = "Both sides send the metadata flowrun-launch-token with every call. The plugin refuses calls without it, or with another, as UNAUTHENTICATED, on every service."
	return []testCase{
		{
			id: "token.asked", title: "refuses a call without the launch token", needs: needsDescription, section: "launch-token", contract: contract,
			change: "read the token to its end from the descriptor that FLOWRUN_LAUNCH_TOKEN_FD names, and compare the metadata of every call with it in constant time",
			run: func(ctx context.Context, k *kit) error {
				return k.refusesToken(ctx, "Describe without flowrun-launch-token", func(p *process) error {
					_, err := p.rpc.Describe(ctx, k.describeRequest())
					return err
				})
			},
		},
		{
			id: "token.wrong", title: "refuses a call with another launch token", needs: needsDescription, section: "launch-token", contract: contract,
			change: "compare the whole token, not whether there is one",
			run: func(ctx context.Context, k *kit) error {
				return k.refusesToken(ctx, "Describe with another flowrun-launch-token", func(p *process) error {
					other := strings.Repeat("0", len(p.token))
					_, err := p.rpc.Describe(metadata.AppendToOutgoingContext(ctx, handshake.LaunchTokenKey, other), k.describeRequest())
					return err
				})
			},
		},
		{
			id: "token.stream", title: "refuses an Execute without the launch token", needs: needsDescription, section: "launch-token", contract: contract,
			change: "Execute is a stream: guard streams as you guard the other calls (in gRPC they have an interceptor of their own)",
			run: func(ctx context.Context, k *kit) error {
				return k.refusesToken(ctx, "Execute without flowrun-launch-token", func(p *process) error {
					stream, err := p.rpc.Execute(ctx, &pluginv1.ExecuteRequest{Action: "no_such_action", Connection: connectionName, Input: &pluginv1.Value{Json: []byte("{}")}})
					if err == nil {
						_, err = stream.Recv()
					}
					return err
				})
			},
		},
		{
			id: "token.services", title: "refuses calls of its other services without the launch token", needs: needsDescription, section: "launch-token", contract: contract,
			change: "guard the whole server, not the service Plugin alone: whoever reaches the socket could end the process",
			run: func(ctx context.Context, k *kit) error {
				return k.refusesToken(ctx, "grpc.health.v1.Health/Check without flowrun-launch-token", func(p *process) error {
					_, err := grpc_health_v1.NewHealthClient(p.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: handshake.PluginSet})
					return err
				})
			},
		},
	}
}

// refusesToken judges what became of a call that must be refused.
func (k *kit) refusesToken(ctx context.Context, sent string, call func(*process) error) error {
	p, err := k.plugin(ctx)
	if err != nil {
		return err
	}
	switch err := call(p); {
	case err == nil:
		return fault(sent, "it was answered")
	case status.Code(err) != codes.Unauthenticated:
		return fault(sent, "it ended with %v, not UNAUTHENTICATED", err)
	}
	return nil
}

func stopCases() []testCase {
	return []testCase{
		{
			id: "stop.shutdown", title: "ends when the host says Shutdown", needs: needsStart, section: "end",
			contract: "plugin.GRPCController, whose Shutdown ends the process. The host stops a plugin by Shutdown, then SIGKILL to its process group.",
			change:   "serve plugin.GRPCController: answer Shutdown, then end the process within a second",
			run: func(ctx context.Context, k *kit) error {
				p, err := k.plugin(ctx)
				if err != nil {
					return err
				}
				err = p.conn.Invoke(p.authorized(ctx), "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
				if p.endsWithin(time.Second + slack) {
					return nil
				}
				p.kill()
				return fault("plugin.GRPCController/Shutdown", "it runs on for more than a second (gRPC said: %s)", status.Code(err))
			},
		},
		{
			id: "stop.lifeline", title: "ends within a second of the host's end", needs: needsStart, section: "end",
			contract: "The plugin reads stdin all the time. End of file means that the host is gone: the process ends at once, in the middle of whatever it does.",
			change:   "read stdin in a thread of its own from the start, and end the process at its end",
			run: func(ctx context.Context, k *kit) error {
				p, err := k.plugin(ctx)
				if err != nil {
					return err
				}
				p.hangUp()
				if p.endsWithin(time.Second + slack) {
					return nil
				}
				p.kill()
				return fault("the end of stdin, as SIGKILL of the host makes it", "it runs on for more than a second")
			},
		},
		{
			id: "stop.lifeline-call", title: "ends within a second of the host's end in the middle of a call", needs: needsConnection, section: "end",
			contract: "End of file means that the host is gone: the process ends at once, in the middle of whatever it does.",
			change:   "end the process (exit, not a graceful stop that waits for calls) when stdin ends: what a call does to its service after the host has gone is known to nobody",
			run: func(ctx context.Context, k *kit) error {
				return k.inTheMiddle(ctx, func(p *process, c *call, _ context.CancelFunc, _ <-chan *answer) error {
					p.hangUp()
					if p.endsWithin(time.Second + slack) {
						return nil
					}
					p.kill()
					return fault("the end of stdin in the middle of "+c.String(), "it runs on for more than a second")
				})
			},
		},
		{
			id: "start.noise", title: "writes nothing to stdout after its handshake", needs: needsStart, section: "start",
			contract: "After it nothing belongs on stdout.",
			change:   "send what people should see as Log events, and what is for the author to stderr; in Go, os.Stdout is stderr after sdk's Serve",
			run: func(_ context.Context, k *kit) error {
				for _, p := range k.processes {
					p.mu.Lock()
					late := string(p.late)
					p.mu.Unlock()
					if late != "" {
						return fault("the calls of the cases before", "on stdout: %s", brief([]byte(strings.TrimSpace(late))))
					}
				}
				return nil
			},
		},
	}
}

// slack is what a process may take longer on a busy machine.
const slack = 500 * time.Millisecond
