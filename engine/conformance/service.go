package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// service stands between the plugin and its service: it sees the requests, and holds,
// loses or answers them where a case asks for it. Without a service behind it it is the
// kit's stub. Safe for concurrent use.
type service struct {
	url     string
	server  *http.Server
	secured *http.Server // with HTTPS; nil = none
	answers []Answer
	client  *http.Client
	// keepsHost: what is behind is told the kit's own host, as if it were called by the
	// plugin, so that the addresses in its answers lead here.
	keepsHost bool

	mu       sync.Mutex
	upstream *url.URL // nil = the stub answers
	requests []*request
	mode     mode
	fault    Answer        // of modeAnswer
	release  chan struct{} // closed when held requests go on
	inFlight int
	peak     int
	together chan struct{} // closed when two requests were in flight
}

// mode is what becomes of requests.
type mode int

const (
	modePass   mode = iota
	modeHold        // they are handed on, and their answers held until the end of the case
	modeStall       // they are not even handed on
	modeLose        // they are handed on, and the connection is closed in place of the answer
	modeAnswer      // they are answered with a fault
	modePair        // they are answered when two are in flight
)

// request is one that came.
type request struct {
	method, uri string
	body        string
	answer      string        // what the service said
	arrived     chan struct{} // closed when the service has done its part
	gone        chan struct{} // closed when the plugin gave it up, or has its answer
}

// effects reports whether a request may change something.
func (r *request) effects() bool { return r.method != http.MethodGet && r.method != http.MethodHead }

func (r *request) String() string { return r.method + " " + r.uri + " " + r.body }

func serveService(upstream string, answers []Answer) (*service, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for requests to the service: %w", err)
	}
	s := &service{url: "http://" + listener.Addr().String(), answers: answers, client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if upstream != "" {
		if err := s.handOn(upstream); err != nil {
			return nil, err
		}
	}
	s.server = s.newServer()
	go func() { _ = s.server.Serve(listener) }() // ends with close
	return s, nil
}

func (s *service) newServer() *http.Server {
	return &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
}

// handOn hands the requests on to a service.
func (s *service) handOn(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fmt.Errorf("the address of the service %q is no URL", address)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.upstream = &url.URL{Scheme: u.Scheme, Host: u.Host}
	return nil
}

func (s *service) close() {
	s.pass()
	_ = s.server.Close()
	if s.secured != nil {
		_ = s.secured.Close()
	}
	s.client.CloseIdleConnections()
}

// set makes a mode for the requests from now on, and forgets those before.
func (s *service) set(m mode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.release != nil {
		close(s.release)
	}
	s.mode, s.release, s.requests, s.peak, s.together = m, make(chan struct{}), nil, 0, make(chan struct{})
}

func (s *service) pass() { s.set(modePass) }

func (s *service) answerWith(a Answer) {
	s.set(modeAnswer)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = a
}

// passes reports whether requests are handed on as they come.
func (s *service) passes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode == modePass
}

// letGo lets held requests go on, and those to come pass; what was seen stays.
func (s *service) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mode != modePass {
		close(s.release)
		s.mode, s.release = modePass, make(chan struct{})
	}
}

// seen are the requests since the last set.
func (s *service) seen() []*request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*request{}, s.requests...)
}

// await waits for a request of which the service has done its part.
func (s *service) await(ctx context.Context, limit time.Duration) *request {
	for deadline := time.After(limit); ; {
		if seen := s.seen(); len(seen) > 0 {
			last := seen[len(seen)-1]
			select {
			case <-last.arrived:
				return last
			default:
			}
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// ServeHTTP takes a request of the plugin.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return // it was given up
	}
	came := &request{method: r.Method, uri: r.URL.RequestURI(), body: string(body), arrived: make(chan struct{}), gone: make(chan struct{})}
	defer close(came.gone)
	s.mu.Lock()
	s.requests = append(s.requests, came)
	mode, release, together, fault := s.mode, s.release, s.together, s.fault
	if s.inFlight++; s.inFlight > s.peak {
		s.peak = s.inFlight
		if s.peak == 2 {
			close(together)
		}
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inFlight--
	}()
	if mode == modeStall {
		close(came.arrived)
		waitFor(r.Context(), release, caseLimit)
		return
	}
	status, header, text := s.ask(r, body, mode, fault)
	s.mu.Lock()
	came.answer = string(text)
	s.mu.Unlock()
	close(came.arrived)
	switch mode {
	case modeHold:
		waitFor(r.Context(), release, caseLimit)
	case modePair:
		if waitFor(r.Context(), together, 3*time.Second) {
			s.letGo() // no two come: those behind need not wait as well
		}
	case modeLose:
		panic(http.ErrAbortHandler) // net/http closes the connection
	}
	for name, values := range header {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// waitFor waits for what, or for the request's end, and reports whether neither came within the limit.
func waitFor(ctx context.Context, what <-chan struct{}, limit time.Duration) bool {
	select {
	case <-what:
		return false
	case <-ctx.Done():
		return false
	case <-time.After(limit):
		return true
	}
}

// ask is the answer of the service, of the stub, or the fault that is asked for.
func (s *service) ask(r *http.Request, body []byte, m mode, fault Answer) (int, http.Header, []byte) {
	s.mu.Lock()
	upstream := s.upstream
	s.mu.Unlock()
	switch {
	case m == modeAnswer:
		return fault.write()
	case upstream == nil:
		for _, a := range s.answers {
			if a.fits(r) {
				return a.write()
			}
		}
		return http.StatusNotFound, http.Header{"Content-Type": {"application/json"}}, []byte(`{"error":"not_found"}`)
	}
	status, header, text, err := s.forward(r, body, upstream)
	if err != nil {
		return http.StatusBadGateway, nil, []byte(err.Error())
	}
	return status, header, text
}

func (s *service) forward(r *http.Request, body []byte, upstream *url.URL) (int, http.Header, []byte, error) {
	// What the plugin gives up is done all the same: a service does not know.
	request, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, upstream.String()+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("hand on a request: %w", err)
	}
	request.Header = r.Header.Clone()
	request.Header.Del("Connection")
	if s.keepsHost {
		request.Host = r.Host
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("hand on a request: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, nil, nil, fmt.Errorf("read the answer of the service: %w", err)
	}
	header := response.Header.Clone()
	header.Del("Content-Length")
	header.Del("Transfer-Encoding")
	return response.StatusCode, header, text, nil
}

// fits reports whether an answer is one to the request.
func (a Answer) fits(r *http.Request) bool {
	path, open := strings.CutSuffix(a.Path, "*")
	at := a.Path == "" || r.URL.Path == a.Path || r.URL.RequestURI() == a.Path || open && strings.HasPrefix(r.URL.Path, path)
	return at && (a.Method == "" || strings.EqualFold(a.Method, r.Method))
}

func (a Answer) write() (int, http.Header, []byte) {
	header := http.Header{"Content-Type": {"application/json"}}
	for name, value := range a.Headers {
		header.Set(name, value)
	}
	text := []byte(a.Body)
	var plain string
	if json.Unmarshal(a.Body, &plain) == nil {
		text = []byte(plain)
	}
	return cmp.Or(a.Status, http.StatusOK), header, text
}
