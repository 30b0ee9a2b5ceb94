// Command flowrun runs YAML workflows durably, with services as plugins.
package main

import (
	"os"
	_ "time/tzdata" // time zones hold on machines without a zone database

	"github.com/flowrun/flowrun/internal/cli"
)

func main() { os.Exit(cli.Run(os.Args[1:], cli.Host())) }
