// Command flowrun-plugin-dictionary is the plugin dictionary as a program of its
// own.
package main

import "github.com/flowrun/flowrun/plugins/dictionary"

func main() { dictionary.New().Serve() }
