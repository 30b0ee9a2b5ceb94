// Package mend says how the problems of a workflow's file are put right: as edits of the
// file that leave all else as it is, and whether they are certain (ADR 89). It looks at
// the problems that were found, so that a file without any costs nothing.
package mend
