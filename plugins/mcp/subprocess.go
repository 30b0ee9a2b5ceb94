package mcp

import (
	"bufio"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/plugins/internal/process"
	"github.com/flowrun/flowrun/sdk"
)

// Bounds of what a server says on stderr, and of its end.
const (
	maxLine   = 16 << 10 // bytes of a line
	lastLines = 10       // that an error shows
	grace     = 2 * time.Second
	lastWait  = 500 * time.Millisecond // for the last words of a server that may live on
)

// subprocess is a server that is a program.
type subprocess struct {
	running *process.Process
	stdin   *os.File // ours: what it reads
	stdout  *os.File // ours: what it writes
	once    sync.Once
	heard   chan struct{} // closed when stderr has ended

	mu   sync.Mutex
	last []string
}

// start starts the program of a connection.
func (s *sessions) start(own *session, config Config) (*subprocess, error) {
	const what = "the server"
	path, err := s.surroundings.Program(what, config.Command[0])
	if err != nil {
		return nil, err
	}
	env := s.surroundings.Handed()
	for _, more := range []map[string]string{config.Env, config.SecretEnv} {
		for _, name := range slices.Sorted(maps.Keys(more)) {
			env = append(env, name+"="+more[name])
		}
	}
	server := &subprocess{heard: make(chan struct{})}
	var child process.Streams
	var stderr *os.File
	var errs [3]error
	child.Stdin, server.stdin, errs[0] = os.Pipe()
	server.stdout, child.Stdout, errs[1] = os.Pipe()
	stderr, child.Stderr, errs[2] = os.Pipe()
	if err := errors.Join(errs[:]...); err != nil {
		closeAll(child.Stdin, child.Stdout, child.Stderr, server.stdin, server.stdout, stderr)
		return nil, sdk.Refused(sdk.CodeUnavailable, "make the streams of the server: %v", err)
	}
	server.running, err = process.Start(path, config.Command, env, s.surroundings.InProject(config.Cwd), child)
	closeAll(child.Stdin, child.Stdout, child.Stderr)
	if err != nil {
		closeAll(server.stdin, server.stdout, stderr)
		return nil, s.surroundings.NotStarted(what, config.Command[0], path, err)
	}
	go server.readStderr(stderr, own)
	return server, nil
}

func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close() // a pipe of ours
		}
	}
}

// readStderr hands what the server says on to the calls under way.
func (p *subprocess) readStderr(stderr *os.File, own *session) {
	defer close(p.heard)
	defer closeAll(stderr)
	lines := bufio.NewReaderSize(stderr, maxLine)
	for {
		line, cut, err := lines.ReadLine()
		if err != nil {
			return
		}
		text := strings.TrimSpace(string(line))
		for cut && err == nil {
			_, cut, err = lines.ReadLine() // the rest of a line that is too long
		}
		if text == "" {
			continue
		}
		p.mu.Lock()
		p.last = append(p.last, text)
		p.last = p.last[max(0, len(p.last)-lastLines):]
		p.mu.Unlock()
		own.each(func(_ string, to *ear) { to.log("info", text) })
	}
}

// lastWords is what the server said last, on one line.
func (p *subprocess) lastWords() string {
	select { // what it wrote before its end is read soon
	case <-p.heard:
	case <-time.After(lastWait):
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return sdk.Shown(strings.Join(p.last, " | "), 500)
}

func (p *subprocess) transport() mcp.Transport {
	return &mcp.IOTransport{Reader: p.stdout, Writer: p.stdin, MaxLineLength: maxMessage}
}

// end ends the server with all that it has started: its stdin ends, then it is asked, then
// it is killed. It does not wait.
func (p *subprocess) end() {
	p.once.Do(func() {
		_ = p.stdin.Close() // it may be closed by the transport
		go func() {
			defer p.running.Leave()
			for _, signal := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
				if signal != 0 {
					p.running.Signal(signal)
				}
				select {
				case <-p.running.Ended:
					p.running.Signal(syscall.SIGKILL) // what it has left behind
					closeAll(p.stdout)
					return
				case <-time.After(grace):
				}
			}
		}()
	})
}
