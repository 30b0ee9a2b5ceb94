package sdk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"connectrpc.com/connect"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// debugFlag, among the arguments of a plugin that a person starts, makes it wait for
// flowrun instead of explaining itself.
const debugFlag = "--debug"

// longestSocket is how long the path of a socket may be on every system, in bytes.
const longestSocket = 100

// debug serves the plugin at an address until a signal ends it: the process is the
// person's own, under a debugger or not, so that it has no lifeline and outlives each
// flowrun that is attached to it. It prints the address.
func (p *Plugin) debug(out io.Writer) error {
	folder, err := debugFolder()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return fmt.Errorf("make launch token: %w", err)
	}
	token := hex.EncodeToString(secret)
	if err := os.WriteFile(filepath.Join(folder, handshake.DebugToken), []byte(token), 0o600); err != nil {
		return fmt.Errorf("write launch token: %w", err)
	}
	limit := messageLimit(os.Getenv(handshake.EnvMessageLimit))
	server, err := NewServer(p, ServerOptions{Host: &http.Client{Transport: &callingHost{token: token}}, MessageLimit: limit})
	if err != nil {
		return err
	}
	defer server.Close()
	address := filepath.Join(folder, handshake.DebugSocket)
	listener, err := net.Listen("unix", address)
	if err != nil {
		return fmt.Errorf("listen for flowrun: %w", err)
	}
	if err := os.Chmod(address, 0o600); err != nil {
		return fmt.Errorf("listen for flowrun: %w", err)
	}
	teeStderr(filepath.Join(folder, handshake.DebugStderr))
	serving := newHTTPServer()
	serving.Handler = guard(token, server.Handler())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	defer context.AfterFunc(ctx, func() { _ = serving.Close() })()
	fmt.Fprintf(out, "%s %s waits for flowrun (process %d):\n\n  flowrun run --attach %s=%s WORKFLOW\n\n", p.name, p.version, os.Getpid(), p.name, address)
	fmt.Fprintf(out, "call and serve take --attach too. It goes on when flowrun has ended; Ctrl-C ends it.\n")
	if err := serving.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve flowrun: %w", err)
	}
	return nil
}

// debugFolder makes a folder that nobody else can enter: the token lies in it.
func debugFolder() (string, error) {
	for _, in := range []string{os.TempDir(), "/tmp"} {
		folder, err := os.MkdirTemp(in, "flowrun-debug-")
		if err != nil {
			return "", fmt.Errorf("make a folder for the socket: %w", err)
		}
		if len(filepath.Join(folder, handshake.DebugSocket)) <= longestSocket {
			return folder, nil
		}
		_ = os.Remove(folder)
	}
	return "", errors.New("make a folder for the socket: the path of the temporary folder is too long")
}

// callingHost reaches the service of whichever flowrun makes the call that asks for it:
// each says in the metadata of its calls where that is.
type callingHost struct {
	token string

	mu    sync.Mutex
	hosts map[string]*http.Client // by socket
}

// RoundTrip asks the host of the call that the request belongs to.
func (h *callingHost) RoundTrip(r *http.Request) (*http.Response, error) {
	socket := r.Header.Get(handshake.HostSocketKey)
	if socket == "" {
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("the flowrun that is attached has no service for plugins"))
	}
	return h.at(socket).Transport.RoundTrip(r)
}

func (h *callingHost) at(socket string) *http.Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	if host := h.hosts[socket]; host != nil {
		return host
	}
	if h.hosts == nil {
		h.hosts = map[string]*http.Client{}
	}
	h.hosts[socket] = hostAt(socket, h.token)
	return h.hosts[socket]
}
