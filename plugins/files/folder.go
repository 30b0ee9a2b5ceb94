package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/flowrun/flowrun/sdk"
)

// folder is an open root, with what messages need of it.
type folder struct {
	*os.Root
	name     string // of the root in the connection
	declared Root
	path     string // where it lies
}

// call is one call of any action.
type call = sdk.Call[Config]

// open opens the root that an input names; "" is the only one.
func (p *plugin) open(c *call, name string) (*folder, error) {
	name, declared := c.Config.root(name)
	f := &folder{name: name, declared: declared, path: declared.Path}
	if c.Config.Simulated != "" {
		if err := p.simulate(c, f); err != nil {
			return nil, err
		}
	} else if !filepath.IsAbs(f.path) {
		f.path = filepath.Join(p.options.Dir, filepath.FromSlash(f.path))
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, f.unopened(err)
	}
	f.Root = root
	return f, nil
}

// unopened says why a root can't be opened.
func (f *folder) unopened(err error) *sdk.Error {
	shown := sdk.Shown(f.declared.Path, 200)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sdk.NotFound("the folder %s of the root `%s` is not there", shown, f.name).
			WithHint("make it (mkdir -p %s) before flowrun starts: only what is there can be granted to the plugin", shown)
	case errors.Is(err, fs.ErrPermission):
		return f.refused("open "+shown, f.path)
	case errors.Is(err, syscall.ENOTDIR):
		return sdk.Refused(sdk.CodeConflict, "%s of the root `%s` is no folder", shown, f.name).WithHint("name the folder that the file lies in")
	}
	return failure("open "+shown, err)
}

// refused tells a folder that was not granted from one that its owner keeps closed: the
// sandbox of plugins refuses to open what the modes of the files allow.
func (f *folder) refused(doing, at string) *sdk.Error {
	mode := uint32(accessRead)
	suffix := ":ro"
	if f.declared.Write {
		mode, suffix = accessRead|accessWrite, ""
	}
	if accessible(at, mode) {
		return sdk.Forbidden("%s: the folder of the root `%s` is not granted to the plugin", doing, f.name).WithReason("not_granted").
			WithHint("write in flowrun.yaml: `plugins: {files: {grants: {paths: [\"%s%s\"]}}}`", f.declared.Path, suffix)
	}
	return sdk.Forbidden("%s: permission denied", doing).WithHint("the user that runs flowrun may not; look at the owner and the mode of %s", f.declared.Path)
}

// nearest is what is there of a path: itself, or its folder.
func (f *folder) nearest(name string) string {
	at := filepath.Join(f.path, filepath.FromSlash(name))
	if _, err := os.Lstat(at); err != nil {
		return filepath.Dir(at)
	}
	return at
}

// fail makes the error of something that was done to a path of the root.
func (f *folder) fail(doing, name string, err error) *sdk.Error {
	what := doing + " " + sdk.Shown(path.Join(f.name, name), 300)
	switch {
	case escapes(err):
		return sdk.Forbidden("%s: a link leads out of the root", what).WithReason("outside").
			WithHint("links are followed inside of the root `%s` alone; declare another root for the other folder", f.name)
	case errors.Is(err, fs.ErrPermission):
		return f.refused(what, f.nearest(name))
	case errors.Is(err, fs.ErrNotExist):
		return sdk.NotFound("%s: it is not there", what)
	}
	return failure(what, err)
}

// escapes reports that os.Root did not follow a path out of itself. Its error has no name.
func escapes(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at) && at.Err != nil && strings.Contains(at.Err.Error(), "escapes from parent")
}

// failure makes an error of what the system said. Nothing is known of the effect.
func failure(doing string, err error) *sdk.Error {
	var at *fs.PathError
	cause := err
	if errors.As(err, &at) {
		cause = at.Err // the path is in doing already
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		cause = link.Err
	}
	code, hint := sdk.CodeUnavailable, ""
	switch {
	case errors.Is(err, syscall.ENOTEMPTY):
		return sdk.Refused(sdk.CodeConflict, "%s: the folder is not empty", doing).WithReason("not_empty").WithHint("say `recursive: true` to take away all that it holds")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		code, hint = sdk.CodeQuotaExhausted, "make room on the disk"
	case errors.Is(err, syscall.EROFS):
		code, hint = sdk.CodeForbidden, "the file system can't be written to"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, fs.ErrExist):
		code = sdk.CodeConflict
	case errors.Is(err, syscall.ELOOP):
		return sdk.Refused(sdk.CodeConflict, "%s: links lead in a circle", doing)
	case errors.Is(err, syscall.EFBIG):
		code, hint = sdk.CodeQuotaExhausted, "a plugin writes files of at most 1 GiB"
	}
	e := sdk.Errorf(code, "%s: %v", doing, cause)
	e.Hint = hint
	return e
}

// regular opens a file for reading, where it is an ordinary one: a pipe would keep the
// call waiting, and a device is no file.
func (f *folder) regular(name string) (*os.File, fs.FileInfo, error) {
	file, err := f.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, f.fail("open", name, err)
	}
	info, err := f.ordinary(file, name)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// ordinary looks at an open file: it is one of bytes, and has no other name unless the
// root allows it.
func (f *folder) ordinary(file *os.File, name string) (fs.FileInfo, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, f.fail("look at", name, err)
	}
	shown := sdk.Shown(path.Join(f.name, name), 300)
	switch {
	case info.IsDir():
		return nil, sdk.Refused(sdk.CodeConflict, "%s is a folder", shown).WithReason("folder").WithHint("`files.list` shows what it holds")
	case !info.Mode().IsRegular():
		return nil, sdk.Forbidden("%s is no file: it is %s", shown, kindOf(info.Mode())).WithReason("not_a_file")
	case linksOf(info) > 1 && !f.declared.HardLinks:
		return nil, sdk.Forbidden("%s has %d names, and the others may lie outside of the root", shown, linksOf(info)).WithReason("hard_link").
			WithHint("say `hard_links: true` of the root `%s` where that is meant", f.name)
	}
	return info, nil
}

// kindOf names what something is: file, folder, link, other.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeSymlink != 0:
		return "link"
	}
	return "other"
}

// parent opens the folder of a path, by which alone it is changed: whatever becomes of
// the folders above meanwhile, what is done is done there.
func (f *folder) parent(name string, makeFolders bool) (*os.Root, string, error) {
	dir, base := path.Split(name)
	dir = path.Clean("./" + dir)
	if makeFolders && dir != "." {
		if err := f.MkdirAll(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, "", f.fail("make the folder", dir, err)
		}
	}
	opened, err := f.OpenRoot(dir)
	if err != nil {
		return nil, "", f.fail("open the folder", dir, err)
	}
	return opened, base, nil
}

// syncFolder makes what was done in a folder last.
func syncFolder(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) { // a file system that knows no such thing
		err = nil
	}
	return errors.Join(err, dir.Close())
}

// closed closes what was only looked at, or whose changes are durable already.
func closed(c io.Closer) { _ = c.Close() }
