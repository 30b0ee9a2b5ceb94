package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is a `flowrun serve`.
type server struct {
	command *exec.Cmd
	url     string
	token   string
	ready   time.Duration // from its start until it answered
	said    *lines
	ended   sync.Once
}

// lines keeps the end of what a process says.
type lines struct {
	mu   sync.Mutex
	last []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last = append(l.last, line); len(l.last) > 50 {
		l.last = l.last[1:]
	}
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.last, "\n")
}

var serves = regexp.MustCompile(`flowrun serves (http://\S+)`)

// serve starts a server on a project and waits until it says that it is ready.
func (b *bench) serve(ctx context.Context, dir string) (*server, error) {
	s := &server{command: exec.CommandContext(ctx, b.flowrun, "serve", "--listen", "127.0.0.1:0", "--state", "state", "--log-level", "error"), said: &lines{}}
	s.command.Dir = dir
	stderr, err := s.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	found := make(chan string, 1)
	go func() {
		for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
			s.said.add(scanner.Text())
			if m := serves.FindStringSubmatch(scanner.Text()); m != nil && len(found) == 0 {
				found <- m[1]
			}
		}
		close(found)
	}()
	url, open := <-found
	if !open {
		return nil, fmt.Errorf("the server did not start: %w\n%s", s.command.Wait(), s.said)
	}
	s.url = strings.TrimSuffix(url, "/")
	for {
		answer, err := http.Get(s.url + "/readyz")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				break
			}
		}
		if ctx.Err() != nil || time.Since(begun) > 2*time.Minute {
			return nil, errors.Join(fmt.Errorf("the server is not ready: %w\n%s", err, s.said), s.kill())
		}
		time.Sleep(time.Millisecond)
	}
	s.ready = time.Since(begun)
	return s, nil
}

// logIn makes a token for the API.
func (s *server) logIn(ctx context.Context, b *bench, dir string) error {
	command := exec.CommandContext(ctx, b.flowrun, "tokens", "create", fmt.Sprintf("bench%d", s.command.Process.Pid), "--scope", "admin", "--state", "state")
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("make a token: %w\n%s", err, s.said)
	}
	s.token = strings.TrimSpace(string(out))
	return nil
}

// request asks the API. The caller closes the answer's body.
func (s *server) request(ctx context.Context, method, path, body string) (*http.Response, error) {
	return s.requestBy(ctx, http.DefaultClient, method, path, body, http.Header{})
}

// requestBy is request by a client and with headers of one's own.
func (s *server) requestBy(ctx context.Context, client *http.Client, method, path, body string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	request.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
		answer.Body.Close()
		return nil, fmt.Errorf("%s %s: status %d: %s", method, path, answer.StatusCode, text)
	}
	return answer, nil
}

// get reads an answer of the API to its end.
func (s *server) get(ctx context.Context, path string) ([]byte, error) {
	answer, err := s.request(ctx, http.MethodGet, path, "")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// start runs a workflow of the project.
func (s *server) start(ctx context.Context, name string) (id string, err error) {
	answer, err := s.request(ctx, http.MethodPost, "/workflows/"+name+"/runs", "{}")
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var started struct{ Run struct{ ID string } }
	if err := json.NewDecoder(answer.Body).Decode(&started); err != nil || started.Run.ID == "" {
		return "", fmt.Errorf("start %s: the answer names no run: %w", name, err)
	}
	return started.Run.ID, nil
}

// statusOf reads the status of a run.
func (s *server) statusOf(ctx context.Context, id string) (string, error) {
	text, err := s.get(ctx, "/runs/"+id+"?short=true&open=true") // ended items would be most of the answer
	if err != nil {
		return "", err
	}
	var found struct{ Run struct{ Status string } }
	err = json.Unmarshal(text, &found)
	return found.Run.Status, err
}

// stop ends the server as an operator does, and waits for it.
func (s *server) stop() error { return s.end(syscall.SIGTERM) }

// kill ends it as a power failure does.
func (s *server) kill() error { return s.end(syscall.SIGKILL) }

func (s *server) end(signal syscall.Signal) (err error) {
	s.ended.Do(func() {
		err = s.command.Process.Signal(signal)
		_ = s.command.Wait() // by that signal, or with its code
	})
	return err
}
