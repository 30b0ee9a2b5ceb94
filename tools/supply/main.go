// Command supply looks after what goes out with flowrun: the licences of the
// modules in it, their list, and the archives of a release.
//
// Run it from the repository's root: go -C tools run ./supply licences, or
// go -C tools run ./supply release.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// root is the repository as seen from the module of the tools.
const root = ".."

// program is what goes out.
const program = "./cmd/flowrun"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "supply:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	switch {
	case len(args) == 1 && args[0] == "licences":
		return checkLicences(ctx, out)
	case len(args) == 1 && args[0] == "release":
		return release(ctx, root, "../dist", targets(), out)
	case len(args) == 1 && args[0] == "reproduce":
		return reproduce(ctx, out)
	}
	return errors.New("usage: supply licences|release|reproduce")
}
