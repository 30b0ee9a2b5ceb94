package cli

import "github.com/flowrun/flowrun/engine/diag"

// explainCode returns what a code of validate means, and whether there is such a
// code.
func explainCode(code string) (text string, ok bool) { return diag.Explain(code) }
