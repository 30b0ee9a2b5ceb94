// Command flowrun-plugin-auth is the plugin auth as a program of its own.
package main

import "github.com/flowrun/flowrun/plugins/auth"

func main() { auth.New().Serve() }
