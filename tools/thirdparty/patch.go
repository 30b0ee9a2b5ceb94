package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// check fails where a copy is not what was published, with the patch.
func check(ctx context.Context, root string, c copied) error {
	return inTemp(func(dir string) error {
		want := filepath.Join(dir, "a")
		if err := patched(ctx, root, want, c); err != nil {
			return err
		}
		differs, err := difference(ctx, dir, filepath.Join(root, c.Folder))
		if err != nil {
			return err
		}
		if len(differs) > 0 {
			return fmt.Errorf("it is not what was published with its patch: `go -C tools run ./thirdparty write` makes it so, `diff` makes the patch of it\n%s", differs)
		}
		return nil
	})
}

// write makes a copy what was published, with the patch.
func write(ctx context.Context, root string, c copied) error {
	return inTemp(func(dir string) error {
		made := filepath.Join(dir, "a")
		if err := patched(ctx, root, made, c); err != nil {
			return err
		}
		target := filepath.Join(root, c.Folder)
		if err := os.RemoveAll(target); err != nil {
			return fmt.Errorf("write the copy: %w", err)
		}
		if err := os.CopyFS(target, os.DirFS(made)); err != nil {
			return fmt.Errorf("write the copy: %w", err)
		}
		return nil
	})
}

// diff makes the patch of what differs in a copy from what was published.
func diff(ctx context.Context, root string, c copied) error {
	return inTemp(func(dir string) error {
		if err := c.published(ctx, filepath.Join(dir, "a")); err != nil {
			return err
		}
		differs, err := difference(ctx, dir, filepath.Join(root, c.Folder))
		if err != nil {
			return err
		}
		file := patchOf(root, c)
		if len(differs) == 0 {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove the patch: %w", err)
			}
			return nil
		}
		if err := os.WriteFile(file, differs, 0o644); err != nil { //nolint:gosec // source
			return fmt.Errorf("write the patch: %w", err)
		}
		return nil
	})
}

func patchOf(root string, c copied) string {
	return filepath.Join(root, "patches", c.Folder+".patch")
}

// patched puts what was published into a folder, and the patch on it where there is one.
func patched(ctx context.Context, root, into string, c copied) error {
	if err := c.published(ctx, into); err != nil {
		return err
	}
	file, err := filepath.Abs(patchOf(root, c))
	if err != nil {
		return fmt.Errorf("find the patch: %w", err)
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil // files are left out, and no more
	}
	apply := exec.CommandContext(ctx, "git", "apply", "-p1", file)
	apply.Dir, apply.Env = into, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(into))
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("apply %s: %w\n%s", filepath.Base(file), err, out)
	}
	return nil
}

// difference compares the folder a of dir with a copy, as a patch.
func difference(ctx context.Context, dir, tree string) ([]byte, error) {
	if err := os.CopyFS(filepath.Join(dir, "b"), os.DirFS(tree)); err != nil {
		return nil, fmt.Errorf("read the copy: %w", err)
	}
	// What people set for themselves does not show in a patch.
	compare := exec.CommandContext(ctx, "git", "-c", "core.abbrev=12", "diff", "--no-index", "--no-prefix", "--no-color", "--no-ext-diff", "a", "b")
	compare.Dir, compare.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	var stderr bytes.Buffer
	compare.Stderr = &stderr
	out, err := compare.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("compare: %w\n%s", err, stderr.Bytes())
	}
	return nil, nil
}

// inTemp calls do with a folder that ends with the call.
func inTemp(do func(dir string) error) error {
	dir, err := os.MkdirTemp("", "flowrun-third-party-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	return do(dir)
}
