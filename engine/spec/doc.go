// Package spec reads the YAML bytes of workflows and project files into nodes
// that know their place in the file, and a workflow's nodes into the authored
// tree: which keys it has and whether they stand where they may. It is the only
// package that knows the YAML libraries. It holds the table of the language (V1),
// of which the checker, the schema for editors, the page and `flowrun explain KEY`
// are made.
package spec
