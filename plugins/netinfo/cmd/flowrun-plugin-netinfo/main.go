// Command flowrun-plugin-netinfo is the plugin netinfo as a program of its own.
package main

import "github.com/flowrun/flowrun/plugins/netinfo"

func main() { netinfo.New().Serve() }
