// Package testbuild makes the programs that tests run. A program is linked once for
// all packages, and again when its source has changed: what was made stays in the
// user's cache folder, where `go build` sees by itself whether it is up to date.
package testbuild

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Program puts the program of a package at path: its folder is named from the
// working directory, and the flags are those of `go build`. It has no debug
// information and no mark of the repository's state. Each caller has a file of its
// own, whose processes can be told from those of others. Safe for concurrent use, also
// by several processes.
func Program(path, source string, flags ...string) error {
	args := append([]string{"build", "-buildvcs=false", "-ldflags=-s -w"}, flags...)
	cache, err := os.UserCacheDir()
	if err != nil {
		return build(path, source, args)
	}
	cache = filepath.Join(cache, "flowrun-tests")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return fmt.Errorf("a folder for the programs of tests: %w", err)
	}
	key, err := keyOf(source, args)
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(cache, key+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the programs of tests: %w", err)
	}
	defer lock.Close() // which unlocks
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock the programs of tests: %w", err)
	}
	shared := filepath.Join(cache, key)
	if err := bring(shared, source, args); err != nil {
		return err
	}
	return Copy(path, shared)
}

// current is how programs were when this process saw that they are up to date, by the
// place of their source: to ask again takes half a second of a processor.
var current sync.Map

// bring makes the shared program where it is not up to date, or may not be: another
// checkout may have put its own there since.
func bring(shared, source string, args []string) error {
	folder, err := filepath.Abs(source)
	if err != nil {
		return fmt.Errorf("find %s: %w", source, err)
	}
	id := shared + "\x00" + folder
	if before, ok := current.Load(id); ok && !slices.Contains(args, "-overlay") && before == stampOf(shared) {
		return nil
	}
	if err := build(shared, source, args); err != nil {
		return err
	}
	current.Store(id, stampOf(shared))
	return nil
}

// stamp changes with every write of a file.
type stamp struct {
	written time.Time
	size    int64
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{size: -1}
	}
	return stamp{info.ModTime(), info.Size()}
}

// Copy copies a program, by another process: a file that this one has open for
// writing would be inherited by what tests beside start, and can't be executed
// meanwhile. A hard link would change the original, which is refused while it is
// read.
func Copy(path, program string) error {
	if output, err := exec.Command("cp", program, path).CombinedOutput(); err != nil {
		return fmt.Errorf("copy a program: %w\n%s", err, output)
	}
	return nil
}

func build(path, source string, args []string) error {
	command := exec.Command("go", append(slices.Clone(args), "-o", path, source)...)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", source, err, output)
	}
	return nil
}

// keyOf names what a program is made of: its package's place in the module, the flags,
// and the files that an overlay replaces. Other checkouts of the module use the same
// file, one after the other.
func keyOf(source string, args []string) (string, error) {
	folder, err := filepath.Abs(source)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", source, err)
	}
	root := folder
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		above := filepath.Dir(root)
		if above == root {
			return "", fmt.Errorf("%s lies in no module", source)
		}
		root = above
	}
	inside, err := filepath.Rel(root, folder)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", source, err)
	}
	settings, err := settings()
	if err != nil {
		return "", fmt.Errorf("ask for the settings of go: %w", err)
	}
	parts := append([]string{filepath.ToSlash(inside), string(settings)}, args...)
	if i := slices.Index(parts, "-overlay"); i >= 0 {
		replaced, err := replacedBy(parts[i+1], root)
		if err != nil {
			return "", err
		}
		parts = slices.Replace(parts, i+1, i+2, replaced...)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return filepath.Base(folder) + "-" + hex.EncodeToString(sum[:8]), nil
}

// replacedBy returns the files that an overlay replaces, as they lie below root.
func replacedBy(overlay, root string) (files []string, err error) {
	text, err := os.ReadFile(overlay)
	if err != nil {
		return nil, fmt.Errorf("read the overlay: %w", err)
	}
	var content struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("read the overlay %s: %w", overlay, err)
	}
	for _, file := range slices.Sorted(maps.Keys(content.Replace)) {
		files = append(files, strings.TrimPrefix(file, root))
	}
	return files, nil
}

// settings are those of go that make another program of the same source.
var settings = sync.OnceValues(func() ([]byte, error) { return exec.Command("go", "env", "GOFLAGS", "GOOS", "GOARCH").Output() })
