package pluginhost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin/runner"

	"github.com/flowrun/flowrun/engine/pluginhost/confine"
)

// drainTime is how long the output of a dead process is still read: a child
// that left the group may hold the pipes open for ever.
const drainTime = time.Second

// processRunner runs one plugin process for go-plugin: its own process group,
// a lifeline on stdin, a clean environment. It gives go-plugin the handshake
// line alone; all other output goes to output.
type processRunner struct {
	*process
	env     []string
	ruleset *confine.Rules // what the process may do; nil = whatever its user may
	pass    uint32         // of its group (confine.Group)
	limits  Limits
	adopts  bool // what it starts becomes a child of this process when it loses its parents (peer.Adopts)

	cmd      *exec.Cmd
	lifeline *os.File // write end of the plugin's stdin
	stdout   *io.PipeReader
	exited   chan struct{} // closed when the process is reaped and its output read

	mu      sync.Mutex
	pid     int
	reaped  bool
	killed  string // why the host, or the kernel for it, killed it; "" = it did not
	starved bool   // the kernel killed it since there was no memory beside it
	hello   hello
	why     error // why there was no usable handshake
	status  error // how the process ended; nil = exit status 0
}

var _ goplugin.Runner = (*processRunner)(nil)

// pipes are the three pipes of a process; child ends are closed after the start.
type pipes struct{ stdinR, stdinW, stdoutR, stdoutW, stderrR, stderrW *os.File }

func newPipes() (p pipes, err error) {
	ends := [][2]**os.File{{&p.stdinR, &p.stdinW}, {&p.stdoutR, &p.stdoutW}, {&p.stderrR, &p.stderrW}}
	for _, end := range ends {
		if *end[0], *end[1], err = os.Pipe(); err != nil {
			p.close()
			return pipes{}, fmt.Errorf("make pipes of a plugin: %w", err)
		}
	}
	return p, nil
}

func (p pipes) close() {
	closeFiles(p.stdinR, p.stdinW, p.stdoutR, p.stdoutW, p.stderrR, p.stderrW)
}

func closeFiles(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close()
		}
	}
}

// What a plugin finds open besides its standard streams: os/exec numbers them.
const (
	tokenDescriptor = 3 // the launch token, once
	codeDescriptor  = 4 // its own code, which a script's interpreter reads
)

// Start starts the process.
func (r *processRunner) Start(context.Context) error {
	p, err := newPipes()
	if err != nil {
		return err
	}
	token, err := tokenPipe(r.token)
	if err != nil {
		p.close()
		return err
	}
	defer closeFiles(token)
	path := r.exe.path
	dir := r.folders.home
	if r.exe.tree != "" {
		dir = r.exe.tree // it opens what lies beside it by name
	} else if executesFiles {
		path = codePath(codeDescriptor)
	}
	r.cmd = &exec.Cmd{
		Path: path, Args: append([]string{r.exe.path}, r.exe.args...), Env: r.env, Dir: dir,
		Stdin: p.stdinR, Stdout: p.stdoutW, Stderr: p.stderrW, ExtraFiles: []*os.File{token, r.code.file},
		SysProcAttr: processAttributes(r.pass, r.group.Folder()),
	}
	ended, err := r.unit.host.spawn.start(r.cmd, r.ruleset)
	closeFiles(r.group.Folder())
	if err != nil {
		p.close()
		return fmt.Errorf("start %s: %w", r.exe.path, cause(err))
	}
	closeFiles(p.stdinR, p.stdoutW, p.stderrW)
	pid := r.cmd.Process.Pid
	r.mu.Lock()
	r.pid, r.lifeline = pid, p.stdinW
	r.mu.Unlock()
	if err := limitProcess(pid, r.limits); err != nil {
		r.output.write("host", []byte(err.Error()+"\n"))
	}
	r.started(pid)
	untie, err := tieGroup(pid)
	if err != nil {
		r.output.write("host", []byte(err.Error()+"\n"))
		untie = func() {}
	}
	var line *io.PipeWriter
	r.stdout, line = io.Pipe()
	go r.supervise(p, line, ended, untie)
	return nil
}

// cause is what went wrong with a start, without the descriptor's name.
func cause(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// tokenPipe returns a pipe that has the token and its end: it can be read once.
func tokenPipe(token string) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe of a launch token: %w", err)
	}
	defer closeFiles(w)
	if _, err := io.WriteString(w, token); err != nil { // less than a pipe holds
		closeFiles(r)
		return nil, fmt.Errorf("hand on launch token: %w", err)
	}
	return r, nil
}

