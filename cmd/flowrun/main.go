// Command flowrun runs YAML workflows durably, with services as plugins.
package main

import (
	"os"

	"github.com/flowrun/flowrun/internal/cli"
)

func main() { os.Exit(cli.Run(os.Args[1:], cli.Host())) }
