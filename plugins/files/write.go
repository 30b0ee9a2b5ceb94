package files

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/plugins/content"
	"github.com/flowrun/flowrun/sdk"
)

// temporaryPrefix and temporarySuffix are of the names of files that are being written.
const (
	temporaryPrefix = ".flowrun-"
	temporarySuffix = ".tmp"
)

// isTemporary reports the name of a file that is being written, or was when its writer
// was killed.
func isTemporary(name string) bool {
	return strings.HasPrefix(name, temporaryPrefix) && strings.HasSuffix(name, temporarySuffix)
}

// WriteInput is what files.write takes.
type WriteInput struct {
	Root      string    `json:"root,omitempty" doc:"The root; may be left out where the connection has one alone"`
	Path      string    `json:"path" doc:"The file, from the root" min:"1"`
	Content   sdk.Value `json:"content,omitempty" doc:"Text; with another format a list of texts, any JSON, a list of objects, or base64. Either this or blob"`
	Blob      *sdk.Blob `json:"blob,omitempty" doc:"A large value that another step gave, in the place of content"`
	Format    string    `json:"format" doc:"How the content is written" enum:"text,lines,json,csv,bytes" default:"text"`
	Columns   []string  `json:"columns,omitempty" doc:"Columns of CSV; without them those of the objects, as they come: of an expression in alphabetical order" max:"1000"`
	Delimiter string    `json:"delimiter,omitempty" doc:"What stands between the cells of CSV; a comma where it is not said" min:"1" max:"1"`
	Exists    string    `json:"exists" doc:"What becomes of a file that is there with another content" enum:"replace,keep,fail" default:"replace"`
	IfSHA256  string    `json:"if_sha256,omitempty" doc:"Only where the file has this content now, or the new one already" pattern:"^[0-9a-f]{64}$"`
	Folders   bool      `json:"folders" doc:"Whether folders of the path that are not there are made" default:"true"`
	Mode      string    `json:"mode,omitempty" doc:"Rights of the file, such as 0644; those of the file before where it is not said" pattern:"^0[0-7]{3}$"`
}

// Written is what became of a file.
type Written struct {
	Root    string `json:"root" doc:"The root" default:""`
	Path    string `json:"path" doc:"From the root" default:""`
	Size    int64  `json:"size" doc:"Bytes of the file now" default:"0"`
	SHA256  string `json:"sha256" doc:"Of its bytes, in hex" default:""`
	Changed bool   `json:"changed" doc:"Whether this call wrote: false where the file had the content already, or was kept" default:"true"`
}

// checkWrite says what of an input does not go together.
func checkWrite(in WriteInput, unknown []string) []sdk.Problem {
	hasBlob := in.Blob != nil || sdk.IsUnknown(unknown, "/blob")
	switch hasContent := in.Content != nil || sdk.IsUnknown(unknown, "/content"); {
	case hasBlob && hasContent:
		return []sdk.Problem{sdk.Problemf("/blob", "can't stand beside content: a file has one of the two")}
	case !hasBlob && !hasContent:
		return []sdk.Problem{sdk.Problemf("", "`content` or `blob` is needed")}
	}
	if sdk.IsUnknown(unknown, "/format") {
		return nil
	}
	problems := csvProblems(in.Format, in.Columns, in.Delimiter)
	if hasBlob && formatOf(in.Format) != content.Text {
		problems = append(problems, sdk.Problemf("/format", "belongs to content: a large value is written as it is"))
	}
	if hasBlob || sdk.IsUnknown(unknown, "/content") {
		return problems
	}
	return append(problems, contentProblems(in.Content, in.options())...)
}

// contentProblems says why a content can't be written in its format.
func contentProblems(value sdk.Value, options content.Options) []sdk.Problem {
	_, err := content.Write(value, options)
	if problem := new(content.Problem); errors.As(err, &problem) {
		found := sdk.Problemf("/content"+problem.Pointer, "%s", problem.Message)
		found.Detail = problem.Hint
		return []sdk.Problem{found}
	}
	return nil
}

func (in WriteInput) options() content.Options {
	return content.Options{Format: formatOf(in.Format), Columns: in.Columns, Delimiter: delimiterOf(in.Delimiter)}
}

// bytesOf are the bytes of a content that was checked.
func bytesOf(value sdk.Value, options content.Options, most int64) ([]byte, error) {
	raw, err := content.Write(value, options)
	if err != nil {
		return nil, sdk.Invalid("/content", "%v", err)
	}
	if int64(len(raw)) > most {
		return nil, sdk.Invalid("/content", "has %d bytes, more than %d", len(raw), most).WithReason("too_large").
			WithHint("set `max_bytes` of the connection higher")
	}
	return raw, nil
}

func (p *plugin) write(c *call, in WriteInput) (Written, error) {
	held, err := in.body(c)
	if err != nil {
		return Written{}, err
	}
	f, err := p.open(c, in.Root)
	if err != nil {
		return Written{}, sdk.NotSent(err)
	}
	defer closed(f)
	name := clean(in.Path)
	output := Written{Root: f.name, Path: name, Size: held.size, SHA256: held.sha256}
	there, err := f.present(name)
	if err != nil {
		return output, sdk.NotSent(err)
	}
	decided, err := in.decide(f, there, &output)
	if err != nil || decided {
		return output, err
	}
	parent, base, err := f.parent(name, in.Folders)
	if err != nil {
		return output, sdk.NotSent(err)
	}
	defer closed(parent)
	if err := p.replace(f, parent, name, base, held, in.rights(there), in.Exists == "fail" && !there.found); err != nil {
		return output, err
	}
	output.Changed = true
	return output, nil
}

