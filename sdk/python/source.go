// Package python holds the SDK for plugins in Python as what it is: the text of one file.
package python

import _ "embed"

// FileName is what the file must be called: plugins import it by that name.
const FileName = "flowrun.py"

//go:embed flowrun.py
var source string

// Source returns the text of the file.
func Source() string { return source }
