package jobs

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// request is what a counterpart was asked.
type request struct {
	Method, Path, Query string
	Header              http.Header
	Body                string
}

// service is a counterpart: it keeps what it was asked, and answers.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	asked []request
}

// serve starts a counterpart. answer is asked for one request at a time.
func serve(t *testing.T, answer func(w http.ResponseWriter, r request, count int)) *service {
	t.Helper()
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender is gone
		}
		one := request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header, Body: string(body)}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, one)
		answer(w, one, len(s.asked))
	}))
	t.Cleanup(s.Close)
	return s
}

// requests are those of the path, "" = all.
func (s *service) requests(path string) (some []request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.asked {
		if path == "" || one.Path == path {
			some = append(some, one)
		}
	}
	return some
}

func answerJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the asker sees what is missing
}

// decoded is the text of a JSON body.
func decoded[T any](t *testing.T, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// until waits for something that is to become true.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// server starts `flowrun serve` for the job, and returns its address.
func (j *job) server(t *testing.T) string {
	t.Helper()
	command := j.command(t, "serve", "--listen", "127.0.0.1:0")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command.Stderr = log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt) // it may have ended
		_ = command.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the server said:\n%s", text)
		}
	})
	var owner struct{ URL string }
	until(t, "the server listens", func() bool {
		text, err := os.ReadFile(filepath.Join(j.dir, ".flowrun", "state", "owner.json"))
		return err == nil && json.Unmarshal(text, &owner) == nil && owner.URL != ""
	})
	return owner.URL
}
