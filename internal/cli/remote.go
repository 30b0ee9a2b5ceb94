package cli

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpproxy"

	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Settings that name a server on another machine.
const (
	serverKey    = "server"
	tokenFileKey = "token_file"
	caFileKey    = "ca_file"
)

// How long a command that had reached its server tries to reach it again.
const (
	reachAgain = time.Minute
	reachStep  = time.Second
)

// maxTokenFile is more than any token has bytes.
const maxTokenFile = 4096

// isRemote reports whether commands act on a server on another machine.
func (a *app) isRemote() bool { return a.stringSetting(serverKey) != "" }

// checkReach refuses commands that need this machine where a server is named, and those
// that look at files alone where a flag names it: who has set the variable still makes a
// project with `flowrun init`.
func (a *app) checkReach(c *cobra.Command) error {
	server := a.find(serverKey)
	name := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
	if name == "login" || name == "logout" { // they name a server by themselves
		return nil
	}
	if server.Value == "" {
		for _, key := range []string{tokenFileKey, caFileKey} {
			if own := a.find(key); own.Value != "" && own.Source == "--"+strings.ReplaceAll(key, "_", "-") {
				return usageError(fmt.Errorf("%s goes with a server on another machine, and none is named", own.Source), "name it with --server or FLOWRUN_SERVER")
			}
		}
		return nil
	}
	switch reach := reachOf(name); {
	case reach == reachServer && a.sandbox:
		return usageError(fmt.Errorf("--sandbox and a server (%s) exclude each other", server.Source), "a server is a sandbox, or none: `flowrun serve --sandbox`")
	case reach == reachServer, reach == reachFiles && server.Source != "--server":
		return nil
	case reach == reachFiles:
		return usageError(fmt.Errorf("flowrun %s looks at files of this machine: it asks no server", name), "leave out --server")
	}
	return usageError(fmt.Errorf("flowrun %s needs the machine that the server %s runs on (%s)", name, server.Value, server.Source),
		"type it there; or leave out the server to act on the store of this machine")
}

// reach is what a command acts on.
type reach int

const (
	reachMachine reach = iota // the store, the key or the processes of this machine
	reachFiles                // files of this machine alone
	reachServer               // the API: a server on another machine does as well
)

// reachOf is what a command acts on, by its path without the program's name. A command
// that is in no list needs the machine.
func reachOf(name string) reach {
	found, longest := reachMachine, 0
	for reach, list := range map[reach][]string{reachMachine: machineCommands, reachServer: serverCommands, reachFiles: fileCommands} {
		for _, n := range list {
			if (name == n || strings.HasPrefix(name, n+" ")) && len(n) > longest {
				found, longest = reach, len(n)
			}
		}
	}
	return found
}

// The commands by what they act on (docs/commands.md, "A server on another machine"). A
// group stands for those below it that have no place of their own.
var (
	machineCommands = []string{"tokens link", "demo", "upgrade", "db", "key", "serve", "ready", "doctor", "mcp", "sandbox", "plugins"}
	serverCommands  = []string{"run", "call", "runs", "schedules", "workflows", "state", "secrets", "tokens", "connections", "eval", "login", "logout"}
	fileCommands    = []string{"flowrun", "workflows edit", "import", "validate", "test", "graph", "init", "new", "config", "version", "plan", "schema", "fmt", "explain", "man", "help", "completion"}
)

// connectRemote reaches the server on another machine. One that was reached before is
// tried again for a while: it may be about to start anew.
func (s *session) connectRemote(ctx context.Context) error {
	remote, err := s.app.remote()
	if err != nil {
		return err
	}
	var limit time.Duration
	if s.client != nil {
		limit = reachAgain
		s.client.Close()
	}
	isNoted := false
	for since := time.Now(); ; { //nolint:forbidigo // the wait is of the real clock
		client, info, err := web.DialRemote(ctx, *remote)
		if err == nil {
			s.client, s.ownerPID = client, info.PID
			return nil
		}
		gone, ok := errors.AsType[*web.GoneError](err)
		if !ok {
			return s.app.remoteError(err)
		}
		if time.Since(since) >= limit {
			return s.app.remoteError(gone)
		}
		if !isNoted {
			isNoted = true
			s.app.note("the server %s can't be reached; trying again for a minute", s.app.stringSetting(serverKey))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reachStep):
		}
	}
}

