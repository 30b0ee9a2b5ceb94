package pluginhost

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/peer"
	"github.com/flowrun/flowrun/engine/pluginhost/cgroup"
	"github.com/flowrun/flowrun/engine/pluginlog"
	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// process is one running plugin process: its gRPC connection and the host
// services that it alone may call.
type process struct {
	unit     *unit
	exe      executable
	code     *code // until its handshake
	token    string
	mark     string // no secret: what it starts has it in its environment
	folders  folders
	output   *output
	runner   *processRunner
	group    *cgroup.Group // nil = it has none of its own
	client   *goplugin.Client
	conn     *grpc.ClientConn
	rpc      pluginv1grpc.PluginClient
	services *services
	attached *attachment // what a process has that a person started; nil = the host has started it
	stopping atomic.Bool // its end was asked for: it is no crash
	gone     chan struct{}

	streaming sync.Mutex
	stream    *callStream // nil = no call went by one; guarded by streaming

	linking sync.Mutex
	links   map[string]*link // by connection; guarded by linking
	// Calls in flight by the name that the host gave them; guarded by linking.
	calls     map[uint64]*callTokens
	callCount uint64

	// Guarded by unit.mu.
	inFlight int
	runs     map[string]int // calls in flight by run id
	dead     bool           // its end was counted
	suspect  bool           // a call of it was given up: it may still be at work
	idle     *time.Timer    // ends it when no call comes for a while; nil = it was never idle
}

// folders are a process's private places. tmp and socket end with it.
type folders struct{ home, tmp, socket string }

func (f folders) remove() {
	_ = os.RemoveAll(f.tmp)
	_ = os.RemoveAll(f.socket)
}

// launch starts the executable and waits for its gRPC server, at most the start
// limit. Its end is watched by a goroutine that the host waits for.
func (u *unit) launch(exe executable, c *code) (*process, *PluginError) {
	defer c.close()
	if learn := u.host.options.Learn; learn != nil {
		learn(u.host.life, u.source.Name)
	}
	p := u.newProcess(exe, c)
	if err := p.prepare(); err != nil {
		p.folders.remove()
		p.group.Remove()
		return nil, &PluginError{Plugin: u.source.Name, Reason: ReasonStart, Message: err.Error()}
	}
	limit := u.host.options.Limits.Start
	var late atomic.Bool
	watchdog := time.AfterFunc(limit, func() {
		late.Store(true)
		p.runner.killGroup()
	})
	stopKilling := context.AfterFunc(u.host.closing, p.runner.killGroup)
	protocol, err := p.client.Client()
	watchdog.Stop()
	stopKilling()
	if err == nil && late.Load() {
		err = errors.New("it was killed")
	}
	if err == nil && c.changed() {
		err = fmt.Errorf("%s was changed while it was started", c.path)
	}
	var failure *PluginError
	grpcClient, ok := protocol.(*goplugin.GRPCClient)
	switch {
	case err != nil:
		failure = p.startFailure(err, late.Load(), limit)
	case !ok:
		failure = &PluginError{Plugin: u.source.Name, Reason: ReasonHandshake, Message: "it does not speak gRPC"}
	default:
		p.conn, p.rpc = grpcClient.Conn, pluginv1grpc.NewPluginClient(grpcClient.Conn)
		u.host.running.Go(p.watch)
		return p, nil
	}
	p.stopping.Store(true) // the caller counts it: not a second crash
	p.runner.killGroup()
	p.cleanUp()
	p.output.retain(pluginlog.Host, failure.Message)
	p.output.kept.Close()
	return nil, failure
}

// newProcess is a process that has nothing of its surroundings yet.
func (u *unit) newProcess(exe executable, c *code) *process {
	p := &process{unit: u, exe: exe, code: c, gone: make(chan struct{}), links: map[string]*link{}, calls: map[uint64]*callTokens{}, runs: map[string]int{}}
	p.output = newOutput(u.host.options, u.host.gate, u.source.Name)
	p.output.kept = pluginlog.In(u.host.LogDir(), u.source.Name)
	return p
}

