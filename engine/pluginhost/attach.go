package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/peer"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginlog"
	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// A plugin may be a process that a person started with --debug (ADR 54). It is not this
// host's: nothing verified, started or holds it, it has no limits, and the host does not
// end it.

const (
	attachFor  = 5 * time.Second        // for the connection to such a process
	copyStep   = 50 * time.Millisecond  // between looks at what it wrote to stderr
	lastCopies = 300 * time.Millisecond // for its last words, once it is gone
)

// errUnattached says that a run was accepted with a process that is not attached now.
type errUnattached struct{}

func (errUnattached) Error() string {
	return "the run was accepted with a process that was attached, and none is now"
}

// attached reports whether calls with this digest go to the process that is attached.
func (s Source) attached(digest string) bool {
	return s.Attach != "" && (digest == "" || digest == plan.Attached || s.Bundled)
}

// isAttached reports whether the unit is a process that a person started.
func (u *unit) isAttached() bool { return u.exe.digest == plan.Attached }

// patient bounds a question that is not a call, unless somebody may look at the plugin in
// a debugger.
func (u *unit) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if u.isAttached() {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, u.host.options.Limits.Start)
}

// attachment is what a process has that the host has not started.
type attachment struct {
	address string
	pid     int
	leave   sync.Once
}

// attach connects to the process at the plugin's address.
func (u *unit) attach() (*process, *PluginError) {
	failed := func(err error) (*process, *PluginError) {
		return nil, &PluginError{
			Plugin: u.source.Name, Reason: ReasonAttach, Message: fmt.Sprintf("attach to %s: %v", u.source.Attach, err),
			Hint: diag.Say("start it with --debug: it prints the address that --attach takes"),
		}
	}
	if u.host.options.Sandbox == SandboxRequire {
		return failed(errors.New("`limits.sandbox: require` asks for a sandbox, and nothing holds a process that is attached"))
	}
	if learn := u.host.options.Learn; learn != nil {
		learn(u.host.life, u.source.Name)
	}
	token, err := attachToken(u.source.Attach)
	if err != nil {
		return failed(err)
	}
	who, err := listener(u.source.Attach)
	if err != nil {
		return failed(err)
	}
	p := u.newProcess(u.exe, nil)
	p.attached = &attachment{address: u.source.Attach, pid: who.PID}
	p.runner = &processRunner{process: p, exited: make(chan struct{})}
	if err := p.prepareAttached(token); err != nil {
		p.folders.remove()
		return failed(err)
	}
	if err := p.dial(); err != nil {
		close(p.runner.exited)
		p.cleanUp()
		p.output.kept.Close()
		return failed(err)
	}
	u.host.running.Go(p.watchAttached)
	u.host.running.Go(p.watch)
	return p, nil
}

// prepareAttached makes what of a process's surroundings the host serves.
func (p *process) prepareAttached(token string) (err error) {
	h := p.unit.host
	if p.mark, err = h.newMark(); err != nil {
		return err
	}
	p.token = token
	if p.folders, err = h.makeFolders(p.unit.source.Name, p.mark); err != nil {
		return err
	}
	if p.services, err = serve(p, filepath.Join(p.folders.socket, "host")); err != nil {
		return err
	}
	p.services.belongTo(p.attached.pid)
	return nil
}

// dial connects to the socket and waits until it answers.
func (p *process) dial() error {
	options := append(p.dialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithIdleTimeout(0))
	conn, err := grpc.NewClient("unix:"+p.attached.address, options...)
	if err != nil {
		return err
	}
	p.conn, p.rpc = conn, pluginv1grpc.NewPluginClient(conn)
	ctx, cancel := context.WithTimeout(p.unit.host.closing, attachFor)
	defer cancel()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if state == connectivity.TransientFailure || !conn.WaitForStateChange(ctx, state) {
			_ = conn.Close()
			return errors.New("it does not answer")
		}
	}
	return nil
}

// watchAttached copies what the process writes, until the connection to it ends.
func (p *process) watchAttached() {
	file, err := os.Open(filepath.Join(filepath.Dir(p.attached.address), handshake.DebugStderr))
	if err == nil {
		defer file.Close()
		_, err = file.Seek(0, 2)
	}
	copied := func() int64 {
		if err != nil {
			return 0
		}
		n, _ := file.WriteTo(p.output.stream(pluginlog.Stderr))
		return n
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		p.conn.WaitForStateChange(ctx, connectivity.Ready)
	}()
	ticker := time.NewTicker(copyStep)
	defer ticker.Stop()
	for living := true; living; {
		copied()
		select {
		case <-gone:
			living = false
		case <-ticker.C:
		}
	}
	if !p.stopping.Load() {
		time.Sleep(lastCopies) // what stands between it and the file writes on for a moment
	}
	copied()
	p.runner.mu.Lock()
	p.runner.reaped, p.runner.status = true, fmt.Errorf("process %d, which was attached, is gone", p.attached.pid)
	p.runner.mu.Unlock()
	close(p.runner.exited)
}

// detach leaves the process as it is.
func (p *process) detach() {
	p.attached.leave.Do(func() {
		p.stopping.Store(true)
		_ = p.conn.Close()
	})
	<-p.gone
}

// attachToken reads the launch token of a process, from a folder of which nobody else can
// be the author.
func attachToken(address string) (string, error) {
	folder := filepath.Dir(address)
	info, err := os.Lstat(folder)
	if err != nil {
		return "", plain(err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("the folder %s is not one of this user's alone (mode %s)", folder, info.Mode())
	}
	if info, err = os.Lstat(address); err != nil {
		return "", plain(err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return "", errors.New("it is no socket")
	}
	token, err := os.ReadFile(filepath.Join(folder, handshake.DebugToken))
	if err != nil {
		return "", fmt.Errorf("read its launch token: %w", plain(err))
	}
	return strings.TrimSpace(string(token)), nil
}

// plain is what went wrong with a file, without its name.
func plain(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// listener asks the kernel which process listens.
func listener(address string) (*peer.Peer, error) {
	conn, err := net.DialTimeout("unix", address, attachFor)
	if err != nil {
		if failed, ok := errors.AsType[*net.OpError](err); ok {
			err = failed.Err
		}
		return nil, fmt.Errorf("no process answers: %w", err)
	}
	defer func() { _ = conn.Close() }()
	who, err := peer.Of(conn)
	switch {
	case err != nil:
		return nil, err
	case who.UID != os.Geteuid():
		return nil, fmt.Errorf("%s listens there, another user", who)
	case who.PID == 0:
		return nil, errors.New("its process runs in another container: which one it is can't be seen from here")
	}
	return who, nil
}
