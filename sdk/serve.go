package sdk

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// exitUsage is the exit code of a plugin that a person started by hand, or
// whose parts are wrong.
const exitUsage = 2

// Serve is the main function of a plugin's binary. It returns only when the
// host has stopped the plugin; the process ends by itself when the host is
// gone (stdin closed). Started by hand it explains itself and exits with 2; with the
// argument --debug it waits for a flowrun that is told to attach to it.
func (p *Plugin) Serve() {
	if os.Getenv(handshake.MagicCookieKey) != handshake.MagicCookieValue {
		if !slices.Contains(os.Args[1:], debugFlag) {
			p.explain(os.Stderr)
			os.Exit(exitUsage)
		}
		if err := p.debug(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitUsage)
		}
		return
	}
	if err := p.serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
}

// explain tells a person what this program is.
func (p *Plugin) explain(w io.Writer) {
	fmt.Fprintf(w, "%s %s is a plugin of flowrun: %s\n\n", p.name, p.version, p.doc)
	fmt.Fprintf(w, "flowrun starts it by itself. Name its path in flowrun.yaml:\n\n  plugins:\n    %s: {source: ./%s}\n\n", p.name, "flowrun-plugin-"+p.name)
	fmt.Fprintf(w, "and use its actions in a workflow:\n\n")
	for _, a := range p.actions {
		fmt.Fprintf(w, "  uses: %-28s # %s\n", p.name+"."+a.name, a.doc)
	}
	fmt.Fprintf(w, "\nWith %s it waits for a flowrun that is told to attach to it, under a debugger or not.\n", debugFlag)
	if err := p.Err(); err != nil {
		fmt.Fprintf(w, "\nIt cannot run, its author has to mend it:\n%v\n", err)
	}
}

// serve is the plugin's side of the handshake and of what follows it (README of the
// protocol, "Start"). stdin is the lifeline, stdout takes the one line of the handshake.
func (p *Plugin) serve(stdin io.Reader, stdout io.Writer) error {
	go exitWithHost(stdin, os.Exit)
	ignoreInterrupts()
	token, err := launchToken(os.Getenv(handshake.EnvLaunchTokenFD), os.Getenv(handshake.EnvLaunchToken))
	if err != nil {
		return err
	}
	closeMemory()
	options := ServerOptions{MessageLimit: messageLimit(os.Getenv(handshake.EnvMessageLimit))}
	if socket := os.Getenv(handshake.EnvHostSocket); socket != "" {
		options.Host = hostAt(socket, token)
	}
	server, err := newServer(p, options, os.Getenv(handshake.EnvDescribed) != "")
	if err != nil {
		return err
	}
	defer server.Close()
	server.service.processors = fewProcessors(os.Getenv("GOMAXPROCS"), server.service.now)
	listener, remove, err := listen(os.Getenv(handshake.EnvSocketDir))
	if err != nil {
		return err
	}
	defer remove()
	if _, err := fmt.Fprintf(stdout, "%d|%d|unix|%s|grpc|\n", handshake.CoreProtocol, handshake.ProtocolVersion, listener.Addr()); err != nil {
		return fmt.Errorf("tell the host where the plugin listens: %w", err)
	}
	os.Stdout = os.Stderr // nothing but the handshake belongs on stdout, which nobody may read any more
	return serveUntilShutdown(listener, token, server)
}

// listen opens a socket in the folder that the host names.
func listen(dir string) (*net.UnixListener, func(), error) {
	folder, err := os.MkdirTemp(dir, "p")
	if err != nil {
		return nil, nil, fmt.Errorf("a folder for the plugin's socket: %w", err)
	}
	remove := func() { _ = os.RemoveAll(folder) }
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(folder, "s"), Net: "unix"})
	if err != nil {
		remove()
		return nil, nil, fmt.Errorf("open the plugin's socket: %w", err)
	}
	return listener, remove, nil
}

// ignoreInterrupts lets Ctrl-C in the host's terminal pass: the host ends its plugins
// itself. What the plugin starts hears it as always.
func ignoreInterrupts() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go func() {
		for {
			<-signals
		}
	}()
}

// maxToken bounds a launch token, in bytes.
const maxToken = 4096

// launchToken reads the token from the descriptor that the host names, to its end;
// older hosts put it into the environment.
func launchToken(descriptor, fromEnvironment string) (string, error) {
	if descriptor == "" {
		return fromEnvironment, nil
	}
	number, err := strconv.ParseUint(descriptor, 10, 16)
	if err != nil {
		return "", fmt.Errorf("%s is %q, not the number of a descriptor", handshake.EnvLaunchTokenFD, descriptor)
	}
	file := os.NewFile(uintptr(number), "launch token")
	if file == nil {
		return "", fmt.Errorf("read launch token: descriptor %d is not open", number)
	}
	defer file.Close()
	token, err := io.ReadAll(io.LimitReader(file, maxToken))
	if err != nil {
		return "", fmt.Errorf("read launch token: %w", err)
	}
	return string(token), nil
}

// messageLimit reads how large a message the host takes.
func messageLimit(text string) int {
	limit, err := strconv.Atoi(text)
	if err != nil || limit <= 0 {
		return handshake.DefaultMessageLimit
	}
	return min(limit, handshake.MaxMessageLimit)
}

// exitWithHost reads the lifeline. Its end means that the host is gone: then
// the process ends at once, in the middle of whatever it does.
func exitWithHost(stdin io.Reader, exit func(int)) {
	buffer := make([]byte, 512)
	for {
		if _, err := stdin.Read(buffer); err != nil {
			exit(0)
			return
		}
	}
}