// remoteError says why a server can't be asked.
func (a *app) remoteError(err error) error {
	server := a.find(serverKey)
	if denied, ok := errors.AsType[*web.DeniedError](err); ok {
		hint := "`flowrun tokens create` on its machine makes one; docs/commands.md says which scope a command needs"
		if a.stringSetting(tokenFileKey) == "" && denied.Code == wire.CodeUnauthorized {
			return &codedError{code: exitLogin, err: fmt.Errorf("the login at %s is good no more: it has expired, or was removed there", server.Value), hint: "`flowrun login " + server.Value + "` logs in again"}
		}
		if denied.Code == wire.CodeForbidden {
			hint = cmp.Or(denied.Hint.Text, hint)
		}
		return &codedError{code: exitLogin, err: fmt.Errorf("the server %s does not take the token for this: %s", server.Value, denied.Detail), hint: hint}
	}
	gone, ok := errors.AsType[*web.GoneError](err)
	if !ok {
		return err
	}
	return a.unreached(server.Value, "is the address right ("+server.Source+")? HTTPS_PROXY and NO_PROXY hold", gone)
}

// unreached says that a server can't be asked, and what may help.
func (a *app) unreached(server, hint string, gone *web.GoneError) error {
	if isUntrusted(gone) {
		hint = "name the certificate of the authority that signed the server's with --ca-file or FLOWRUN_CA_FILE"
	}
	return &codedError{code: exitNoServer, err: fmt.Errorf("the server %s can't be asked: %w", server, gone.Err), hint: hint}
}

func isUntrusted(err error) bool {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	return unknown
}

// remote reads how the server on another machine is reached.
func (a *app) remote() (*web.Remote, error) {
	server := a.find(serverKey)
	address, err := web.ParseRemote(server.Value)
	if err != nil {
		return nil, usageError(fmt.Errorf("%s does not name a server: %w", server.Source, err), "such as https://flowrun.example.com")
	}
	remote := a.remoteAt(address)
	authority := a.find(caFileKey)
	if a.stringSetting(tokenFileKey) != "" {
		remote.Token, err = a.readToken()
	} else {
		var login keptLogin
		login, remote.Token, err = a.readLogin(address.String())
		if authority.Value == "" && login.CAFile != "" {
			authority = candidate{Value: login.CAFile, Source: "flowrun login"}
		}
	}
	if err != nil {
		return nil, err
	}
	remote.Roots, err = a.readRoots(authority)
	return remote, err
}

// remoteAt is a server by its address alone.
func (a *app) remoteAt(address *url.URL) *web.Remote {
	return &web.Remote{URL: address, Proxy: &httpproxy.Config{
		HTTPSProxy: a.eitherEnv("HTTPS_PROXY"), HTTPProxy: a.eitherEnv("HTTP_PROXY"), NoProxy: a.eitherEnv("NO_PROXY"),
	}}
}

// eitherEnv reads a variable that is also written in small letters.
func (a *app) eitherEnv(name string) string {
	if value := a.env(name); value != "" {
		return value
	}
	return a.env(strings.ToLower(name))
}

// readToken reads the token of the server. It stands in a file: a command line and an
// environment are read by others.
func (a *app) readToken() (string, error) {
	file := a.find(tokenFileKey)
	path := a.abs(file.Value)
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModePerm&0o007 != 0 {
		return "", usageError(fmt.Errorf("the file of the token (%s) may be read by everybody", file.Source), "take that away with chmod o-rwx")
	}
	text, err := a.readWhole(file.Value, "token", maxTokenFile, func(err error) error { return fmt.Errorf("read the token (%s): %w", file.Source, err) })
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usageError(fmt.Errorf("the file of the token (%s) holds none", file.Source), "it holds the one line that `flowrun tokens create` prints")
	}
	return token, nil
}

// readRoots reads the authorities that are trusted besides the system's own; nil = none.
func (a *app) readRoots(file candidate) (*x509.CertPool, error) {
	if file.Value == "" {
		return nil, nil
	}
	text, err := a.readWhole(file.Value, "certificate", 1<<20, func(err error) error { return fmt.Errorf("read the authority (%s): %w", file.Source, err) })
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, usageError(fmt.Errorf("the file of the authority (%s) holds no certificate", file.Source), "it is in PEM: -----BEGIN CERTIFICATE-----")
	}
	return roots, nil
}
