// Command flowrun-plugin-openapi is the plugin openapi as a program of its own.
package main

import "github.com/flowrun/flowrun/plugins/openapi"

func main() { openapi.New().Serve() }
