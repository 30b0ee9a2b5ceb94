// Command flowrun-plugin-files is the plugin files as a program of its own.
package main

import "github.com/flowrun/flowrun/plugins/files"

func main() { files.New().Serve() }
