// Command flowrun-plugin-tasks is the plugin tasks as a program of its own.
package main

import "github.com/flowrun/flowrun/plugins/tasks"

func main() { tasks.New().Serve() }
