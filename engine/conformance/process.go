package conformance

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// startLimit is how long the host waits for a handshake.
const startLimit = 10 * time.Second

// process is one process of the plugin, started as the host starts it but without its
// sandbox and its parent-death signal: what ends it is what the kit does alone.
type process struct {
	kit     *kit
	cmd     *exec.Cmd
	stdin   *os.File
	token   string
	folder  string
	address string // of its socket, as its handshake has it
	line    string // its handshake
	host    *hostService
	conn    *grpc.ClientConn
	rpc     pluginv1grpc.PluginClient
	exited  chan struct{}

	streaming sync.Mutex
	stream    *callStream // nil = none was opened; guarded by streaming

	mu     sync.Mutex
	late   []byte // what came on stdout after the handshake
	stderr []byte
	opened map[string]string // connection -> hash of its config
}

var helloLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]+)\|([0-9]+)\|([a-z]+)\|([^|]*)\|([a-z]+)(\|[^|]*)*$`)
})

// start starts a process and waits for its handshake.
func (k *kit) start(ctx context.Context) (*process, error) {
	p := &process{kit: k, exited: make(chan struct{}), opened: map[string]string{}}
	secret := make([]byte, 24)
	if _, err := io.ReadFull(k.Entropy, secret); err != nil {
		return nil, fmt.Errorf("make launch token: %w", err)
	}
	p.token = hex.EncodeToString(secret)
	k.canaries.add("the launch token", p.token)
	var err error
	if p.folder, err = os.MkdirTemp(k.Dir, "p"); err != nil {
		return nil, fmt.Errorf("make the folders of a plugin: %w", err)
	}
	for _, name := range []string{"home", "tmp", "s"} {
		if err := os.Mkdir(filepath.Join(p.folder, name), 0o700); err != nil {
			return nil, fmt.Errorf("make the folders of a plugin: %w", err)
		}
	}
	if p.host, err = k.serveHost(filepath.Join(p.folder, "s", "host"), p.token); err != nil {
		return nil, err
	}
	line, err := p.spawn(p.environ())
	if err != nil {
		p.kill()
		return nil, err
	}
	k.processes = append(k.processes, p)
	select {
	case answer := <-line:
		err = answer.err
		p.line = answer.text
	case <-time.After(startLimit):
		err = fmt.Errorf("no handshake came within %s", startLimit)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		err = p.dial()
	}
	if err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// environ is the environment that the host gives.
func (p *process) environ() []string {
	env := []string{
		"HOME=" + filepath.Join(p.folder, "home"), "TMPDIR=" + filepath.Join(p.folder, "tmp"), "PLUGIN_UNIX_SOCKET_DIR=" + filepath.Join(p.folder, "s"),
		"PLUGIN_PROTOCOL_VERSIONS=" + strconv.Itoa(handshake.ProtocolVersion),
		handshake.EnvLaunchTokenFD + "=3", handshake.EnvLaunchMark + "=kit-" + filepath.Base(p.folder),
		handshake.EnvHostSocket + "=" + p.host.path, handshake.MagicCookieKey + "=" + handshake.MagicCookieValue,
	}
	for _, name := range []string{"PATH", "LANG", "TZ"} {
		for _, entry := range p.kit.Environ {
			if strings.HasPrefix(entry, name+"=") {
				env = append(env, entry)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.kit.env)) {
		env = append(env, name+"="+p.kit.env[name])
	}
	return env
}

// greeting is the first line of stdout that is a handshake, or why there is none.
type greeting struct {
	text string
	err  error
}

// spawn starts the executable; the channel gives its handshake.
func (p *process) spawn(env []string) (<-chan greeting, error) {
	tokenR, tokenW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe of a launch token: %w", err)
	}
	defer tokenR.Close()
	_, err = io.WriteString(tokenW, p.token)
	_ = tokenW.Close()
	if err != nil {
		return nil, fmt.Errorf("hand on launch token: %w", err)
	}
	stdinR, stdinW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the lifeline of a plugin: %w", err)
	}
	defer stdinR.Close()
	p.stdin = stdinW
	command := p.kit.Command
	p.cmd = &exec.Cmd{
		Path: command[0], Args: command, Env: env, Dir: cmp.Or(p.kit.Folder, filepath.Join(p.folder, "home")), Stdin: stdinR,
		ExtraFiles: []*os.File{tokenR}, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}, WaitDelay: time.Second,
	}
	p.cmd.Stderr = heardBy(func(text []byte) {
		p.kit.ear.hear("stderr", text)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stderr = append(p.stderr, text...)
		p.stderr = p.stderr[max(0, len(p.stderr)-4096):]
	})
	stdout, write := io.Pipe()
	p.cmd.Stdout = write
	if err := p.cmd.Start(); err != nil {
		_ = stdinW.Close()
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	line := make(chan greeting, 1)
	go p.read(stdout, line)
	go func() {
		_ = p.cmd.Wait() // how it ended is read from its state
		_ = write.Close()
		close(p.exited)
	}()
	return line, nil
}

type heardBy func([]byte)

func (h heardBy) Write(p []byte) (int, error) {
	h(p)
	return len(p), nil
}

// read finds the handshake and reads on.
func (p *process) read(stdout io.Reader, line chan<- greeting) {
	reader := bufio.NewReaderSize(stdout, 64<<10)
	told := false
	for {
		text, err := reader.ReadString('\n')
		p.kit.ear.hear("stdout", []byte(text))
		switch plain := strings.TrimSpace(text); {
		case !told && helloLine().MatchString(plain):
			line <- greeting{text: plain}
			told = true
		case told && plain != "":
			p.mu.Lock()
			p.late = append(p.late, text...)
			p.late = p.late[:min(len(p.late), 4096)]
			p.mu.Unlock()
		}
		if err != nil {
			if !told {
				line <- greeting{err: errors.New("its stdout ended without a handshake line" + p.lastWords())}
			}
			return
		}
	}
}

// lastLines is how much of stderr is shown: the cause stands above the stack of a crash.
const lastLines = 20

// lastWords is the end of its stderr, for a failure.
func (p *process) lastWords() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := strings.TrimSpace(string(p.stderr))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return "; it wrote on stderr: " + strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}

// dial connects to the socket of the handshake.
func (p *process) dial() error {
	fields := strings.Split(p.line, "|")
	switch {
	case fields[0] != "1" || fields[1] != strconv.Itoa(handshake.ProtocolVersion):
		return fmt.Errorf("its handshake is %q: the core protocol and the major must be 1", p.line)
	case fields[2] != "unix" || fields[4] != "grpc":
		return fmt.Errorf("its handshake is %q: it must speak grpc on a unix socket", p.line)
	}
	p.address = fields[3]
	conn, err := grpc.NewClient("unix:"+p.address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(handshake.MaxMessageLimit), grpc.MaxCallSendMsgSize(handshake.MaxMessageLimit)))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", p.address, err)
	}
	p.conn, p.rpc = conn, tellingClient{pluginv1grpc.NewPluginClient(conn), &p.kit.told}
	return nil
}

// authorized is a context whose calls carry the launch token.
func (p *process) authorized(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, handshake.LaunchTokenKey, p.token)
}

// alive reports whether the process has not ended.
func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// endsWithin reports whether the process ends in that time.
func (p *process) endsWithin(limit time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(limit):
		return false
	}
}

// ending is how the process ended.
func (p *process) ending() string {
	if p.alive() || p.cmd.ProcessState == nil {
		return "still running"
	}
	return p.cmd.ProcessState.String() + p.lastWords()
}

// hangUp closes the lifeline, as the end of the host does.
func (p *process) hangUp() {
	if p.stdin != nil {
		_ = p.stdin.Close()
	}
}

// kill ends the process and all that it started, as SIGKILL does.
func (p *process) kill() {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.exited
	}
	if p.conn != nil {
		_ = p.conn.Close()
		p.conn = nil
	}
	p.hangUp()
	if p.host != nil {
		p.host.stop()
	}
}
