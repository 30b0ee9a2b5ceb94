package openapisim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/openapi"
)

// tokenPath is where the simulator gives tokens.
const tokenPath = "/_sim_token"

// Options are what a simulator's program takes from its surroundings.
type Options struct {
	Stdin  io.Reader // the simulator ends with it
	Stdout io.Writer // takes the config of a connection, one JSON object
	Now    func() time.Time
	Open   func(path string) ([]byte, error) // nil = reads files
}

// Serve is the program that stands for a service: settings are those of the plugin, as
// JSON, with paths as it can open them. It listens on this machine, prints the config of
// a connection to itself, and serves until its stdin ends.
func Serve(ctx context.Context, settings string, o Options) error {
	service, err := read(settings, o)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the simulator: %w", err)
	}
	server := &http.Server{Handler: New(service, simkit.Options{Now: o.Now}), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer server.Close()                       //nolint:errcheck // it ends with the process
	config, err := json.Marshal(service.SimulatedConfig("http://"+listener.Addr().String(), tokenPath))
	if err != nil {
		return fmt.Errorf("write the simulator's config: %w", err)
	}
	if _, err := fmt.Fprintf(o.Stdout, "%s\n", config); err != nil {
		return fmt.Errorf("write the simulator's config: %w", err)
	}
	_, _ = io.Copy(io.Discard, o.Stdin) // however it ends, the host is gone
	return nil
}

func read(text string, o Options) (*openapi.Service, error) {
	var settings openapi.Settings
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		return nil, fmt.Errorf("read the settings of the simulator: %w", err)
	}
	open := o.Open
	if open == nil {
		open = os.ReadFile
	}
	var files openapi.Files
	var err error
	if files.Document, err = open(settings.Document); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	if settings.Overlay != "" {
		if files.Overlay, err = open(settings.Overlay); err != nil {
			return nil, fmt.Errorf("read the overlay: %w", err)
		}
	}
	return openapi.Read(settings, files)
}
