// Command flowrun-plugin-openapi is the plugin openapi as a program of its own. With
// `simulate SETTINGS` it stands for the service that the settings name.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/flowrun/flowrun/plugins/openapi"
	"github.com/flowrun/flowrun/plugins/openapi/openapisim"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "simulate" {
		if err := openapisim.Serve(context.Background(), os.Args[2], openapisim.Options{Stdin: os.Stdin, Stdout: os.Stdout, Now: time.Now}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	openapi.NewWith(openapi.Options{Simulator: []string{"flowrun-plugin-openapi", "simulate"}}).Serve()
}
