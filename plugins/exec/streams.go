package exec

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/plugins/internal/process"
)

// Bounds of what a command says on stderr.
const (
	maxLine  = 16 << 10 // bytes of a line of the log
	maxLines = 20_000   // of the log of one command; the last words are kept all the same
	maxLast  = 20       // lines that are kept for the message of a failure
)

// drain is how long the streams of a command are read after its end, where something that
// it started, and that could not be ended, holds them open.
const drain = 2 * time.Second

// streams are the three streams of a command, ours and its own ends.
type streams struct {
	child process.Streams
	own   struct{ stdin, stdout, stderr *os.File }
	input []byte

	toLog   bool // stdout is for the log too
	most    int64
	stdout  bytes.Buffer
	tooMuch chan struct{} // closed when stdout is larger than it may be
	log     func(line string)

	readers sync.WaitGroup
	mu      sync.Mutex
	logged  int
	last    []string
}

// newStreams opens the streams of a command that is about to be started.
func newStreams(c *call, name string, command Command, input []byte) (*streams, error) {
	s := &streams{input: input, toLog: command.format() == formatNone, most: command.maxBytes(), tooMuch: make(chan struct{})}
	s.log = func(line string) { c.Log().Info(line, "command", name) }
	var errs []error
	pipe := func() (*os.File, *os.File) {
		r, w, err := os.Pipe()
		errs = append(errs, err)
		return r, w
	}
	s.child.Stdin, s.own.stdin = pipe()
	s.own.stdout, s.child.Stdout = pipe()
	s.own.stderr, s.child.Stderr = pipe()
	if err := errors.Join(errs...); err != nil {
		s.closeChild()
		s.abandon()
		return nil, err
	}
	return s, nil
}

// closeChild closes the ends that the command has by now.
func (s *streams) closeChild() { closeAll(s.child.Stdin, s.child.Stdout, s.child.Stderr) }

// abandon closes our ends.
func (s *streams) abandon() { closeAll(s.own.stdin, s.own.stdout, s.own.stderr) }

// begin writes and reads, until the command closes its ends.
func (s *streams) begin() {
	go func() {
		_, _ = s.own.stdin.Write(s.input) // a command need not read it
		closeAll(s.own.stdin)
	}()
	s.readers.Go(s.readStdout)
	s.readers.Go(func() { s.readLines(s.own.stderr) })
}

func (s *streams) readStdout() {
	if s.toLog {
		s.readLines(s.own.stdout)
		return
	}
	_, _ = io.Copy(&s.stdout, io.LimitReader(s.own.stdout, s.most+1)) // its end is the command's
	if int64(s.stdout.Len()) > s.most {
		close(s.tooMuch)
		_, _ = io.Copy(io.Discard, s.own.stdout)
	}
}

// readLines hands lines to the log as they come.
func (s *streams) readLines(from io.Reader) {
	reader := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := reader.ReadSlice('\n')
		if len(line) > 0 {
			s.say(strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\uFFFD"))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// say logs a line and keeps it among the last.
func (s *streams) say(line string) {
	s.mu.Lock()
	s.logged++
	number := s.logged
	if strings.TrimSpace(line) != "" {
		s.last = append(s.last, line)
		if len(s.last) > maxLast {
			s.last = s.last[1:]
		}
	}
	s.mu.Unlock()
	switch {
	case number < maxLines:
		s.log(line)
	case number == maxLines:
		s.log("more lines follow that are not shown")
	}
}

// finish waits until all is read. Who holds the streams open still is not waited for long.
func (s *streams) finish() {
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.readers.Wait()
	}()
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-read:
	case <-timer.C:
	}
	s.abandon() // ends the readers
	<-read
}

// lastWords is the last line that the command said.
func (s *streams) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) == 0 {
		return ""
	}
	return s.last[len(s.last)-1]
}
