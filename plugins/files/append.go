package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/flowrun/flowrun/plugins/content"
	"github.com/flowrun/flowrun/sdk"
)

// AppendInput is what files.append takes.
type AppendInput struct {
	Root    string    `json:"root,omitempty" doc:"The root; may be left out where the connection has one alone"`
	Path    string    `json:"path" doc:"The file, from the root; it is made where it is not there" min:"1"`
	Content sdk.Value `json:"content" doc:"Text; with another format a list of texts, any JSON as one line, or base64"`
	Format  string    `json:"format" doc:"How the content is written" enum:"text,lines,json,bytes" default:"text"`
	Folders bool      `json:"folders" doc:"Whether folders of the path that are not there are made" default:"true"`
}

// Appended is what became of a file.
type Appended struct {
	Root   string `json:"root" doc:"The root" default:""`
	Path   string `json:"path" doc:"From the root" default:""`
	Offset int64  `json:"offset" doc:"Where in the file the content begins" default:"0"`
	Size   int64  `json:"size" doc:"Bytes of the file with it" default:"0"`
}

// checkAppend says why a content can't be written.
func checkAppend(in AppendInput, unknown []string) []sdk.Problem {
	if sdk.IsUnknown(unknown, "/format") || sdk.IsUnknown(unknown, "/content") {
		return nil
	}
	return contentProblems(in.Content, content.Options{Format: formatOf(in.Format)})
}

// appended is what an attempt leaves in the state of the run before it writes.
type appended struct {
	Device uint64 `json:"device"` // with Number: which file
	Number uint64 `json:"number"`
	Offset int64  `json:"offset"`
	SHA256 string `json:"sha256"` // of the content
}

func (p *plugin) appendTo(c *call, in AppendInput) (Appended, error) {
	raw, err := bytesOf(in.Content, content.Options{Format: formatOf(in.Format)}, c.Config.MaxBytes)
	if err != nil {
		return Appended{}, err
	}
	f, err := p.open(c, in.Root)
	if err != nil {
		return Appended{}, sdk.NotSent(err)
	}
	defer closed(f)
	name := clean(in.Path)
	parent, base, err := f.parent(name, in.Folders)
	if err != nil {
		return Appended{}, sdk.NotSent(err)
	}
	defer closed(parent)
	file, info, err := f.openToAppend(parent, name, base)
	if err != nil {
		return Appended{}, sdk.NotSent(err)
	}
	defer closed(file)
	output := Appended{Root: f.name, Path: name}
	err = p.appendOpen(c, f, parent, file, info, raw, &output)
	return output, err
}

// openToAppend opens a file, made where it is not there, and locks it against other
// appends of flowrun's.
func (f *folder) openToAppend(parent *os.Root, name, base string) (*os.File, fs.FileInfo, error) {
	file, err := parent.OpenFile(base, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0o644)
	if errors.Is(err, syscall.ELOOP) {
		return nil, nil, sdk.Forbidden("%s is a link", sdk.Shown(path.Join(f.name, name), 300)).WithReason("not_a_file").WithHint("name what it leads to")
	}
	if err != nil {
		return nil, nil, f.fail("open", name, err)
	}
	info, err := f.ordinary(file, name)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		return nil, nil, errors.Join(f.fail("lock", name, err), file.Close())
	}
	return file, info, nil
}

// appendOpen writes behind what a locked file holds, unless an attempt of the same call
// did.
func (p *plugin) appendOpen(c *call, f *folder, parent *os.Root, file *os.File, info fs.FileInfo, raw []byte, output *Appended) error {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return sdk.NotSent(f.fail("append to", output.Path, err))
	}
	mine := appended{Offset: end, SHA256: digest(raw)}
	mine.Device, mine.Number = identity(info)
	before, noted, err := recall[appended](c, "append")
	if err != nil {
		return sdk.NotSent(err)
	}
	written := int64(0) // of the content, by an attempt before
	if noted && before.Device == mine.Device && before.Number == mine.Number && before.SHA256 == mine.SHA256 {
		mine = before
		if written, err = f.writtenBefore(file, output.Path, before.Offset, end, raw); err != nil {
			return err
		}
	} else if err := note(c, "append", mine); err != nil {
		return sdk.NotSent(err)
	}
	output.Offset, output.Size = mine.Offset, mine.Offset+int64(len(raw)) // the same for each attempt
	if written == int64(len(raw)) {
		return nil
	}
	if err := p.step("append"); err != nil {
		return f.fail("append to", output.Path, err)
	}
	if _, err := file.WriteAt(raw[written:], mine.Offset+written); err != nil {
		return partly(f.fail("append to", output.Path, err))
	}
	err = file.Sync()
	if err == nil && end == 0 {
		err = syncFolder(parent) // it may be new
	}
	if err != nil {
		return partly(f.fail("append to", output.Path, err))
	}
	return nil
}

func partly(e *sdk.Error) *sdk.Error {
	e.Applied = sdk.AppliedUnknown
	return e
}

// writtenBefore is how much of the content an attempt before has written: none of it, a
// part where it was killed inside, or all. Where others wrote at that place it can't be
// told.
func (f *folder) writtenBefore(file *os.File, name string, offset, end int64, raw []byte) (int64, error) {
	there := min(max(end-offset, 0), int64(len(raw)))
	held := make([]byte, there)
	if _, err := file.ReadAt(held, offset); err != nil && !errors.Is(err, io.EOF) {
		return 0, f.fail("read", name, err)
	}
	if end < offset || !bytes.Equal(held, raw[:there]) {
		e := sdk.Errorf(sdk.CodeUnknownOutcome, "%s was changed by others since this call was interrupted: whether it was done can't be told", sdk.Shown(path.Join(f.name, name), 300))
		return 0, e.WithReason("others_wrote").WithHint("look at the file from byte %d, then resume the run or skip the step", offset)
	}
	return there, nil
}

// recall returns what an attempt of this call before has noted in the state of the run.
func recall[T any](c *call, what string) (noted T, found bool, err error) {
	if c.Run.RunID == "" || c.Run.IdempotencyKey == "" {
		return noted, false, nil // a call of no run is never repeated
	}
	entry, err := c.State().OfRun().Get(stateKey(c, what))
	if err != nil {
		return noted, false, fmt.Errorf("look for an attempt before: %w", err)
	}
	if entry.Version == 0 || json.Unmarshal(entry.Value, &noted) != nil {
		return noted, false, nil
	}
	return noted, true, nil
}

// note leaves something for the attempts of this call that may come.
func note(c *call, what string, noted any) error {
	if c.Run.RunID == "" || c.Run.IdempotencyKey == "" {
		return nil
	}
	state := c.State().OfRun()
	entry, err := state.Get(stateKey(c, what))
	if err == nil {
		_, err = state.Put(stateKey(c, what), sdk.JSON(noted), entry.Version, 0)
	}
	if err != nil {
		return fmt.Errorf("note what this call is about to do: %w", err)
	}
	return nil
}

func stateKey(c *call, what string) string { return what + "/" + c.Run.IdempotencyKey }
