// Package program makes the programs that are measured: as users have them.
package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Build makes a program of the module as releases are made, without what cuts its size. The
// file is a copy of what the linker made, as that of a release is that was unpacked: the
// linker writes through a map, a page at a time, and the kernel keeps such a file in single
// pages. To map those at a start took 2 of 17 ms more than to map those of a copy.
func Build(ctx context.Context, path, source string, release bool) error {
	linked := path + ".linked"
	args := []string{"build", "-o", linked, "-ldflags=-s -w -buildid=", "-trimpath"}
	if release {
		args = append(args, "-tags=grpcnotrace")
	}
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: the scenarios build what they measure, in its folder: %w", err)
	}
	command := exec.CommandContext(ctx, "go", append(args, "./"+source)...)
	command.Dir = strings.TrimSpace(string(root))
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // a linker of C's at each start took 2 ms of the 18 of a whole command
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", source, err, output)
	}
	if err := copyProgram(path, linked); err != nil {
		return fmt.Errorf("build %s: %w", source, err)
	}
	return os.Remove(linked)
}

func copyProgram(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
