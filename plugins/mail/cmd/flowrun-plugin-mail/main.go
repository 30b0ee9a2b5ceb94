// Command flowrun-plugin-mail is the plugin mail as a program of its own.
package main

import "github.com/flowrun/flowrun/plugins/mail"

func main() { mail.New().Serve() }
