package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/flowrun/flowrun/sdk"
)

// Bounds of what is copied into a simulated root.
const (
	maxCopied      = 5000
	maxCopiedBytes = 256 << 20
)

// samples are what a simulated root has that nobody declared: what the examples read.
func samples() map[string]string {
	return map[string]string{
		"notes.txt":  "first line\nsecond line\n",
		"prices.csv": "name,price\napple,1.20\npear,0.90\n",
		"hello.txt":  "hello\n",
	}
}

// simulate gives a root a throw-away folder of the sandbox: with a copy of what the
// declared folder has, as far as it may be opened, and with samples where none is
// declared. Nothing that is done there reaches the declared folder.
func (p *plugin) simulate(c *call, f *folder) error {
	p.simulating.Lock()
	defer p.simulating.Unlock()
	real := f.declared.Path
	all, sandbox := filepath.Join(p.options.Home, "simulated"), url.PathEscape(c.Config.Simulated)
	f.path = filepath.Join(all, sandbox, url.PathEscape(c.ConnectionName()), url.PathEscape(f.name))
	if _, err := os.Stat(f.path); err == nil {
		return nil
	}
	if others, err := os.ReadDir(all); err == nil { // of sandboxes before
		for _, other := range others {
			if other.Name() != sandbox {
				_ = os.RemoveAll(filepath.Join(all, other.Name())) // the next one tries again
			}
		}
	}
	fresh := f.path + ".new"
	err := errors.Join(os.RemoveAll(fresh), os.MkdirAll(fresh, 0o700))
	if err == nil {
		err = p.seed(real, fresh)
	}
	if err == nil {
		err = os.Rename(fresh, f.path)
	}
	if err != nil {
		return sdk.Refused(sdk.CodeUnavailable, "simulate the root `%s`: %v", f.name, err)
	}
	return nil
}

// seed fills a simulated root.
func (p *plugin) seed(real, into string) error {
	if real == "" {
		for name, text := range samples() {
			if err := os.WriteFile(filepath.Join(into, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
		return nil
	}
	if !filepath.IsAbs(real) {
		real = filepath.Join(p.options.Dir, filepath.FromSlash(real))
	}
	source, err := os.OpenRoot(real)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // a sandbox needs no grant: the root begins empty
	}
	if err != nil {
		return err
	}
	defer closed(source)
	return copyTree(source, into)
}

// copyTree copies ordinary files, within bounds.
func copyTree(source *os.Root, into string) error {
	files, left := 0, int64(maxCopiedBytes)
	return fs.WalkDir(source.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission):
			return nil
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(into, name), 0o700)
		case !entry.Type().IsRegular():
			return nil
		}
		if files++; files > maxCopied {
			return fmt.Errorf("it has more than %d files: name a smaller folder for the sandbox, or say --live", maxCopied)
		}
		size, err := copyFile(source, name, filepath.Join(into, name), left)
		left -= size
		return err
	})
}

func copyFile(source *os.Root, name, into string, left int64) (int64, error) {
	from, err := source.Open(name)
	if errors.Is(err, fs.ErrPermission) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer closed(from)
	to, err := os.OpenFile(into, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(to, io.LimitReader(from, left+1))
	if err == nil && size > left {
		err = fmt.Errorf("it has more than %d MiB: name a smaller folder for the sandbox, or say --live", maxCopiedBytes>>20)
	}
	if err == nil { // files.watch tells new files by their time
		if info, statErr := from.Stat(); statErr == nil {
			err = os.Chtimes(into, info.ModTime(), info.ModTime())
		}
	}
	return size, errors.Join(err, to.Close())
}
