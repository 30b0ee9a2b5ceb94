package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/flowrun/flowrun/engine/workspace"
)

// Names of the files that an owner keeps in its state directory.
const (
	socketName = "flowrun.sock"
	ownerName  = "owner.json"
)

// maxSocketPath is how long a unix socket's path may be: 108 bytes with the
// closing zero.
const maxSocketPath = 107

// dialTimeout bounds the connection to a socket of the same machine.
const dialTimeout = time.Second

// Socket is an owner's listener with its owner.json.
type Socket struct {
	stateDir string
	listener net.Listener
	server   *http.Server
	folder   string // made for the socket alone; "" = it lies in the state directory
}

// Listen opens the socket of a state directory, names the owner in owner.json
// and serves handler. The caller holds the store's lock, so that a socket that
// is there already is a dead owner's. A path that is too long for a socket is
// replaced by one in a short folder of mode 0700, which owner.json names. admit says
// who may use it; nil = whoever may open it.
func Listen(stateDir string, owner Owner, admit Admission, handler http.Handler) (*Socket, error) {
	s := &Socket{stateDir: stateDir, server: &http.Server{
		Handler: admitted(handler), ConnContext: admit.meet, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
	}}
	path := filepath.Join(stateDir, socketName)
	if len(path) > maxSocketPath {
		folder, err := shortFolder()
		if err != nil {
			return nil, err
		}
		s.folder, path = folder, filepath.Join(folder, socketName)
		owner.Socket = path
	}
	if err := s.listen(path); err != nil {
		return nil, errors.Join(err, s.removeFolder())
	}
	if err := writeOwner(stateDir, owner); err != nil {
		return nil, errors.Join(err, s.listener.Close(), s.removeFolder())
	}
	go func() { _ = s.server.Serve(s.listener) }() // ends with Close, whose error is the one that counts
	return s, nil
}

func (s *Socket) listen(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the old socket %s: %w", path, err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(fmt.Errorf("protect %s: %w", path, err), listener.Close())
	}
	s.listener = listener
	return nil
}

// shortFolder makes a 0700 folder whose path leaves room for the socket's name.
func shortFolder() (string, error) {
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		folder, err := os.MkdirTemp(parent, "flowrun-")
		if err != nil {
			return "", fmt.Errorf("make a folder for the socket: %w", err)
		}
		if len(filepath.Join(folder, socketName)) <= maxSocketPath {
			return folder, nil
		}
		if err := os.Remove(folder); err != nil {
			return "", fmt.Errorf("remove %s: %w", folder, err)
		}
	}
	return "", errors.New("no folder is short enough for a unix socket; set TMPDIR to a shorter one")
}

// Close removes owner.json and the socket, waits until ctx for requests in
// flight and cuts off the rest.
func (s *Socket) Close(ctx context.Context) error {
	removed := os.Remove(filepath.Join(s.stateDir, ownerName))
	if errors.Is(removed, fs.ErrNotExist) {
		removed = nil
	}
	return errors.Join(removed, shutDown(ctx, s.server), s.removeFolder())
}

func (s *Socket) removeFolder() error {
	if s.folder == "" {
		return nil
	}
	if err := os.RemoveAll(s.folder); err != nil { // made by MkdirTemp above, nothing of the user's is in it
		return fmt.Errorf("remove the socket's folder: %w", err)
	}
	return nil
}

// writeOwner replaces owner.json in one step.
func writeOwner(stateDir string, owner Owner) error {
	data, err := json.Marshal(owner)
	if err != nil {
		return fmt.Errorf("encode %s: %w", ownerName, err)
	}
	temp := filepath.Join(stateDir, ownerName+".tmp")
	if err := os.WriteFile(temp, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", ownerName, err)
	}
	if err := os.Rename(temp, filepath.Join(stateDir, ownerName)); err != nil {
		return fmt.Errorf("write %s: %w", ownerName, err)
	}
	return nil
}

// ReadOwner reads owner.json of a state directory. It may be a dead owner's.
func ReadOwner(stateDir string) (*Owner, error) {
	data, err := os.ReadFile(filepath.Join(stateDir, ownerName))
	if err != nil {
		return nil, err
	}
	owner := new(Owner)
	if err := json.Unmarshal(data, owner); err != nil {
		return nil, fmt.Errorf("read %s: %w", ownerName, err)
	}
	return owner, nil
}

// dialError marks an error of which the client knows that nothing was sent.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// Dial returns a client of the owner of a state directory, which has answered,
// and what it said of itself. The error is a *GoneError when nobody answers, and a
// *engine.StoreError when others than this user could have put the socket there.
func Dial(ctx context.Context, stateDir string) (*Client, *Owner, error) {
	path := filepath.Join(stateDir, socketName)
	if owner, err := ReadOwner(stateDir); err == nil && owner.Socket != "" {
		path = owner.Socket
	}
	if _, err := os.Stat(path); err != nil {
		return nil, nil, &GoneError{Unsent: true, Err: err} // who takes the store then checks its folder
	}
	if err := workspace.CheckStateFolder(stateDir); err != nil {
		return nil, nil, err
	}
	client := NewClient(&http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			connection, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", path)
			if err != nil {
				return nil, &dialError{err}
			}
			return connection, nil
		},
		DisableCompression: true,
	})
	asked, cancel := context.WithTimeout(ctx, 2*dialTimeout)
	defer cancel()
	owner, err := client.Owner(asked)
	if err != nil && errors.Is(asked.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		err = &GoneError{Unsent: true, Err: fmt.Errorf("%s does not answer: %w", path, err)} // it hangs: nothing but the question was sent
	}
	if err != nil {
		return nil, nil, err
	}
	return client, owner, nil
}
