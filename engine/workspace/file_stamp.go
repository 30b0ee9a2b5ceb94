package workspace

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Stamp tells apart the states of a file without reading it. The zero value is
// that of a file that is not there.
type Stamp struct {
	modified time.Time
	size     int64
	mode     fs.FileMode
}

// StampOf looks at a file; the zero value when it can not be seen.
func StampOf(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}
	}
	return Stamp{info.ModTime(), info.Size(), info.Mode()}
}

// Same reports whether the file is as it was, as far as its stamp tells.
func (s Stamp) Same(other Stamp) bool {
	return s.modified.Equal(other.modified) && s.size == other.size && s.mode == other.mode
}

// NameOfFile is what a workflow is called whose file says no name.
func NameOfFile(file string) string {
	base := path.Base(filepath.ToSlash(file))
	return strings.TrimSuffix(base, path.Ext(base))
}
