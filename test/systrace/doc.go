// Package systrace runs a child process under ptrace and reports its calls of
// the file system in the order in which they happen, with the bytes that were
// written. A handler may let a call fail without it being done. Fault suites use
// it (docs/reliability.md P1, P13). It works on Linux, on amd64 and arm64, with a
// kernel of 5.3 or newer.
package systrace