// newMark names a process that the host has not started.
func (h *Host) newMark() (string, error) {
	id := make([]byte, 6)
	if _, err := io.ReadFull(h.options.Entropy, id); err != nil {
		return "", fmt.Errorf("make the name of a process: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(id), nil
}

// prepare makes all that a process needs before it starts.
func (p *process) prepare() error {
	h := p.unit.host
	secret, id := make([]byte, 32), make([]byte, 14)
	if _, err := io.ReadFull(h.options.Entropy, secret); err != nil {
		return fmt.Errorf("make launch token: %w", err)
	}
	if _, err := io.ReadFull(h.options.Entropy, id); err != nil {
		return fmt.Errorf("make the name of a process: %w", err)
	}
	// Nothing that others may see is made of the token.
	p.token, p.mark = hex.EncodeToString(secret), hex.EncodeToString(id[:4])+"-"+strconv.Itoa(os.Getpid())
	var err error
	if p.folders, err = h.makeFolders(p.unit.source.Name, base64.RawURLEncoding.EncodeToString(id[4:10])); err != nil {
		return err
	}
	if p.services, err = serve(p, filepath.Join(p.folders.socket, "host")); err != nil {
		return err
	}
	rules := p.rules()
	if p.group, err = h.makeGroup(p.unit, base64.RawURLEncoding.EncodeToString(id[4:10])); err != nil {
		return err
	}
	p.runner = &processRunner{process: p, ruleset: rules, limits: p.unit.limits(), adopts: peer.Adopts(), exited: make(chan struct{})}
	if rules != nil {
		rules.Pass, rules.IntoGroup = max(binary.NativeEndian.Uint32(id[10:]), 1), p.group != nil
		p.runner.pass = rules.Pass
	}
	p.client = goplugin.NewClient(p.clientConfig())
	return nil
}

// started is told of the process as soon as it exists.
func (p *process) started(pid int) {
	h := p.unit.host
	if err := h.pids.add(p, pid, h.options.Now()); err != nil {
		h.options.Log.Warn("plugin process not recorded", "plugin", p.unit.source.Name, "error", err)
	}
	p.services.belongTo(pid)
	if h.isClosed() {
		p.runner.killGroup() // Close came before there was a process to kill
	}
}

func (p *process) clientConfig() *goplugin.ClientConfig {
	options := p.unit.host.options
	environ := cleanEnviron(options.Environ, p.unit.source.Env, p.folders.home, p.folders.tmp)
	environ = append(environ,
		handshake.EnvLaunchTokenFD+"="+strconv.Itoa(tokenDescriptor),
		handshake.EnvLaunchMark+"="+p.mark,
		handshake.EnvHostSocket+"="+p.services.path,
		handshake.MagicCookieKey+"="+handshake.MagicCookieValue)
	if options.ProjectDir != "" {
		environ = append(environ, handshake.EnvProjectDir+"="+options.ProjectDir)
	}
	if p.exe.tree != "" {
		environ = append(environ, "PYTHONDONTWRITEBYTECODE=1") // where no sandbox keeps it from its tree
	}
	if p.unit.isDescribed() {
		environ = append(environ, handshake.EnvDescribed+"=1")
	}
	if options.Limits.Message != handshake.DefaultMessageLimit {
		environ = append(environ, handshake.EnvMessageLimit+"="+strconv.Itoa(options.Limits.Message))
	}
	return &goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: handshake.ProtocolVersion, MagicCookieKey: handshake.MagicCookieKey, MagicCookieValue: handshake.MagicCookieValue,
		},
		VersionedPlugins: map[int]goplugin.PluginSet{handshake.ProtocolVersion: {}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			p.runner.env = append(environ, only(cmd.Env, handshakeNames())...)
			return p.runner, nil
		},
		StartTimeout:     options.Limits.Start + time.Second, // launch's own watchdog is first
		Logger:           hclog.NewNullLogger(),
		SyncStdout:       p.output.stream("stdout"),
		SyncStderr:       p.output.stream("stderr"),
		SkipHostEnv:      true,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: p.folders.socket},
		GRPCDialOptions:  p.dialOptions(),
	}
}

// What may be under way from a plugin before its reader has taken it, of a call and of all,
// in bytes. They are fixed: gRPC would measure the way with a ping for each answer.
const (
	callWindow  = 1 << 20
	wholeWindow = 4 << 20
)

// dialOptions are those of the connection to the plugin: what passes it, and with what.
// Nothing is repeated but by the engine, so that no call is kept for it.
func (p *process) dialOptions() []grpc.DialOption {
	limit := p.unit.host.options.Limits.Message
	return []grpc.DialOption{
		grpc.WithStaticStreamWindowSize(callWindow), grpc.WithStaticConnWindowSize(wholeWindow),
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithDisableHealthCheck(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limit), grpc.MaxCallSendMsgSize(limit+64<<10)),
		grpc.WithChainUnaryInterceptor(p.gateAnswer, p.unaryToken),
		grpc.WithChainStreamInterceptor(p.gateAnswers, p.streamToken),
	}
}

