package workspace

import (
	"errors"
	"path/filepath"

	"github.com/flowrun/flowrun/engine/check"
)

var _ check.FileCatalog = (*catalog)(nil)

// maxInputFile is how large a file may be that stands for an input, in bytes.
const maxInputFile = 1 << 20

// File reads a file that an input of the workflow at hand names. Nothing leads out of the
// project: no path and no link.
func (c *catalog) File(name string) ([]byte, error) {
	at := c.location
	if at.path == "" {
		return nil, errors.New("it is relative to a file that is not known here")
	}
	inside, err := filepath.Rel(c.project.config.Dir, filepath.Join(filepath.Dir(at.path), filepath.FromSlash(name)))
	if err != nil || !filepath.IsLocal(inside) {
		return nil, errors.New("it lies outside the project")
	}
	at.files[inside] = true
	return readToldFile(c.project.config.Dir, inside, maxInputFile)
}
