// Package sandbox starts simulators of the services behind the bundled plugins
// on the loopback interface, and says which connections point at them.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Rate is the rate limit of every simulator and of the connections to them: the
// services' own 60 a minute would make a first try wait.
const Rate = "60/10s"

// The same rate for the simulators.
const (
	rateRequests = 60
	rateWindow   = 10 * time.Second
)

// Options are what the simulators take from their surroundings.
type Options struct {
	Now func() time.Time
}

// Service is one simulator that runs.
type Service struct {
	Plugin string
	Config json.RawMessage // of a connection to it
	Rate   string
	URL    string
}

// simulator is one service that can be simulated.
type simulator struct {
	plugin  string
	handler http.Handler
	config  func(url string) map[string]string
}

// Sandbox is a set of running simulators.
type Sandbox struct {
	services []Service
	servers  []*http.Server
}

// Start starts every simulator on a port of 127.0.0.1 of its own. Their data is
// the same at every start.
func Start(o Options) (*Sandbox, error) {
	s := new(Sandbox)
	for _, simulator := range simulators(o) {
		if err := s.start(simulator); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Sandbox) start(simulator simulator) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the simulator of %s: %w", simulator.plugin, err)
	}
	url := "http://" + listener.Addr().String()
	config, err := json.Marshal(simulator.config(url))
	if err != nil {
		return errors.Join(fmt.Errorf("encode the connection of %s: %w", simulator.plugin, err), listener.Close())
	}
	server := &http.Server{Handler: simulator.handler, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close, whose error is the one that counts
	s.servers = append(s.servers, server)
	s.services = append(s.services, Service{Plugin: simulator.plugin, Config: config, Rate: Rate, URL: url})
	return nil
}

// Services returns what runs, in the order of the plugins' names.
func (s *Sandbox) Services() []Service { return s.services }

// Names returns the plugins whose services run.
func (s *Sandbox) Names() []string {
	names := make([]string, len(s.services))
	for i, service := range s.services {
		names[i] = service.Plugin
	}
	return names
}

// Project returns a flowrun.yaml whose connections point at the simulators.
func (s *Sandbox) Project() []byte {
	var out strings.Builder
	out.WriteString("# made by `flowrun sandbox`; it holds as long as that runs\nconnections:\n")
	for _, service := range s.services {
		fmt.Fprintf(&out, "  %s:\n    plugin: %s\n    config: %s\n    rate: %s\n", service.Plugin, service.Plugin, service.Config, service.Rate)
	}
	return []byte(out.String())
}

// Close stops the simulators and cuts off what is in flight.
func (s *Sandbox) Close() error {
	var errs []error
	for _, server := range s.servers {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if err := server.Shutdown(ctx); err != nil {
			errs = append(errs, server.Close())
		}
		cancel()
	}
	return errors.Join(errs...)
}

// Line says in one line what runs and how it differs from the services.
func (s *Sandbox) Line() string {
	return fmt.Sprintf("sandbox: simulators of %s on 127.0.0.1, rate limit %s instead of 60/min; nothing leaves this machine",
		strings.Join(s.Names(), ", "), Rate)
}