// presented are a call's metadata: the launch token, and of a process that was given no
// environment where the host's service is.
func (p *process) presented(ctx context.Context) context.Context {
	if p.attached != nil {
		ctx = metadata.AppendToOutgoingContext(ctx, handshake.HostSocketKey, p.services.path)
	}
	return metadata.AppendToOutgoingContext(ctx, handshake.LaunchTokenKey, p.token)
}

// pid is the process's, 0 where there is none yet.
func (p *process) pid() int {
	if p.attached != nil {
		return p.attached.pid
	}
	p.runner.mu.Lock()
	defer p.runner.mu.Unlock()
	return p.runner.pid
}

// unaryToken presents the launch token with a call.
func (p *process) unaryToken(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(p.presented(ctx), method, req, reply, cc, opts...)
}

// streamToken presents the launch token with a stream.
func (p *process) streamToken(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(p.presented(ctx), desc, cc, method, opts...)
}

// startFailure says in our own words why there is no connection.
func (p *process) startFailure(err error, late bool, limit time.Duration) *PluginError {
	failure := &PluginError{Plugin: p.unit.source.Name, Reason: ReasonHandshake}
	p.runner.killGroup()
	if p.runner.ID() == "" {
		failure.Reason, failure.Message = ReasonStart, err.Error()
		return failure
	}
	select {
	case <-p.runner.exited:
	case <-time.After(2 * drainTime):
	}
	failure.Stderr = p.output.last()
	p.runner.mu.Lock()
	greeting, why := p.runner.hello, p.runner.why
	p.runner.mu.Unlock()
	switch {
	case why == nil && greeting.line != "" && greeting.version != handshake.ProtocolVersion:
		failure.Message = fmt.Sprintf("it speaks protocol version %d; this flowrun speaks %d", greeting.version, handshake.ProtocolVersion)
		failure.Hint = diag.Say("install a version of the plugin that is made for this flowrun")
	case late:
		failure.Message = fmt.Sprintf("it was not ready within %s", limit)
	case why != nil:
		failure.Reason, failure.Message = ReasonStart, fmt.Sprintf("it did not start: %v (%s)", why, p.runner.ending())
	default:
		failure.Message = fmt.Sprintf("no connection after its handshake: %v", err)
	}
	failure.Message = p.unit.host.gate.Text(failure.Message)
	if words := lastWords(failure.Stderr); words != "" {
		failure.Message += ": " + words
	}
	return failure
}

// ended reports whether the process is dead, though perhaps not cleaned up yet.
func (p *process) ended() bool {
	select {
	case <-p.runner.exited:
		return true
	default:
		return false
	}
}

// endsWithin waits for the end of the process, at most that long. A connection that the
// host has closed says that it has ended, or is left alone: then the wait has no bound.
func (p *process) endsWithin(limit time.Duration) bool {
	if p.conn.GetState() == connectivity.Shutdown {
		<-p.runner.exited
		return true
	}
	select {
	case <-p.runner.exited:
		return true
	case <-time.After(limit):
		return p.ended()
	}
}

// watch cleans up after the process and tells its unit.
func (p *process) watch() {
	<-p.runner.exited
	p.cleanUp()
	p.unit.exited(p)
	p.output.kept.Close()
	close(p.gone)
}

// cleanUp ends what belongs to a process that has ended, or never started.
func (p *process) cleanUp() {
	if p.attached != nil {
		_ = p.conn.Close()
	} else {
		if p.conn != nil {
			_ = p.conn.Close() // else Kill would connect to the dead process anew
		}
		p.client.Kill() // ends go-plugin's goroutines
	}
	p.services.close()
	p.folders.remove()
	p.group.Remove()
	p.runner.hangUp()
	p.runner.mu.Lock()
	pid := p.runner.pid
	p.runner.mu.Unlock()
	if pid == 0 {
		return
	}
	if err := p.unit.host.pids.remove(pid, p.mark); err != nil {
		p.unit.host.options.Log.Warn("plugin process still recorded", "plugin", p.unit.source.Name, "error", err)
	}
}

// stop asks the process to end and kills its group after the grace, or when ctx
// ends. It returns when nothing runs any more; what is left to clean up then, watch does.
func (p *process) stop(ctx context.Context, grace time.Duration) {
	if p.attached != nil {
		p.detach() // it is not the host's: it goes on
		return
	}
	p.stopping.Store(true)
	p.endStream()
	p.runner.hangUp()
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	// go-plugin's own way, for plugins that don't watch the lifeline.
	_ = p.conn.Invoke(ctx, "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
	select {
	case <-p.runner.exited:
	case <-ctx.Done():
		p.runner.killGroup()
	}
	<-p.runner.exited
}
