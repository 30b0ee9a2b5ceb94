// Package sandbox starts simulators of the services behind the bundled plugins
// on the loopback interface, and says which connections point at them.
package sandbox

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/plugins/mail/mailsim"
)

// Rate is the rate limit of every simulator and of the connections to them: the
// services' own 60 a minute would make a first try wait.
const Rate = "60/10s"

// The same rate for the simulators.
const (
	rateRequests = 60
	rateWindow   = 10 * time.Second
)

// rate is the rate limit with the window of the options.
func (o Options) rate() string { return fmt.Sprintf("%d/%s", rateRequests, o.Window) }

// Options are what the simulators take from their surroundings.
type Options struct {
	Now    func() time.Time
	Random io.Reader // of the throw-away certificate authority
	// ApproveAfter is how long the simulator of logins waits for a person before it
	// approves a code by itself; 0 = for ever.
	ApproveAfter time.Duration
	Window       time.Duration // of the rate limits; 0 = that of Rate
	Interval     time.Duration // between two polls of a login; 0 = 5 s
}

// Service is one simulator that runs.
type Service struct {
	Plugin string
	Config json.RawMessage // of a connection to it
	Keep   []string        // settings of the declared connection that hold besides
	Rate   string          // "" = there is no limit
	URL    string          // "" = the plugin simulates itself
}

// simulator is one service that can be simulated.
type simulator struct {
	plugin  string
	handler http.Handler
	tls     bool // it speaks HTTPS only
	config  func(place) map[string]any
}

// place is where a simulator was put.
type place struct {
	url    string
	caFile string // PEM file with the certificate authority of all that speak HTTPS
}

// Sandbox is a set of running simulators.
type Sandbox struct {
	rate      string
	services  []Service
	servers   []*http.Server
	externals []*external
	mail      *mailsim.Sim // takes mail beside its page
	approve   string       // command that approves a login
	folder    string       // holds the certificate of the sandbox's own authority; removed at the end
}

// Start starts every simulator on a port of 127.0.0.1 of its own. Their data is
// the same at every start.
func Start(o Options) (*Sandbox, error) {
	o.Window = cmp.Or(o.Window, rateWindow)
	s := &Sandbox{rate: o.rate()}
	identity, err := s.newIdentity(o)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	page, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the page of the sandbox's logins: %w", err), s.Close())
	}
	address := "http://" + page.Addr().String() + "/device"
	s.approve = "curl -d decision=approve -d user_code=" + CodeMark + " " + address
	login := authorization(o, address)
	s.serve(page, login.Page())
	for _, simulator := range simulators(o, login) {
		if err := s.start(simulator, identity); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err := s.startMail(o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	id, err := newID(o.Random)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.services = append(s.services, local(id)...)
	order.Sort(s.services, func(a, b Service) int { return strings.Compare(a.Plugin, b.Plugin) })
	return s, nil
}

// serve answers on a listener until Close. What a client does wrong is its own to
// tell.
func (s *Sandbox) serve(listener net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(listener) }() // ends with Close, whose error is the one that counts
	s.servers = append(s.servers, server)
}

// identity is what the simulators that speak HTTPS show, and what trusts them.
type identity struct {
	certificate tls.Certificate
	caFile      string
}

// newIdentity makes a certificate authority for this sandbox alone. Its key is
// never stored.
func (s *Sandbox) newIdentity(o Options) (identity, error) {
	certificate, authority, err := authsim.Certificate(o.Now(), o.Random)
	if err != nil {
		return identity{}, fmt.Errorf("make a certificate for the sandbox: %w", err)
	}
	if s.folder, err = os.MkdirTemp("", "flowrun-sandbox-"); err != nil {
		return identity{}, fmt.Errorf("make a folder for the sandbox: %w", err)
	}
	caFile := filepath.Join(s.folder, "ca.pem")
	if err := os.WriteFile(caFile, authority, 0o600); err != nil {
		return identity{}, fmt.Errorf("write the sandbox's certificate: %w", err)
	}
	return identity{certificate, caFile}, nil
}

func (s *Sandbox) start(simulator simulator, id identity) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the simulator of %s: %w", simulator.plugin, err)
	}
	url := "http://" + listener.Addr().String()
	if simulator.tls {
		url = "https://" + listener.Addr().String()
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{id.certificate}, MinVersion: tls.VersionTLS12})
	}
	config, err := json.Marshal(simulator.config(place{url, id.caFile}))
	if err != nil {
		return errors.Join(fmt.Errorf("encode the connection of %s: %w", simulator.plugin, err), listener.Close())
	}
	s.serve(listener, simulator.handler)
	s.services = append(s.services, Service{Plugin: simulator.plugin, Config: config, Rate: s.rate, URL: url})
	return nil
}

// CodeMark stands for the code of a login in the command that approves it.
const CodeMark = "CODE"

// ApproveCommand is the command that approves a login, with CodeMark in the place of
// its code.
func (s *Sandbox) ApproveCommand() string { return s.approve }

// Services returns what runs, in the order of the plugins' names.
func (s *Sandbox) Services() []Service { return s.services }

// Names returns the plugins whose services run.
func (s *Sandbox) Names() []string {
	var names []string
	for _, service := range s.services {
		if service.URL != "" {
			names = append(names, service.Plugin)
		}
	}
	return names
}

// Project returns a flowrun.yaml whose connections point at the simulators.
func (s *Sandbox) Project() []byte {
	var out strings.Builder
	out.WriteString("# made by `flowrun sandbox`; it holds as long as that runs\n# mail is kept and not delivered: " + s.Mail() + "\nconnections:\n")
	for _, service := range s.services {
		fmt.Fprintf(&out, "  %s:\n    plugin: %s\n    config: %s\n", service.Plugin, service.Plugin, service.Config)
		if service.Rate != "" {
			fmt.Fprintf(&out, "    rate: %s\n", service.Rate)
		}
	}
	return []byte(out.String())
}

// Close stops the simulators and cuts off what is in flight.
func (s *Sandbox) Close() error {
	var errs []error
	for _, running := range s.externals {
		running.end()
	}
	for _, server := range s.servers {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if err := server.Shutdown(ctx); err != nil {
			errs = append(errs, server.Close())
		}
		cancel()
	}
	if s.mail != nil {
		s.mail.Close()
	}
	if s.folder != "" {
		errs = append(errs, os.RemoveAll(s.folder))
	}
	return errors.Join(errs...)
}

// Line says in one line what runs and how it differs from the services.
func (s *Sandbox) Line() string {
	return fmt.Sprintf("sandbox: simulators of %s on 127.0.0.1, rate limit %s instead of 60/min", strings.Join(s.Names(), ", "), s.rate)
}
