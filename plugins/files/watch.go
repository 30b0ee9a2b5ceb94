package files

import (
	"io/fs"
	"slices"
	"strings"
	"time"
)

// WatchInput is what files.watch takes.
type WatchInput struct {
	Root      string `json:"root,omitempty" doc:"The root; may be left out where the connection has one alone"`
	Path      string `json:"path,omitempty" doc:"The folder, from the root; the root itself where it is not said"`
	Recursive bool   `json:"recursive" doc:"What the folders in it hold too; links are not followed" default:"false"`
	Match     string `json:"match,omitempty" doc:"Pattern of names, such as *.csv"`
	SettledS  int    `json:"settled_s" doc:"For how many seconds a file has not been changed: one that is being written is left for the next poll" default:"2" min:"0" max:"86400"`
	Limit     int    `json:"limit" doc:"The most files that are given, the newest" default:"1000" min:"1" max:"10000"`
}

// WatchOutput is what a poll looks at.
type WatchOutput struct {
	Root  string    `json:"root" doc:"The root" default:""`
	Items []Watched `json:"items" doc:"The files that stand still, newest first"`
	More  bool      `json:"more" doc:"Whether there are more than were asked for"`
}

// Watched is a file. All of it is the same from poll to poll as long as the file is.
type Watched struct {
	Path     string    `json:"path" doc:"From the root: the key of the item"`
	Name     string    `json:"name" doc:"The last part of the path"`
	Size     int64     `json:"size" doc:"Bytes"`
	Modified time.Time `json:"modified" doc:"When it was changed last"`
}

func (p *plugin) watch(c *call, in WatchInput) (WatchOutput, error) {
	f, err := p.open(c, in.Root)
	if err != nil {
		return WatchOutput{}, err
	}
	defer closed(f)
	found, err := f.walk(c, walk{from: clean(in.Path), recursive: in.Recursive, wanted: func(_ string, entry fs.DirEntry) bool {
		return entry.Type().IsRegular() && matches(in.Match, entry.Name())
	}})
	if err != nil {
		return WatchOutput{}, err
	}
	now := p.options.Now()
	settled := now.Add(-time.Duration(in.SettledS) * time.Second)
	found = slices.DeleteFunc(found, func(e Entry) bool { return e.Modified.After(settled) && !e.Modified.After(now) }) // one from the future stands still
	slices.SortFunc(found, func(a, b Entry) int {
		if order := b.Modified.Compare(a.Modified); order != 0 {
			return order
		}
		return strings.Compare(a.Path, b.Path)
	})
	output := WatchOutput{Root: f.name, More: len(found) > in.Limit}
	for _, e := range found[:min(len(found), in.Limit)] {
		output.Items = append(output.Items, Watched{Path: e.Path, Name: e.Name, Size: e.Size, Modified: e.Modified})
	}
	return output, nil
}
