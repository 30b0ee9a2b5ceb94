// Command flowrun-plugin-exec is the plugin exec as a program of its own.
package main

import "github.com/flowrun/flowrun/plugins/exec"

func main() { exec.New().Serve() }