// present is what is at a path before a write.
type present struct {
	found  bool
	size   int64
	sha256 string // "" = it was not read: it has other names
	mode   fs.FileMode
}

// present looks at what a write would replace.
func (f *folder) present(name string) (present, error) {
	info, err := f.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return present{}, nil
	case err != nil:
		return present{}, f.fail("look at", name, err)
	case info.IsDir():
		return present{}, sdk.Refused(sdk.CodeConflict, "%s is a folder", sdk.Shown(path.Join(f.name, name), 300)).WithReason("folder")
	case !info.Mode().IsRegular():
		return present{}, sdk.Forbidden("%s is no file: it is %s", sdk.Shown(path.Join(f.name, name), 300), kindOf(info.Mode())).WithReason("not_a_file").
			WithHint("write to what the link leads to, or take it away first")
	}
	there := present{found: true, size: info.Size(), mode: info.Mode().Perm()}
	if linksOf(info) > 1 && !f.declared.HardLinks {
		return there, nil // what it holds may be another's: it is not read, and its name gets a file of its own
	}
	file, _, err := f.regular(name)
	if err != nil {
		return there, err
	}
	defer closed(file)
	if there.sha256, err = digestOf(file); err != nil {
		return there, f.fail("read", name, err)
	}
	return there, nil
}

// decide says whether nothing is to be done, or nothing may be.
func (in WriteInput) decide(f *folder, there present, output *Written) (done bool, err error) {
	shown := sdk.Shown(path.Join(f.name, output.Path), 300)
	if there.found && there.sha256 == output.SHA256 && (in.Mode == "" || in.rights(there) == there.mode) {
		return true, nil // a repeated call finds what it wrote
	}
	switch {
	case in.IfSHA256 != "" && there.sha256 != in.IfSHA256:
		return false, sdk.Refused(sdk.CodeConflict, "%s has another content than `if_sha256` names", shown).WithReason("changed").WithHint("read it again, and decide anew")
	case there.found && in.Exists == "keep":
		output.Size, output.SHA256 = there.size, there.sha256
		return true, nil
	case there.found && in.Exists == "fail":
		return false, sdk.Refused(sdk.CodeConflict, "%s is there already, with another content", shown).WithReason("exists")
	}
	return false, nil
}

// rights are those that the file gets.
func (in WriteInput) rights(there present) fs.FileMode {
	if mode, err := strconv.ParseUint(in.Mode, 8, 32); err == nil && in.Mode != "" {
		return fs.FileMode(mode)
	}
	if there.found {
		return there.mode
	}
	return 0o644
}

// replace puts a file with new content in the place of the one of that name, in one step:
// it is written beside it under another name, and is durable before it gets its name.
func (p *plugin) replace(f *folder, parent *os.Root, name, base string, held body, mode fs.FileMode, fresh bool) (failed error) {
	temporary, err := p.temporaryName()
	if err != nil {
		return sdk.Refused(sdk.CodeInternal, "%v", err)
	}
	file, err := parent.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return sdk.NotSent(f.fail("write", name, err))
	}
	defer func() {
		if failed != nil {
			_ = parent.Remove(temporary) // it is not there any more where it was renamed
		}
	}()
	if err := p.fill(file, held, mode); err != nil {
		if failure := new(sdk.Error); errors.As(err, &failure) {
			return sdk.NotSent(failure) // the host does not give the large value
		}
		return sdk.NotSent(f.fail("write", name, err)) // under its own name nothing has changed
	}
	if err := p.step("rename"); err != nil {
		return sdk.NotSent(f.fail("write", name, err))
	}
	if fresh {
		err = renameNew(parent, temporary, parent, base)
	} else {
		err = parent.Rename(temporary, base)
	}
	if errors.Is(err, fs.ErrExist) && fresh {
		return sdk.Refused(sdk.CodeConflict, "%s is there already: others wrote it just now", sdk.Shown(path.Join(f.name, name), 300)).WithReason("exists")
	}
	if err != nil {
		return sdk.NotSent(f.fail("write", name, err))
	}
	err = p.step("sync")
	if err == nil {
		err = syncFolder(parent)
	}
	if err != nil {
		e := f.fail("make last", name, err)
		e.Applied = sdk.AppliedUnknown
		return e
	}
	return nil
}

// fill writes the content and makes it durable.
func (p *plugin) fill(file *os.File, held body, mode fs.FileMode) error {
	err := p.step("write")
	if err == nil {
		err = held.write(file)
	}
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = p.step("flush")
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func (p *plugin) step(name string) error {
	if p.options.Step == nil {
		return nil
	}
	return p.options.Step(name)
}

// temporaryName is a name that nobody else has.
func (p *plugin) temporaryName() (string, error) {
	id := make([]byte, 12)
	if _, err := io.ReadFull(p.options.Random, id); err != nil {
		return "", fmt.Errorf("make the name of a temporary file: %w", err)
	}
	return temporaryPrefix + hex.EncodeToString(id) + temporarySuffix, nil
}
