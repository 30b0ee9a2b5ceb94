package workspace

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/format"
)

// Format returns the one form of a YAML file: what it says, its comments and its
// order stay. A file that is not YAML gives its problems; one that is written in
// a way that the formatter leaves alone gives an error.
func Format(file string, src []byte) ([]byte, diag.List, error) {
	return format.Source(file, src)
}
