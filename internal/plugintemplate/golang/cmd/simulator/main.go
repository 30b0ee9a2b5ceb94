// Command simulator stands for the service in a sandbox: it prints the config of a
// connection to itself, and serves until its stdin ends.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/flowrun/flowrun/internal/plugintemplate/golang/sim"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: sim.New(), ReadHeaderTimeout: 5 * time.Second}
	go func() { log.Fatal(server.Serve(listener)) }()
	config := map[string]string{"base_url": "http://" + listener.Addr().String(), "key": sim.Key}
	if err := json.NewEncoder(os.Stdout).Encode(config); err != nil {
		log.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is the end of the sandbox
}
