// Command thirdparty looks after third_party: copies of libraries with a patch each,
// which makes state of their packages when it is first used (ADR 75).
//
// Run it from the repository's root: go -C tools run ./thirdparty check.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

// root is the folder of the copies as seen from the module of the tools.
const root = "../third_party"

const usage = `usage: thirdparty COMMAND
  check   each copy is what its authors published, with its patch
  write   makes the copies so
  diff    makes the patches of what differs in the copies`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, root, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "thirdparty:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, args []string, out io.Writer) error {
	commands := map[string]func(context.Context, string, copied) error{"check": check, "write": write, "diff": diff}
	if len(args) != 1 || commands[args[0]] == nil {
		return errors.New(usage)
	}
	all, err := readModules(root)
	if err != nil {
		return err
	}
	var failed error
	for _, c := range all {
		if err := commands[args[0]](ctx, root, c); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", filepath.Join("third_party", c.Folder), err))
		}
	}
	if failed == nil {
		fmt.Fprintf(out, "%d libraries in third_party: %s\n", len(all), args[0])
	}
	return failed
}
