package files

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// maxWalked bounds how many files and folders one call looks at.
const maxWalked = 200_000

// maxDepth bounds how deep folders are gone into.
const maxDepth = 100

// ListInput is what files.list takes.
type ListInput struct {
	Root      string `json:"root,omitempty" doc:"The root; may be left out where the connection has one alone"`
	Path      string `json:"path,omitempty" doc:"The folder, from the root; the root itself where it is not said"`
	Recursive bool   `json:"recursive" doc:"What the folders in it hold too; links are not followed" default:"false"`
	Match     string `json:"match,omitempty" doc:"Pattern of names, such as *.csv"`
	Kind      string `json:"kind" doc:"What is listed" enum:"file,folder,any" default:"file"`
	Hidden    bool   `json:"hidden" doc:"Names that begin with a dot too" default:"false"`
	Limit     int    `json:"limit" doc:"The most entries of a page" default:"1000" min:"1" max:"10000"`
	After     string `json:"after,omitempty" doc:"The path behind which the page begins: next of the page before"`
}

// ListOutput is a page of entries.
type ListOutput struct {
	Root    string  `json:"root" doc:"The root" default:""`
	Entries []Entry `json:"entries" doc:"In the order of their paths"`
	Next    string  `json:"next" doc:"Where the next page begins; empty on the last one"`
}

// Entry is a file or a folder.
type Entry struct {
	Path     string    `json:"path" doc:"From the root"`
	Name     string    `json:"name" doc:"The last part of the path"`
	Kind     string    `json:"kind" doc:"file, folder, link, other"`
	Size     int64     `json:"size" doc:"Bytes; of what is no file 0"`
	Modified time.Time `json:"modified" doc:"When it was changed last"`
}

func entryOf(name string, info fs.FileInfo) Entry {
	e := Entry{Path: name, Name: path.Base(name), Kind: kindOf(info.Mode()), Modified: info.ModTime().UTC()}
	if info.Mode().IsRegular() {
		e.Size = info.Size()
	}
	return e
}

func (p *plugin) list(c *call, in ListInput) (ListOutput, error) {
	f, err := p.open(c, in.Root)
	if err != nil {
		return ListOutput{}, err
	}
	defer closed(f)
	after := in.After
	if cursor := c.PageCursor(); cursor != "" {
		after = cursor
	}
	found, err := f.walk(c, walk{from: clean(in.Path), recursive: in.Recursive, hidden: in.Hidden, wanted: func(name string, entry fs.DirEntry) bool {
		return name > after && fits(in.Kind, entry) && matches(in.Match, entry.Name())
	}})
	if err != nil {
		return ListOutput{}, err
	}
	slices.SortFunc(found, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	output := ListOutput{Root: f.name, Entries: found}
	if len(found) > in.Limit {
		output.Entries = found[:in.Limit]
		output.Next = output.Entries[in.Limit-1].Path
		c.Next(output.Next)
	}
	return output, nil
}

// fits reports whether something is of the kind that is listed. A link is neither.
func fits(kind string, entry fs.DirEntry) bool {
	switch kind {
	case "any":
		return true
	case "folder":
		return entry.IsDir()
	}
	return entry.Type().IsRegular()
}

// walk says what of a tree is looked at.
type walk struct {
	from      string
	recursive bool
	hidden    bool
	wanted    func(name string, entry fs.DirEntry) bool
}

// walk returns what is wanted of a folder. What disappears meanwhile is not there. Links
// are shown and not followed.
func (f *folder) walk(c *call, w walk) ([]Entry, error) {
	var found []Entry
	looked := 0
	var into func(dir string, depth int) error
	into = func(dir string, depth int) error {
		entries, err := f.entries(dir)
		if err != nil {
			if depth > 0 && errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return f.fail("list", dir, err)
		}
		for _, entry := range entries {
			if c.Err() != nil {
				return c.Err()
			}
			if looked++; looked > maxWalked {
				return sdk.Refused(sdk.CodeUnsupported, "%s holds more than %d files and folders", path.Join(f.name, w.from), maxWalked).WithHint("name a smaller folder with `path`")
			}
			if strings.HasPrefix(entry.Name(), ".") && !w.hidden || isTemporary(entry.Name()) {
				continue
			}
			name := path.Join(dir, entry.Name())
			if w.wanted(name, entry) {
				if info, err := entry.Info(); err == nil {
					found = append(found, entryOf(name, info))
				}
			}
			if entry.IsDir() && w.recursive && depth < maxDepth {
				if err := into(name, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return found, into(w.from, 0)
}

// entries lists one folder.
func (f *folder) entries(dir string) ([]fs.DirEntry, error) {
	opened, err := f.Open(dir)
	if err != nil {
		return nil, err
	}
	defer closed(opened)
	return opened.ReadDir(-1)
}
