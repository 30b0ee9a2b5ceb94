// Package check decides whether a workflow may run. It reads the authored tree,
// asks a catalog for the actions that it uses, reports every problem in one
// pass with its place, and makes the plan that the interpreter runs. One rule
// stands in one file.
package check
