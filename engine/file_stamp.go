package engine

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// stamp tells apart the states of a file without reading it. The zero value is
// that of a file that is not there.
type stamp struct {
	modified time.Time
	size     int64
	mode     fs.FileMode
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size(), info.Mode()}
}

func (s stamp) same(other stamp) bool {
	return s.modified.Equal(other.modified) && s.size == other.size && s.mode == other.mode
}

// stem is what a workflow is called whose file says no name.
func stem(file string) string {
	base := path.Base(filepath.ToSlash(file))
	return strings.TrimSuffix(base, path.Ext(base))
}
