package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/flowrun/flowrun/sdk"
)

// MoveInput is what files.move takes.
type MoveInput struct {
	Root    string `json:"root,omitempty" doc:"The root; may be left out where the connection has one alone"`
	Path    string `json:"path" doc:"The file or the folder, from the root" min:"1"`
	To      string `json:"to" doc:"Its new path" min:"1"`
	ToRoot  string `json:"to_root,omitempty" doc:"The root of the new path, where it is another one; on the same disk"`
	Exists  string `json:"exists" doc:"What becomes of a file at the new path" enum:"fail,replace" default:"fail"`
	Folders bool   `json:"folders" doc:"Whether folders of the new path that are not there are made" default:"true"`
}

// Moved is where something is now.
type Moved struct {
	Root string `json:"root" doc:"The root of the new path" default:""`
	Path string `json:"path" doc:"The new path, from its root" default:""`
}

// checkTarget holds the new root of a move against those of the connection.
func checkTarget(config Config, in MoveInput, unknown []string) []sdk.Problem {
	if in.ToRoot == "" || sdk.IsUnknown(unknown, "/to_root") {
		return nil
	}
	return config.rootProblems("/to_root", in.ToRoot, true)
}

// moved is what an attempt leaves in the state of the run: which file it is about to move.
type moved struct {
	Device uint64 `json:"device"`
	Number uint64 `json:"number"`
}

func (p *plugin) move(c *call, in MoveInput) (Moved, error) {
	from, err := p.open(c, in.Root)
	if err != nil {
		return Moved{}, sdk.NotSent(err)
	}
	defer closed(from)
	to := from
	if in.ToRoot != "" && in.ToRoot != from.name {
		if to, err = p.open(c, in.ToRoot); err != nil {
			return Moved{}, sdk.NotSent(err)
		}
		defer closed(to)
	}
	old, name := clean(in.Path), clean(in.To)
	output := Moved{Root: to.name, Path: name}
	noted, repeated, err := recall[moved](c, "move")
	if err != nil {
		return output, sdk.NotSent(err)
	}
	if repeated && noted.at(to, name) {
		return output, nil // an attempt before did it; what is at the old path now is another file
	}
	info, err := from.Lstat(old)
	if errors.Is(err, fs.ErrNotExist) {
		return output, missing(from, to, old, name, repeated)
	}
	if err != nil {
		return output, sdk.NotSent(from.fail("look at", old, err))
	}
	var mine moved
	mine.Device, mine.Number = identity(info)
	if err := note(c, "move", mine); err != nil {
		return output, sdk.NotSent(err)
	}
	return output, p.rename(from, to, old, name, in)
}

// at reports whether the very file that was noted is at a path.
func (m moved) at(to *folder, name string) bool {
	info, err := to.Lstat(name)
	if err != nil {
		return false
	}
	device, number := identity(info)
	return device == m.Device && number == m.Number
}

// missing makes the error of a path where nothing is. After an attempt before it may have
// been moved, and moved on by others.
func missing(from, to *folder, old, name string, repeated bool) *sdk.Error {
	shown := sdk.Shown(path.Join(from.name, old), 300)
	if !repeated {
		return sdk.NotFound("%s is not there", shown)
	}
	e := sdk.Errorf(sdk.CodeUnknownOutcome, "%s is gone, and is not what lies at %s: others moved it since this call was interrupted", shown,
		sdk.Shown(path.Join(to.name, name), 300))
	return e.WithReason("others_wrote")
}

// rename moves something by the folders that it lies in and goes to.
func (p *plugin) rename(from, to *folder, old, name string, in MoveInput) error {
	source, oldBase, err := from.parent(old, false)
	if err != nil {
		return sdk.NotSent(err)
	}
	defer closed(source)
	target, base, err := to.parent(name, in.Folders)
	if err != nil {
		return sdk.NotSent(err)
	}
	defer closed(target)
	if err := p.step("rename"); err != nil {
		return sdk.NotSent(from.fail("move", old, err))
	}
	if in.Exists == "replace" {
		err = renameOver(source, oldBase, target, base)
	} else {
		err = renameNew(source, oldBase, target, base)
	}
	switch {
	case errors.Is(err, fs.ErrExist) && in.Exists == "fail":
		return sdk.Refused(sdk.CodeConflict, "something is at %s already", sdk.Shown(path.Join(to.name, name), 300)).WithReason("exists").WithHint("say `exists: replace` to put the file in its place")
	case errors.Is(err, syscall.EXDEV):
		return sdk.Refused(sdk.CodeUnsupported, "%s and %s lie on different disks", from.name, to.name).WithReason("other_disk").WithHint("read the file and write it, then remove the old one")
	case errors.Is(err, syscall.EINVAL):
		return sdk.Refused(sdk.CodeConflict, "a folder can't be moved into itself")
	case err != nil:
		return sdk.NotSent(from.fail("move", old, err))
	}
	if err := errors.Join(syncFolder(target), syncFolder(source)); err != nil {
		e := from.fail("make last the move of", old, err)
		e.Applied = sdk.AppliedUnknown
		return e
	}
	return nil
}

// RemoveInput is what files.remove takes.
type RemoveInput struct {
	Root      string `json:"root,omitempty" doc:"The root; may be left out where the connection has one alone"`
	Path      string `json:"path" doc:"The file or the folder, from the root" min:"1"`
	Recursive bool   `json:"recursive" doc:"Whether a folder is taken away with all that it holds" default:"false"`
}

// Removed is what became of a path.
type Removed struct {
	Root    string `json:"root" doc:"The root" default:""`
	Path    string `json:"path" doc:"From the root" default:""`
	Changed bool   `json:"changed" doc:"Whether something was there" default:"true"`
}

func (p *plugin) remove(c *call, in RemoveInput) (Removed, error) {
	f, err := p.open(c, in.Root)
	if err != nil {
		return Removed{}, sdk.NotSent(err)
	}
	defer closed(f)
	name := clean(in.Path)
	output := Removed{Root: f.name, Path: name}
	parent, base, err := f.parent(name, false)
	if failure := new(sdk.Error); errors.As(err, &failure) && failure.Code == sdk.CodeNotFound {
		return output, nil
	}
	if err != nil {
		return output, sdk.NotSent(err)
	}
	defer closed(parent)
	if _, err := parent.Lstat(base); errors.Is(err, fs.ErrNotExist) {
		return output, nil
	}
	if in.Recursive {
		err = parent.RemoveAll(base)
	} else {
		err = parent.Remove(base)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return output, removal(f, name, err)
	}
	output.Changed = true
	if err := syncFolder(parent); err != nil {
		return output, partly(f.fail("make last the removal of", name, err))
	}
	return output, nil
}

// removal makes the error of something that could not be taken away, or not all of it.
func removal(f *folder, name string, err error) *sdk.Error {
	e := f.fail("remove", name, err)
	if e.Reason != "not_empty" {
		e.Applied = sdk.AppliedUnknown
	}
	return e
}
