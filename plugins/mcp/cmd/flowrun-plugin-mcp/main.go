// Command flowrun-plugin-mcp is the plugin mcp as a program of its own. With `simulate` it
// stands for a server.
package main

import (
	"fmt"
	"os"

	"github.com/flowrun/flowrun/plugins/mcp"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "simulate" {
		if err := mcp.Simulate(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	mcp.New("flowrun-plugin-mcp", "simulate").Serve()
}