// supervise reads the outputs and reaps the process.
func (r *processRunner) supervise(p pipes, line *io.PipeWriter, ended <-chan struct{}, untie func()) {
	defer close(r.exited)
	var readers sync.WaitGroup
	readers.Go(func() { r.readStdout(p.stdoutR, line) })
	readers.Go(func() { _, _ = io.Copy(r.output.stream("stderr"), p.stderrR) })

	readers.Go(func() { r.watchCrowd(ended) })
	<-ended
	r.blame()
	r.group.Kill()
	r.killGroup() // its children must not outlive it
	untie()
	err := r.cmd.Wait()
	r.mu.Lock()
	r.reaped, r.status = true, err
	r.mu.Unlock()
	r.killStrays() // nor those that left the group, which may hold the pipes

	closeFiles(p.stdinW)
	late := time.AfterFunc(drainTime, func() { closeFiles(p.stdoutR, p.stderrR) })
	readers.Wait()
	late.Stop()
	closeFiles(p.stdoutR, p.stderrR)
}

// readStdout finds the handshake, hands it to go-plugin, and reads on so that
// the plugin never blocks on a full pipe.
func (r *processRunner) readStdout(stdout io.Reader, line *io.PipeWriter) {
	noise := r.output.stream("stdout")
	reader := bufio.NewReaderSize(stdout, 64<<10)
	h, err := readHello(reader, func(text []byte) { _, _ = noise.Write(text) })
	r.mu.Lock()
	r.hello, r.why = h, err
	r.mu.Unlock()
	if err == nil {
		_, _ = io.WriteString(line, h.line+"\n")
	}
	_ = line.Close()
	_, _ = io.Copy(noise, reader)
}

// killGroup kills the process and all that it started, unless it is reaped.
func (r *processRunner) killGroup() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pid != 0 && !r.reaped {
		_ = syscall.Kill(-r.pid, syscall.SIGKILL)
	}
}

// hangUp closes the lifeline: a well-behaved plugin ends.
func (r *processRunner) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lifeline != nil {
		_ = r.lifeline.Close()
		r.lifeline = nil
	}
}

// ending tells how the process ended, or why it gave no handshake.
func (r *processRunner) ending() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.reaped:
		return "still running"
	case r.killed != "":
		return "killed by flowrun: " + r.killed
	case r.starved:
		return "killed by the system: no memory was left on this machine, or for the service that flowrun runs in"
	case r.status == nil:
		return "exit status 0"
	}
	return r.status.Error()
}

// wasKilled reports whether the host killed the process for what it took.
func (r *processRunner) wasKilled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.killed != ""
}

// Wait returns when the process has ended and its output was read.
func (r *processRunner) Wait(context.Context) error {
	<-r.exited
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Kill kills the process group. It can be called again.
func (r *processRunner) Kill(context.Context) error {
	r.killGroup()
	return nil
}

// Stdout gives the handshake line and ends.
func (r *processRunner) Stdout() io.ReadCloser { return r.stdout }

// Stderr gives nothing: the runner reads it.
func (r *processRunner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name returns the executable's path.
func (r *processRunner) Name() string { return r.exe.path }

// ID returns the pid, "" before the start.
func (r *processRunner) ID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pid == 0 {
		return ""
	}
	return strconv.Itoa(r.pid)
}

// Diagnose adds nothing: the host writes its own message.
func (r *processRunner) Diagnose(context.Context) string { return "" }

// PluginToHost accepts a unix socket in one of the plugin's own folders. A
// plugin that named another's socket would get the host to talk to it.
func (r *processRunner) PluginToHost(network, address string) (string, string, error) {
	if network != "unix" {
		return "", "", fmt.Errorf("it listens on %s; only unix sockets are accepted", network)
	}
	folder := filepath.Dir(filepath.Clean(address))
	for _, root := range []string{r.folders.socket, r.folders.tmp} {
		if folder == root || strings.HasPrefix(folder, root+string(filepath.Separator)) {
			return network, address, nil
		}
	}
	return "", "", errors.New("its socket lies outside of the folder that it was given")
}

// HostToPlugin changes nothing.
func (r *processRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
