// Command supply looks after what goes out with flowrun: the licences of the
// modules in it, their list, the archives and images of a release, and its signature.
//
// Run it from the repository's root: go -C tools run ./supply licences, or
// go -C tools run ./supply release.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// root is the repository as seen from the module of the tools.
const root = ".."

// dist is where a release is written.
const dist = "../dist"

// program is what goes out.
const program = "./cmd/flowrun"

const usage = `usage: supply COMMAND
  licences                  the licence of each module is allowed
  release [--key FILE] [--only SYSTEM,..]
                            archives, images, sums and their signature, in dist; a system is linux_amd64
  check [--public FILE]     the release in dist is whole, signed, and does its first steps
  image                     the image for this machine's architecture, in dist
  reproduce                 two builds of one commit are the same
  rootfs DIR                the files of the image, for the Dockerfile
  key FILE                  a new key to sign releases with`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv(keyVariable), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "supply:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, keyText string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet("supply", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	keyFile := flags.String("key", "", "")
	publicFile := flags.String("public", "", "")
	only := flags.String("only", "", "")
	if err := flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("%w\n%s", err, usage)
	}
	command, rest := args[0], flags.Args()
	switch {
	case command == "licences" && len(rest) == 0:
		return checkLicences(ctx, out)
	case command == "release" && len(rest) == 0:
		key, err := readKey(*keyFile, keyText)
		if err != nil {
			return err
		}
		wanted, err := chosen(*only)
		if err != nil {
			return err
		}
		if err := release(ctx, root, dist, wanted, key, out); err != nil {
			return err
		}
		return check(ctx, dist, publicOf(key), out)
	case command == "check" && len(rest) == 0:
		public, err := pinnedKey(*publicFile)
		if err != nil {
			return err
		}
		return check(ctx, dist, public, out)
	case command == "image" && len(rest) == 0:
		return makeImage(ctx, root, dist, out)
	case command == "reproduce" && len(rest) == 0:
		return reproduce(ctx, out)
	case command == "rootfs" && len(rest) == 1:
		return rootfs(ctx, root, rest[0], out)
	case command == "key" && len(rest) == 1:
		return makeKey(rest[0], out)
	}
	return errors.New(usage)
}
