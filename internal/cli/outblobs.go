package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/flowrun/flowrun/engine/content"
	"github.com/flowrun/flowrun/internal/web"
)

// copyPart is how much of a large value is copied at a time, in bytes.
const copyPart = 256 << 10

// printBlob writes a large value that is an output of a run into a file, or to stdout.
func (a *app) printBlob(ctx context.Context, run *runRef, name, file string, ref content.Reference) error {
	err := a.visitRun(ctx, run, func(c *web.Client) error {
		if file == "" {
			return a.copyBlob(ctx, c, run.id, ref, a.sys.Stdout)
		}
		return a.writeBlob(ctx, c, run.id, ref, realPath(a.abs(file)))
	})
	if err != nil {
		return fmt.Errorf("output %s of run %s: %w", name, run.id, err)
	}
	if file != "" {
		a.note("wrote output %s to %s", name, safePath(file))
	}
	return nil
}

// writeBlob replaces a file by a large value, in one step: what is not whole never stands
// there.
func (a *app) writeBlob(ctx context.Context, c *web.Client, id string, ref content.Reference, path string) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			device, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return withoutPath(err)
			}
			return errors.Join(a.copyBlob(ctx, c, id, ref, device), device.Close())
		}
		mode = info.Mode().Perm()
	}
	temp, err := os.CreateTemp(filepath.Dir(path), tempPattern)
	if err != nil {
		return withoutPath(err)
	}
	err = a.copyBlob(ctx, c, id, ref, temp)
	if err == nil {
		err = errors.Join(temp.Chmod(mode), temp.Sync())
	}
	return replaceBy(temp, path, err)
}

// copyBlob copies a large value, and holds what came against its size and digest.
func (a *app) copyBlob(ctx context.Context, c *web.Client, id string, ref content.Reference, into io.Writer) error {
	body, err := c.Blob(ctx, id, ref.Digest)
	if err != nil {
		return err
	}
	defer body.Close()
	if ref.Size >= longCopy {
		debug.FreeOSMemory() // what the run has left is not held besides
	}
	sum, shown := sha256.New(), a.copyProgress(ref.Size)
	// Not io.Copy: a file that is written to must not ask a socket for more than this.
	n, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(into, sum, shown)}, struct{ io.Reader }{body}, make([]byte, copyPart))
	shown.end()
	switch digest := "sha256:" + hex.EncodeToString(sum.Sum(nil)); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(*os.PathError)): // of the file that is written
		return withoutPath(err)
	case n != ref.Size || err != nil:
		return &codedError{code: exitStoreIO, err: fmt.Errorf("the large value is cut short after %d of %d bytes", n, ref.Size), hint: "`flowrun db check` says whether the store is damaged, and where"}
	case digest != ref.Digest:
		return &codedError{code: exitStoreCorrupt, err: fmt.Errorf("the large value is not what the run made: its digest is %s, and was %s", digest, ref.Digest), hint: "`flowrun db check` says where the store is damaged"}
	}
	return nil
}

// copyProgress shows on a terminal how far a long copy is.
type copyProgress struct {
	app        *app
	size       int64
	done, told int64
	shown      bool
}

// longCopy is from which size a copy shows how far it is, in bytes.
const longCopy = 64 << 20

func (a *app) copyProgress(size int64) *copyProgress { return &copyProgress{app: a, size: size} }

// Write counts.
func (p *copyProgress) Write(part []byte) (int, error) {
	p.done += int64(len(part))
	if p.size >= longCopy && p.done-p.told >= p.size/100 && p.app.hasLiveErr() {
		p.told, p.shown = p.done, true
		fmt.Fprintf(p.app.sys.Stderr, "\r%3d%% of %d MiB", p.done*100/max(p.size, 1), p.size>>20)
	}
	return len(part), nil
}

func (p *copyProgress) end() {
	if p.shown {
		fmt.Fprint(p.app.sys.Stderr, "\r\x1b[K")
	}
}
