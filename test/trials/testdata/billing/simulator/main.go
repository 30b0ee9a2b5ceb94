// Command simulator serves the stand-in of the billing service until stdin ends, and
// prints the config of a connection to it.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/flowrun/flowrun/test/trials/testdata/billing/sim"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Printf("{\"base_url\":\"http://%s\",\"client_id\":\"me\",\"client_secret\":\"s3cret-s3cret\"}\n", listener.Addr())
	_ = http.Serve(listener, sim.New())
}
