// Command flowrun-plugin-analytics is the plugin analytics as a program of its own.
package main

import (
	_ "time/tzdata" // date_zone holds on machines without a zone database

	"github.com/flowrun/flowrun/plugins/analytics"
)

func main() { analytics.New().Serve() }
