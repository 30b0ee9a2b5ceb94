// Command send posts its stdin to an address: a command of a notify target.
package main

import (
	"net/http"
	"os"
)

func main() {
	response, err := http.Post(os.Args[1], "application/json", os.Stdin)
	if err != nil {
		os.Exit(1)
	}
	_ = response.Body.Close()
}
