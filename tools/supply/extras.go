package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shells are those that flowrun writes completions for, with the name under which each
// looks for its file.
func shells() map[string]string {
	return map[string]string{"bash": "flowrun.bash", "zsh": "_flowrun", "fish": "flowrun.fish", "powershell": "flowrun.ps1"}
}

// extras has a program of this machine's system write the completions of shells and the
// manual pages: both are made of its tree of commands.
func extras(ctx context.Context, content []byte, commit time.Time) ([]entry, error) {
	dir, err := os.MkdirTemp("", "flowrun-pages-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for manual pages: %w", err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "flowrun")
	if err := os.WriteFile(program, content, 0o700); err != nil {
		return nil, fmt.Errorf("write the program: %w", err)
	}
	ask := func(args ...string) ([]byte, error) {
		command := exec.CommandContext(ctx, program, args...)
		command.Dir, command.Env = dir, []string{"HOME=" + dir, "SOURCE_DATE_EPOCH=" + strconv.FormatInt(commit.Unix(), 10)}
		output, err := command.Output()
		if err != nil {
			return nil, fmt.Errorf("flowrun %s: %w", strings.Join(args, " "), err)
		}
		return output, nil
	}
	var files []entry
	for shell, name := range shells() {
		script, err := ask("completion", shell)
		if err != nil {
			return nil, err
		}
		files = append(files, entry{"completions/" + name, 0o644, script})
	}
	if _, err := ask("man", "--dir", "man"); err != nil {
		return nil, err
	}
	pages, err := filepath.Glob(filepath.Join(dir, "man", "*.1"))
	if err != nil {
		return nil, fmt.Errorf("list the manual pages: %w", err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, fmt.Errorf("read a manual page: %w", err)
		}
		files = append(files, entry{"man/man1/" + filepath.Base(page), 0o644, text})
	}
	slices.SortFunc(files, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return files, nil
}
