// Command flowrun-plugin-http is the plugin http as a program of its own.
package main

import "github.com/flowrun/flowrun/plugins/http"

func main() { http.New().Serve() }
