package files

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// StatInput is what files.stat takes.
type StatInput struct {
	Root   string `json:"root,omitempty" doc:"The root; may be left out where the connection has one alone"`
	Path   string `json:"path,omitempty" doc:"The file or the folder, from the root; the root itself where it is not said"`
	Digest bool   `json:"digest" doc:"Whether the file is read for its sha256" default:"false"`
}

// StatOutput is what is known of a file or a folder.
type StatOutput struct {
	Found    bool       `json:"found" doc:"Whether it is there" default:"true"`
	Root     string     `json:"root" doc:"The root" default:""`
	Path     string     `json:"path" doc:"From the root" default:""`
	Kind     *string    `json:"kind" doc:"file, folder, link, other; null where nothing is there"`
	Size     *int64     `json:"size" doc:"Bytes; null of what is no file"`
	Modified *time.Time `json:"modified" doc:"When it was changed last; null where nothing is there"`
	SHA256   *string    `json:"sha256" doc:"Of its bytes, in hex; null unless it was asked for"`
}

func (p *plugin) stat(c *call, in StatInput) (StatOutput, error) {
	f, err := p.open(c, in.Root)
	if err != nil {
		return StatOutput{}, err
	}
	defer closed(f)
	name := clean(in.Path)
	output := StatOutput{Root: f.name, Path: name}
	info, err := f.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return output, nil
	}
	if err != nil {
		return output, f.fail("look at", name, err)
	}
	entry := entryOf(name, info)
	output.Found, output.Kind, output.Modified = true, &entry.Kind, &entry.Modified
	if info.Mode().IsRegular() {
		output.Size = &entry.Size
	}
	if in.Digest && info.Mode().IsRegular() {
		raw, _, err := f.readAll(name, c.Config.MaxBytes)
		if err != nil {
			return output, err
		}
		sum, size := digest(raw), int64(len(raw))
		output.SHA256, output.Size = &sum, &size
	}
	return output, nil
}

// checkConnection opens each root.
func (p *plugin) checkConnection(c *call) (string, error) {
	opened := 0
	for name := range c.Config.Roots {
		f, err := p.open(c, name)
		if err != nil {
			return "", err
		}
		_, err = f.entries(".")
		if err != nil {
			err = f.fail("list", ".", err)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		opened++
	}
	if opened == 0 {
		c.NotTried("it has no roots")
		return "", nil
	}
	return fmt.Sprintf("folders: %d", opened), nil
}
