package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// The forms of a call.
const (
	unary  = "unary"
	stream = "stream"
)

// process is a plugin's process with its connection.
type process struct {
	command *exec.Cmd
	stdin   io.Closer
	conn    *grpc.ClientConn
	calls   caller
}

// caller makes one call and waits for its answer. Safe for concurrent use.
type caller interface {
	call(ctx context.Context, request *message) (*message, error)
}

// startPlugin starts this program again as the plugin, and connects. procs is GOMAXPROCS
// of the plugin's process, 0 = that of Go.
func startPlugin(ctx context.Context, dir, transport string, procs int) (*process, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "plugin.sock")
	p := &process{command: exec.Command(executable, "plugin", "-socket", path)}
	p.command.Stderr = os.Stderr
	if procs > 0 {
		p.command.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(procs))
	}
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start the plugin: %w", err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		return nil, errors.Join(fmt.Errorf("the plugin said %q, not that it is ready: %w", line, err), p.end())
	}
	p.conn, err = grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{})))
	if err != nil {
		return nil, errors.Join(err, p.end())
	}
	switch transport {
	case unary:
		p.calls = unaryCaller{p.conn}
	case stream:
		p.calls, err = openStream(ctx, p.conn)
	default:
		err = fmt.Errorf("there is no transport %q: unary or stream", transport)
	}
	if err != nil {
		return nil, errors.Join(err, p.end())
	}
	return p, nil
}

// end asks the process to end and waits for that.
func (p *process) end() error {
	if p.conn != nil {
		_ = p.conn.Close()
	}
	return errors.Join(p.stdin.Close(), p.command.Wait())
}

type unaryCaller struct{ conn *grpc.ClientConn }

func (c unaryCaller) call(ctx context.Context, request *message) (*message, error) {
	reply := new(message)
	return reply, c.conn.Invoke(ctx, "/floor.Plugin/Call", request, reply)
}

// streamCaller makes all calls over one stream in both directions.
type streamCaller struct {
	stream  grpc.ClientStream
	sending sync.Mutex

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan *message
	ended   error
}

func openStream(ctx context.Context, conn *grpc.ClientConn) (*streamCaller, error) {
	opened, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/floor.Plugin/Stream")
	if err != nil {
		return nil, fmt.Errorf("open the stream: %w", err)
	}
	c := &streamCaller{stream: opened, waiting: map[uint64]chan *message{}}
	go c.receive()
	return c, nil
}

// receive hands answers to those who wait, until the stream ends.
func (c *streamCaller) receive() {
	for {
		reply := new(message)
		err := c.stream.RecvMsg(reply)
		c.mu.Lock()
		if err != nil {
			c.ended = err
			for _, waiting := range c.waiting {
				close(waiting)
			}
			c.waiting = nil
			c.mu.Unlock()
			return
		}
		waiting := c.waiting[reply.ID]
		delete(c.waiting, reply.ID)
		c.mu.Unlock()
		if waiting != nil {
			waiting <- reply // has room
		}
	}
}

func (c *streamCaller) call(ctx context.Context, request *message) (*message, error) {
	answered := make(chan *message, 1)
	c.mu.Lock()
	if c.ended != nil {
		c.mu.Unlock()
		return nil, c.ended
	}
	c.last++
	request.ID = c.last
	c.waiting[request.ID] = answered
	c.mu.Unlock()

	c.sending.Lock()
	err := c.stream.SendMsg(request)
	c.sending.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case reply, open := <-answered:
		switch {
		case !open:
			return nil, fmt.Errorf("the stream ended: %w", c.ended)
		case reply.Action == "error":
			return nil, errors.New(string(reply.Body))
		}
		return reply, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
